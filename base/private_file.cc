#include "base/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/own_user.h"

namespace splitnic::base {

Result<UniqueFd> create_private_file(const std::string& path) {
  constexpr mode_t kOwnerOnly = 0600;
  UniqueFd fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, kOwnerOnly));
  if (!fd.valid() && errno == ELOOP) {
    return Error(path + " is a symbolic link: give the path of the file itself", ELOOP);
  }
  if (!fd.valid()) return Error::from_errno(path, errno);
  struct stat found {};
  if (::fstat(fd.get(), &found) != 0) return Error::from_errno(path, errno);
  if (!S_ISREG(found.st_mode)) return fd;
  if (found.st_uid != own_user()) {
    return Error(path + " belongs to another user: remove it, or give another path", EPERM);
  }
  if (::fchmod(fd.get(), kOwnerOnly) != 0 || ::ftruncate(fd.get(), 0) != 0) {
    return Error::from_errno(path, errno);
  }
  return fd;
}

bool is_trusted_owner(std::uint32_t user) { return user == 0 || user == own_user(); }

}  // namespace splitnic::base
