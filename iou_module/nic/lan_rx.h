// LAN -> hosts. With one host the port reads straight into that host's ring; with several it reads
// into a scratch ring, and each host that wants a frame gets its own copy.
//
//   1. push what waits in each host's ring
//   2. read a batch from the port, unless what was read has to wait
//   3. learn the source of each frame (HostTable::learn), and queue it for the hosts that want it,
//      or drop and count it
//   4. push again
//
// Thread: the data thread.
#pragma once

#include <memory>

#include "iou_module/hosts/host_table.h"
#include "iou_module/nic/lan_counters.h"

namespace splitnic::iou {

class LanRx {
 public:
  // All outlive it.
  LanRx(lan::FramePort& port, HostTable& hosts, base::Counters<LanCounter>& counters);

  // The port's fd is readable, or always ready: the next step() reads it.
  void set_readable(bool is_readable) { is_readable_ = is_readable; }
  // The port is not read any more.
  void stop() { is_stopped_ = true; }
  // Returns true if the port may be read now. A frame that a lone host cannot take waits in the
  // port for up to kHeldMax: the kernel's buffer is larger than the ring, and drops without cost
  // for this process. After that, and with several hosts or a host that is away, the LAN is read,
  // and what a host cannot take is dropped and counted. A capture file waits for its hosts.
  bool wants_input() const;
  // Returns true if it made progress.
  bool step(base::Time now);
  base::Time deadline() const;

 private:
  static constexpr std::size_t kBatch = 64;  // frames per read
  static constexpr base::Duration kHeldMax = std::chrono::milliseconds(20);

  bool pump_hosts(base::Time now);
  void observe_room(base::Time now);
  std::size_t read();

  lan::FramePort& port_;
  HostTable& hosts_;
  base::Counters<LanCounter>& counters_;
  std::unique_ptr<std::byte[]> scratch_memory_;
  lan::FrameRing scratch_;  // LAN frames that are for several hosts, or for none
  bool is_readable_ = false;
  bool is_stopped_ = false;
  base::Time now_{};                      // of this iteration
  base::Time full_since_ = base::kNever;  // since when a lone host has had no room
};

}  // namespace splitnic::iou
