#include "control/daemon/machine_key.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/endian.h"
#include "base/unique_fd.h"

namespace splitnic::control {
namespace {

using KeyBytes = std::array<std::byte, 16>;

std::string file_name() { return "splitnic_key." + std::to_string(::geteuid()); }

base::Result<base::UniqueFd> open_folder(const std::string& folder) {
  base::UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return base::Error::from_errno("opening " + folder, errno);
  struct statfs found {};
  if (::fstatfs(fd.get(), &found) != 0)
    return base::Error::from_errno("looking at " + folder, errno);
  if (found.f_type != TMPFS_MAGIC) return base::Error(folder + " is not a tmpfs: mount one there");
  return fd;
}

// The file appears with its content. That another process made it first is no error.
base::Status make_file(int folder, const std::string& name, base::Random& random) {
  const base::UniqueFd fd(::openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.valid()) return base::Error::from_errno("making " + name, errno);
  KeyBytes bytes{};
  base::store_be(bytes.data(), random.next());
  base::store_be(bytes.data() + 8, random.next());
  if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    return base::Error::from_errno("writing " + name, errno);
  }
  const std::string made = "/proc/self/fd/" + std::to_string(fd.get());
  if (::linkat(AT_FDCWD, made.c_str(), folder, name.c_str(), AT_SYMLINK_FOLLOW) != 0 &&
      errno != EEXIST) {
    return base::Error::from_errno("making " + name, errno);
  }
  return {};
}

base::UniqueFd open_file(int folder, const std::string& name) {
  // A FIFO in its place must not block.
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  return base::UniqueFd(::openat(folder, name.c_str(), kFlags));
}

base::Result<KeyBytes> read_file(int fd, const std::string& name) {
  struct stat found {};
  KeyBytes bytes{};
  if (::fstat(fd, &found) != 0) return base::Error::from_errno("looking at " + name, errno);
  const bool is_ours = S_ISREG(found.st_mode) && found.st_uid == ::geteuid() &&
                       (found.st_mode & (S_IRWXG | S_IRWXO)) == 0 &&
                       found.st_size == static_cast<off_t>(bytes.size());
  if (!is_ours) {
    return base::Error(name + " is not a file of " + std::to_string(bytes.size()) +
                       " bytes that this user alone can read: remove it");
  }
  if (::read(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    return base::Error::from_errno("reading " + name, errno);
  }
  return bytes;
}

fabric::SipKey bound_to(const KeyBytes& bytes, const std::string& boot_id) {
  const fabric::SipKey key{base::load_be<std::uint64_t>(bytes.data()),
                           base::load_be<std::uint64_t>(bytes.data() + 8)};
  std::vector<std::byte> text(boot_id.size() + 1);
  std::memcpy(text.data() + 1, boot_id.data(), boot_id.size());
  const std::uint64_t k0 = fabric::siphash(key, text);
  text[0] = std::byte{1};
  return {k0, fabric::siphash(key, text)};
}

}  // namespace

base::Result<fabric::SipKey> machine_key(const std::string& folder, const std::string& boot_id,
                                         base::Random& random) {
  if (boot_id.empty()) return base::Error("this kernel reports no boot identifier: mount /proc");
  const auto at = open_folder(folder);
  if (!at) return at.error();
  const std::string name = file_name();
  base::UniqueFd file = open_file(at->get(), name);
  if (!file.valid() && errno == ENOENT) {
    if (auto made = make_file(at->get(), name, random); !made) return made.error().within(folder);
    file = open_file(at->get(), name);
  }
  if (!file.valid()) return base::Error::from_errno("opening " + folder + "/" + name, errno);
  const auto bytes = read_file(file.get(), folder + "/" + name);
  if (!bytes) return bytes.error();
  return bound_to(*bytes, boot_id);
}

std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

}  // namespace splitnic::control
