// The client side of the control socket, blocking with a time limit: what `splitnic` uses.
#pragma once

#include <boost/system/error_code.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "control/socket/requests.h"

namespace splitnic::control {

class Client {
 public:
  static base::Result<Client> connect(const std::string& path);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  // Sends one request and returns its reply. After an error the client is closed.
  base::Result<Reply> ask(const Request& request, base::Duration timeout);

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The error of connect_to_listener() (unix_socket.h), with what to do.
base::Error unreachable(const std::string& path, const boost::system::error_code& why);
// Returns the paths of *.sock in `folder`, in order.
std::vector<std::string> sockets_in(const std::string& folder);
// Returns the only *.sock in `folder`, or the only one of several at which a program listens; else
// an error that lists them.
base::Result<std::string> only_socket_in(const std::string& folder);
// Returns the only one whose name is NAME.sock or ends with -NAME.sock, as that of a host with the
// interface NAME does by default; else the only one there is.
base::Result<std::string> socket_of_interface(const std::string& folder, const std::string& name);
// A path stays, and anything without a '/' is the name of a program: FOLDER/NAME.sock.
std::string socket_path(const std::string& folder, const std::string& path_or_name);

}  // namespace splitnic::control
