// The control socket's file: its address, its owner and mode, and stale files of programs that were
// killed.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/status.h"

namespace splitnic::control {

// The folder in which programs make their sockets by default, as NAME.sock.
inline constexpr const char* kControlFolder = "/run/splitnic";
// Its members may connect, if the machine has this group.
inline constexpr const char* kControlGroup = "splitnic";

// An error: the path is empty or too long for a socket.
base::Result<boost::asio::local::stream_protocol::endpoint> unix_endpoint(const std::string& path);

// Connects, or waits for at most kListenWithin: a program that starts makes the file a moment
// before it listens there, and until then the file looks like one of a program that was killed. A
// program whose backlog is full is EAGAIN: Asio's own connect() would report it as success.
inline constexpr base::Duration kListenWithin = std::chrono::milliseconds(100);
boost::system::error_code connect_to_listener(
    boost::asio::local::stream_protocol::socket& socket,
    const boost::asio::local::stream_protocol::endpoint& endpoint);

// A socket file that this program made. It is removed only while it is still that file.
class SocketFile {
 public:
  using Acceptor = boost::asio::local::stream_protocol::acceptor;

  // `others` is what leads to another path, for errors: "--metrics".
  explicit SocketFile(std::string others) : others_(std::move(others)) {}

  // Opens, binds and listens. The file has mode 0600 from the beginning, and then 0660 with the
  // group kControlGroup, if there is one that the user may give it to. Its folder is made if it is
  // missing. An error leaves nothing behind.
  base::Status listen(const std::string& path, Acceptor& acceptor);
  // Unlinks the file if nobody has put another in its place.
  void remove();

 private:
  std::string others_;
  std::string path_;
  unsigned long device_ = 0;
  unsigned long inode_ = 0;
};

}  // namespace splitnic::control
