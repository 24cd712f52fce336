#include "control/config/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/private_file.h"
#include "base/unique_fd.h"

namespace splitnic::control {
namespace {

std::string why_untrusted(const struct stat& status) {
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return "others than its owner may write to it: chmod go-w";
  }
  if (!base::is_trusted_owner(status.st_uid)) {
    return "it belongs to another user: chown it to root or the user of this program";
  }
  return "";
}

}  // namespace

base::Result<TextFile> read_text_file(const std::string& path, std::size_t bytes_max) {
  const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return base::Error::from_errno("opening it", errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return base::Error::from_errno("reading it", errno);
  if (!S_ISREG(status.st_mode)) return base::Error("not a regular file");
  std::string text(bytes_max + 1, '\0');
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + bytes, text.size() - bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::Error::from_errno("reading it", errno);
    if (got == 0) break;
    bytes += static_cast<std::size_t>(got);
  }
  text.resize(bytes);
  return TextFile{std::move(text), why_untrusted(status)};
}

base::Error too_long(std::size_t bytes_max) {
  return base::Error("longer than " + std::to_string(bytes_max >> 20) + " MiB");
}

}  // namespace splitnic::control
