#include "control/socket/unix_socket.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/error.hpp>
#include <cerrno>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/unique_fd.h"

namespace splitnic::control {
namespace {

namespace asio = boost::asio;
using Stream = asio::local::stream_protocol;
using ErrorCode = boost::system::error_code;

constexpr std::size_t kPathBytesMax = sizeof(sockaddr_un::sun_path) - 1;
constexpr int kBacklog = 16;

// `others` as of SocketFile.
base::Status make_folder_of(const std::string& path, const std::string& others) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return {};
  const std::string folder = path.substr(0, slash);
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    const int error = errno;
    return base::Error(
        base::Error::from_errno("making the folder of the socket " + path, error).text() +
            ": make it before, or choose another " + others,
        error);
  }
  return {};
}

// OK if `path` is free now: nothing was there, or a socket without a listener, which is removed.
base::Status clear_stale(const std::string& path, const Stream::endpoint& endpoint,
                         const std::string& others) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return {};
    return base::Error::from_errno("looking at " + path, errno);
  }
  if (!S_ISSOCK(found.st_mode)) {
    return base::Error(path + " exists and is not a socket: choose another " + others);
  }
  asio::io_context io(1);
  Stream::socket probe(io);
  const ErrorCode error = connect_to_listener(probe, endpoint);
  if (!error || error == asio::error::try_again) {
    return base::Error("another program listens on " + path + ": stop it, or choose another " +
                       others);
  }
  if (error != asio::error::connection_refused && error.value() != ENOENT) {
    return base::Error::from_errno("asking who owns " + path, error.value());
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return base::Error::from_errno("removing the stale socket " + path, errno);
  }
  return {};
}

// Without the group, or if this user may not give the file to it, the file stays private.
void admit_group(const std::string& path) {
  const group* const admitted = ::getgrnam(kControlGroup);
  if (admitted == nullptr) return;
  const base::UniqueFd file(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  const std::string at = "/proc/self/fd/" + std::to_string(file.get());
  constexpr uid_t kSameUser = static_cast<uid_t>(-1);
  struct stat now {};
  bool is_done = file.valid() && ::fstat(file.get(), &now) == 0;
  if (is_done && now.st_gid != admitted->gr_gid) {  // a service has the group already
    is_done = ::fchownat(file.get(), "", kSameUser, admitted->gr_gid, AT_EMPTY_PATH) == 0;
  }
  if (!is_done || ::chmod(at.c_str(), 0660) != 0) {
    base::log_debug(
        base::Error::from_errno("admitting the group splitnic to " + path, errno).text());
  }
}

}  // namespace

base::Result<Stream::endpoint> unix_endpoint(const std::string& path) {
  if (path.empty() || path.size() > kPathBytesMax) {
    return base::Error("the path of a socket must have 1 to " + std::to_string(kPathBytesMax) +
                       " characters: " + path);
  }
  return Stream::endpoint(path);
}

ErrorCode connect_to_listener(Stream::socket& socket, const Stream::endpoint& endpoint) {
  ErrorCode error;
  socket.open(Stream(), error);
  if (!error) socket.native_non_blocking(true, error);
  if (error) return error;
  const auto until = std::chrono::steady_clock::now() + kListenWithin;
  for (;;) {
    if (::connect(socket.native_handle(), endpoint.data(),
                  static_cast<socklen_t>(endpoint.size())) == 0) {
      return error;
    }
    const int failure = errno;
    if (failure != ECONNREFUSED || std::chrono::steady_clock::now() >= until) {
      return {failure, boost::system::system_category()};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

base::Status SocketFile::listen(const std::string& path, Acceptor& acceptor) {
  const auto endpoint = unix_endpoint(path);
  if (!endpoint) return endpoint.error();
  if (auto made = make_folder_of(path, others_); !made) return made;
  if (auto cleared = clear_stale(path, *endpoint, others_); !cleared) return cleared;
  ErrorCode error;
  acceptor.open(Stream(), error);
  if (error) return base::Error::from_errno("making the socket " + path, error.value());
  // Linux gives the file the mode that the socket has at bind (less the umask).
  if (::fchmod(acceptor.native_handle(), 0600) != 0) {
    return base::Error::from_errno("setting the mode of the socket " + path, errno);
  }
  acceptor.bind(*endpoint, error);
  if (error) {
    return base::Error::from_errno("making the socket " + path, error.value());
  }
  struct stat made {};
  if (::lstat(path.c_str(), &made) != 0) {
    error = ErrorCode(errno, boost::system::system_category());
  } else {
    acceptor.listen(kBacklog, error);
  }
  if (error) {
    ::unlink(path.c_str());
    return base::Error::from_errno("listening on the socket " + path, error.value());
  }
  admit_group(path);
  path_ = path;
  device_ = made.st_dev;
  inode_ = made.st_ino;
  return {};
}

void SocketFile::remove() {
  struct stat now {};
  const std::string path = std::exchange(path_, {});
  if (path.empty() || ::lstat(path.c_str(), &now) != 0) return;
  if (now.st_dev == device_ && now.st_ino == inode_) ::unlink(path.c_str());
}

}  // namespace splitnic::control
