// A process for work that waits for others, and that reads what the program itself must not reach:
// names are looked up and units are found by it, and commands of the user run. It is forked while
// the program has one thread and before it has read a key, shares nothing with it but a socket of
// packets, and has no capability and no right to write, unless it is one for commands
// (hook_process.h). It ends when the socket or the program does. What it reports is checked as
// any input. Thread: it is made by the only thread of the program, then used by one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace splitnic::control {

class SideProcess {
 public:
  static constexpr std::size_t kPacketBytesMax = 4096;

  // The end of the socket that the process has.
  class Channel {
   public:
    explicit Channel(int fd) : fd_(fd) {}
    int fd() const { return fd_; }
    // Waits for the next packet; nothing: the program has ended.
    std::optional<std::string> receive() const;
    void send(const std::string& packet) const;

   private:
    int fd_;
  };

  // Forks; `body` runs in the process and ends it by returning. `name`: of the process, up to 15
  // bytes. `is_restricted`: it gives up its privileges first, but for reading files.
  static base::Result<std::unique_ptr<SideProcess>> begin(const std::string& name,
                                                          bool is_restricted,
                                                          std::function<void(Channel)> body);

  // Passes one packet, or returns false: the process is gone, or has not read those before.
  bool send(const std::string& packet);
  // Returns the next packet, if there is one.
  std::optional<std::string> receive();
  // False from when receive() has found that the process is gone.
  bool is_alive() const { return is_alive_; }

 private:
  explicit SideProcess(base::UniqueFd socket) : socket_(std::move(socket)) {}

  base::UniqueFd socket_;
  bool is_alive_ = true;
};

}  // namespace splitnic::control
