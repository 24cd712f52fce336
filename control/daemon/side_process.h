// A process for work that waits for others, or that the program itself must not be able to do:
// names are looked up and units are found by it, NICs are opened, and commands of the user run. It
// is forked while the program has one thread and before it has read a key, shares nothing with it
// but a socket of packets, and has no right to write and no capability that its work does not need,
// unless it is one for commands (hook_process.h). It ends when the socket or the program does. What
// it reports is checked as any input. Thread: it is made by the only thread of the program, then
// used by one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "control/sandbox/sandbox.h"

namespace splitnic::control {

class SideProcess {
 public:
  static constexpr std::size_t kPacketBytesMax = 4096;
  static constexpr std::size_t kDescriptorsMax = 16;  // with one packet

  struct Packet {
    std::string text;
    std::vector<base::UniqueFd> descriptors = {};
  };

  // The end of the socket that the process has.
  class Channel {
   public:
    explicit Channel(int fd) : fd_(fd) {}
    int fd() const { return fd_; }
    // Waits for the next packet; nothing: the program has ended.
    std::optional<std::string> receive() const;
    // Returns false if the descriptors cannot be passed. REQUIRES at most kDescriptorsMax of them.
    bool send(const std::string& packet, std::span<const int> descriptors = {}) const;

   private:
    int fd_;
  };

  // Forks; `body` runs in the process, which can wait for its own children, and ends it by
  // returning. `name`: of the process, up to 15 bytes. `kept`: it gives up all other privileges
  // first.
  static base::Result<std::unique_ptr<SideProcess>> begin(const std::string& name,
                                                          const std::optional<sandbox::Needs>& kept,
                                                          std::function<void(Channel)> body);
  // Of a process that needs no file once it has begun, and parses what strangers send: so it cannot
  // read the keys of the program, which has the same user. Nothing: the program has no sandbox.
  static std::optional<sandbox::Needs> reads_no_files(bool is_restricted);

  // Passes one packet, or returns false: the process is gone, or has not read those before.
  bool send(const std::string& packet);
  // Returns the next packet, if there is one.
  std::optional<Packet> receive_packet();
  std::optional<std::string> receive() {
    auto packet = receive_packet();
    return packet ? std::optional(std::move(packet->text)) : std::nullopt;
  }
  // False from when receive() has found that the process is gone.
  bool is_alive() const { return is_alive_; }

 private:
  explicit SideProcess(base::UniqueFd socket) : socket_(std::move(socket)) {}

  base::UniqueFd socket_;
  bool is_alive_ = true;
};

}  // namespace splitnic::control
