// The two processes of a benchmark, and the socket between them. The passive one serves, the active
// one measures; each may be in a separate network namespace.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <type_traits>

#include "base/unique_fd.h"

namespace splitnic::bench {

// Prints the reason on standard error and ends this process.
[[noreturn]] void fail(const std::string& why);

struct Ends {
  std::string active_netns, passive_netns;  // as ip-netns(8) names them; empty: the caller's
  std::string address = "127.0.0.1";        // where the passive end listens
  bool is_pinned = false;                   // a processor for each, if there are two
};

// Messages between the two apart from the measured ones.
class Control {
 public:
  explicit Control(base::UniqueFd fd) : fd_(std::move(fd)) {}
  int fd() const { return fd_.get(); }
  // The other end has sent something, or has ended.
  bool is_readable() const;
  void send(std::span<const std::byte> bytes);
  // The next message, cut to the room there is; ends this process if the other one has ended.
  std::size_t receive(std::span<std::byte> room);

  template <class T>
  requires std::is_trivially_copyable_v<T>
  void send_value(const T& value) { send(std::as_bytes(std::span(&value, 1))); }
  template <class T>
  requires std::is_trivially_copyable_v<T> T receive_value() {
    T value{};
    if (receive(std::as_writable_bytes(std::span(&value, 1))) != sizeof value)
      fail("wrong message");
    return value;
  }

 private:
  base::UniqueFd fd_;
};

using Body = std::function<void(Control&)>;
// Runs both, each in a separate process, until they return. False if one of them failed.
bool run_two(const Ends& ends, const Body& passive, const Body& active);

}  // namespace splitnic::bench
