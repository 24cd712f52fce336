#include "control/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace splitnic::control {
namespace {

constexpr int kBacklog = 16;

base::Status make_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return {};
  const std::string folder = path.substr(0, slash);
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return base::Error::from_errno("making the folder " + folder + " for the control socket",
                                   errno);
  }
  return {};
}

// OK if `path` is free now: nothing was there, or a socket that nobody answers on and that is
// removed.
base::Status clear_stale(const std::string& path, const sockaddr_un& address) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return {};
    return base::Error::from_errno("looking at " + path, errno);
  }
  if (!S_ISSOCK(found.st_mode)) {
    return base::Error(path + " exists and is not a socket: choose another --control");
  }
  const base::UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return base::Error::from_errno("making a socket", errno);
  const auto* to = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(probe.get(), to, sizeof(address)) == 0 || errno == EAGAIN) {
    return base::Error("another program answers on " + path +
                       ": stop it, or choose another --name or --control");
  }
  if (errno != ECONNREFUSED && errno != ENOENT) {
    return base::Error::from_errno("asking who owns " + path, errno);
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return base::Error::from_errno("removing the stale control socket " + path, errno);
  }
  return {};
}

}  // namespace

base::Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return base::Error("the control socket's path must have 1 to " +
                       std::to_string(sizeof(address.sun_path) - 1) + " characters: " + path);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

base::Result<SocketFile> SocketFile::listen(const std::string& path) {
  const auto address = unix_address(path);
  if (!address) return address.error();
  if (auto made = make_folder_of(path); !made) return made.error();
  if (auto cleared = clear_stale(path, *address); !cleared) return cleared.error();

  SocketFile file;
  file.path_ = path;
  file.fd_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!file.fd_.valid()) return base::Error::from_errno("making the control socket", errno);
  // Linux gives the file the mode that the socket has at bind (and the umask takes from it).
  if (::fchmod(file.fd_.get(), 0600) != 0) {
    return base::Error::from_errno("setting the mode of the control socket", errno);
  }
  if (::bind(file.fd_.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0) {
    return base::Error::from_errno("making the control socket " + path, errno);
  }
  struct stat made {};
  if (::lstat(path.c_str(), &made) != 0 || ::listen(file.fd_.get(), kBacklog) != 0) {
    const int why = errno;
    ::unlink(path.c_str());
    return base::Error::from_errno("listening on the control socket " + path, why);
  }
  file.device_ = made.st_dev;
  file.inode_ = made.st_ino;
  return file;
}

void SocketFile::remove() {
  struct stat now {};
  const std::string path = std::exchange(path_, {});
  if (path.empty() || ::lstat(path.c_str(), &now) != 0) return;
  if (now.st_dev == device_ && now.st_ino == inode_) ::unlink(path.c_str());
}

}  // namespace splitnic::control
