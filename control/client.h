// The other end of the control socket, blocking: what `splitnic` uses.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "control/admin.h"

namespace splitnic::control {

class Client {
 public:
  static base::Result<Client> connect(const std::string& path);
  // One request, one answer. After an error the client is of no further use.
  base::Result<Reply> ask(const Request& request, base::Duration timeout);

 private:
  Client(base::UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  base::Status wait(short events, base::Time until);
  base::Status send_all(const std::string& bytes, base::Time until);
  base::Result<std::string> receive(std::size_t bytes, base::Time until);

  base::UniqueFd fd_;
  std::string path_;
};

// The only *.sock in `folder`; with none or several, an error that says so and lists them.
base::Result<std::string> only_socket_in(const std::string& folder);

}  // namespace splitnic::control
