#include "control/random_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/endian.h"
#include "base/own_user.h"

namespace splitnic::control {
namespace {

// The file appears with its content. That another process made it first is no error.
base::Status make_file(int folder, const std::string& name, base::Random& random) {
  const base::UniqueFd fd(::openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.valid()) return base::Error::from_errno("making " + name, errno);
  RandomBytes bytes{};
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

base::Result<RandomBytes> read_file(int fd, const std::string& name) {
  struct stat found {};
  RandomBytes bytes{};
  if (::fstat(fd, &found) != 0) return base::Error::from_errno("looking at " + name, errno);
  const bool is_ours = S_ISREG(found.st_mode) && found.st_uid == base::own_user() &&
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

}  // namespace

base::Result<base::UniqueFd> open_folder(const std::string& folder) {
  base::UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return base::Error::from_errno("opening " + folder, errno);
  return fd;
}

base::Result<RandomBytes> random_file(int folder, const std::string& path, base::Random& random) {
  const std::string name = std::filesystem::path(path).filename();
  base::UniqueFd file = open_file(folder, name);
  if (!file.valid() && errno == ENOENT) {
    if (auto made = make_file(folder, name, random); !made) return made.error().within(path);
    file = open_file(folder, name);
  }
  if (!file.valid()) return base::Error::from_errno("opening " + path, errno);
  return read_file(file.get(), path);
}

}  // namespace splitnic::control
