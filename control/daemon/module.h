// Driven by the data loop: the host module or the I/O unit with its frame ports, or the switch, as
// one object. Called once per iteration of the loop, never per frame. Thread: the data thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/clock.h"
#include "lan_bridge/frame_port.h"

namespace splitnic::control {

// The longest time that frames in flight may delay a clean stop.
inline constexpr base::Duration kStopMax = std::chrono::milliseconds(300);

class Module {
 public:
  virtual ~Module() = default;

  // The frame ports, by index; their number and order do not change. A module without any leaves
  // what is about them as it is here: it is never called.
  virtual std::size_t ports() const { return 0; }
  virtual lan::FramePort& port(std::size_t /*index*/) {
    base::check_failed("a module without frame ports", __FILE__, __LINE__);
  }
  virtual bool wants_input(std::size_t /*index*/) { return false; }
  virtual bool wants_output(std::size_t /*index*/) { return false; }
  // The state of the port may have changed: its event_fd() is readable, or its changes() are more.
  virtual void on_port_event(std::size_t /*index*/, base::Time /*now*/) {}
  // The interface of the port is gone; repeated in each iteration. An error ends the program.
  virtual base::Status on_port_gone(std::size_t index) {
    return base::Error(port(index).name() + " was deleted: start again");
  }
  // Whether the port may have frames to read; holds for the next step().
  virtual void set_readable(std::size_t /*index*/, bool /*is_readable*/) {}

  // An interface whose datagrams step() moves, besides frame ports; -1: there is none. It does not
  // change. Whether the next step() reads from it.
  virtual int datagram_fd() const { return -1; }
  virtual bool wants_datagrams() const { return false; }

  // Whether the next step() reads from the carrier of this index, in the order of Carriers::all().
  virtual bool reads_carrier(std::size_t /*index*/) const { return true; }
  // Runs one iteration: receives, moves frames, transmits. Returns whether any work was done; then
  // the next iteration follows at once.
  virtual bool step(base::Time now) = 0;
  virtual base::Time deadline() const = 0;
  // Bytes of frames so far, both ways, as base::IdleStrategy counts them.
  virtual std::uint64_t bytes_processed() const = 0;

  // Returns its state in words, for a service manager; "": none. Called once per second.
  virtual std::string status() const { return {}; }

  // A clean stop: begin_stop() once, then step() until is_drained() or for kStopMax, then stop().
  virtual void begin_stop() {}
  virtual bool is_drained() const = 0;
  virtual void stop(base::Time now) = 0;
};

}  // namespace splitnic::control
