// Watches the descriptors of one frame port: input, output and changes of its state. A port may
// send through another descriptor than it reads from. Thread: the data thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/poller.h"
#include "lan_bridge/frame_port.h"

namespace splitnic::control {

class PortWatch {
 public:
  // Both outlive this.
  PortWatch(base::Poller& poller, const lan::FramePort& port)
      : poller_(poller),
        port_(port),
        is_always_ready_(port.fd() < 0),
        has_own_output_(port.write_fd() != port.fd()),
        input_(poller.add(port.fd(), true)),
        output_(has_own_output_ ? poller.add(port.write_fd()) : input_),
        events_(poller.add(port.event_fd())) {}

  // The next wait of the poller ends with input or room for output, where wanted, and with a change
  // of the state.
  void want(bool input, bool output) {
    poller_.want(input_, input, output && !has_own_output_);
    if (has_own_output_) poller_.want(output_, false, output);
  }
  // The interface was deleted: only changes of its state are watched from now on.
  void forget_frames() {
    input_fd_ = kForgotten;
    is_always_ready_ = false;
    poller_.forget(input_);
    if (has_own_output_) poller_.forget(output_);
  }
  // The port has an interface, perhaps again and by another descriptor: all is watched.
  void remember_frames() {
    const int fd = port_.fd();
    if (std::exchange(input_fd_, fd) == fd) return;
    is_always_ready_ = fd < 0;
    poller_.replace(input_, fd);
    if (has_own_output_) poller_.replace(output_, port_.write_fd());
  }
  // As of the last wait: the port may have frames to read.
  bool is_readable() const { return is_always_ready_ || poller_.readable(input_); }
  // Somebody has read events of the port since the last take_event(): no wait ends with them.
  bool has_read_event() const { return port_.changes() != changes_; }
  // Returns whether its state may have changed, as of the last wait or since the last call. What
  // changes while the caller looks at it is reported by the next call.
  bool take_event() {
    const std::uint64_t before = std::exchange(changes_, port_.changes());
    return before != changes_ || poller_.readable(events_);
  }

 private:
  static constexpr int kForgotten = -2;

  base::Poller& poller_;
  const lan::FramePort& port_;
  std::uint64_t changes_ = 0;  // of the port, as taken
  int input_fd_ = port_.fd();
  bool is_always_ready_;
  bool has_own_output_;
  std::size_t input_;  // numbers of the poller
  std::size_t output_;
  std::size_t events_;
};

}  // namespace splitnic::control
