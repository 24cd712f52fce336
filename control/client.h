// The client side of the control socket, blocking with a time limit: what `splitnic` uses.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "control/admin.h"

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

// Returns the only *.sock in `folder`; with none or several, an error that lists them.
base::Result<std::string> only_socket_in(const std::string& folder);

}  // namespace splitnic::control
