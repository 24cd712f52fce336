// Making the control socket's file: address, mode 0600, stale files. No Asio here.
#pragma once

#include <sys/un.h>

#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace splitnic::control {

// Where programs make their sockets by default, as NAME.sock.
inline constexpr const char* kControlFolder = "/run/splitnic";

base::Result<sockaddr_un> unix_address(const std::string& path);

// A socket file that exists, and who made it: removed only while it is that one.
class SocketFile {
 public:
  SocketFile() = default;
  // Bound and listening. `path` is 0600; its folder is made if missing.
  static base::Result<SocketFile> listen(const std::string& path);
  base::UniqueFd take_fd() { return std::move(fd_); }
  // Unlinks the file if nobody has put another in its place.
  void remove();

 private:
  base::UniqueFd fd_;
  std::string path_;
  unsigned long device_ = 0;
  unsigned long inode_ = 0;
};

}  // namespace splitnic::control
