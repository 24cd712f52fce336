#include "control/daemon/key_log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

#include "base/log.h"
#include "base/private_file.h"
#include "control/config/text_file.h"
#include "fabric_emul/session/secret.h"

namespace splitnic::control {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{16} << 20;  // 150,000 keys
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

// Without O_NONBLOCK a FIFO would stop the program.
base::Result<base::UniqueFd> open_private(const std::string& path, int flags) {
  base::UniqueFd fd(
      ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, S_IRUSR | S_IWUSR));
  if (!fd.valid()) {
    if (errno == ELOOP) {
      return base::Error("key log " + path + " is a symbolic link: name the file itself");
    }
    return base::Error::from_errno("opening key log " + path, errno);
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) {
    return base::Error::from_errno("opening key log " + path, errno);
  }
  if (!S_ISREG(status.st_mode)) return base::Error("key log " + path + " is not a regular file");
  if ((status.st_mode & kOthers) != 0) {
    return base::Error("key log " + path + " is open to group or others: chmod 600 it");
  }
  if (!base::is_trusted_owner(status.st_uid)) {
    return base::Error("key log " + path +
                       " belongs to another user: chown it to the user of this program");
  }
  return fd;
}

}  // namespace

base::Result<KeyLogFile> KeyLogFile::open(const std::string& path) {
  auto fd = open_private(path, O_RDWR | O_CREAT | O_APPEND);
  if (!fd) return fd.error();
  return KeyLogFile(path, *std::move(fd));
}

// Of this queue, of another one or of an earlier program. An empty file has no last byte.
bool KeyLogFile::ends_in_a_cut_line() const {
  char last = '\n';
  return ::lseek(fd_.get(), -1, SEEK_END) >= 0 && ::read(fd_.get(), &last, 1) == 1 && last != '\n';
}

void KeyLogFile::add(const fabric::session::KeyLogEntry& entry) {
  std::string line = fabric::session::text_of(entry);
  const bool may_add = !ends_in_a_cut_line() || ::write(fd_.get(), "\n", 1) == 1;
  const ssize_t written = may_add ? ::write(fd_.get(), line.data(), line.size()) : -1;
  const int error = errno;
  fabric::session::cleanse(std::as_writable_bytes(std::span(line)));
  if (written == static_cast<ssize_t>(line.size()) || has_lost_) return;
  has_lost_ = true;
  base::log_warn("the key log " + path_ +
                 " misses keys: " + (written < 0 ? std::strerror(error) : "no space is left"));
}

base::Result<std::vector<fabric::session::KeyLogEntry>> read_key_log(const std::string& path) {
  if (const auto fd = open_private(path, O_RDONLY); !fd) return fd.error();
  const auto file = read_text_file(path, kFileBytesMax);
  if (!file) return file.error().within("key log " + path);
  if (file->bytes.size() > kFileBytesMax) {
    return too_long(kFileBytesMax).within("key log " + path);
  }
  std::vector<fabric::session::KeyLogEntry> entries;
  std::string_view rest = file->bytes;
  for (std::size_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view text = rest.substr(0, end);
    auto entry = fabric::session::parse_key_log_line(text);
    if (!entry && !fabric::session::is_cut_key_log_line(text)) {
      return base::Error("key log " + path + ", line " + std::to_string(line) +
                         ", is none that --key-log writes");
    }
    if (entry) entries.push_back(*std::move(entry));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return entries;
}

}  // namespace splitnic::control
