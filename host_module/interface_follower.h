// The host's interface: reads into NicSync what its user has set on it, and brings its carrier, MTU
// and speed to the state of the LAN. It makes one change per kFollowInterval on average, whatever
// the unit reports, and then to the newest state; only a lost carrier shows at once [M-20]. The
// carrier stays for a while where another connection is likely to follow. Thread: the data thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/event.h"
#include "host_module/nic_sync.h"
#include "lan_bridge/frame_port.h"

namespace splitnic::host {

class InterfaceFollower {
 public:
  struct Settings {
    // None: the interface has the LAN's MTU, until the user sets another.
    std::optional<std::uint32_t> mtu{};
    // Of an additional queue: queue 0 reports the changes and sets the speed.
    bool is_additional = false;
    // The interface outlives the program: a carrier that it is found with stays for kReturnWait
    // from the first begin_iteration() on, and one that it has when the program stops stays.
    bool keeps_carrier = false;
  };
  static constexpr base::Duration kFollowInterval = std::chrono::milliseconds(100);
  // The time for which the carrier stays after the I/O unit has stopped, because one that is
  // restarted is back after 0.2 to 0.3 s. An interface that loses its carrier loses its neighbour
  // table, and the kernel repeats an ARP request after one second.
  static constexpr base::Duration kReturnWait = std::chrono::milliseconds(500);

  // `tap` and `sync` outlive this. Reads the interface: `sync.wanted` is as it is found.
  InterfaceFollower(lan::FramePort& tap, NicSync& sync, const Settings& settings);

  // -- what becomes of the connection --
  // It has ended, and one to another unit follows at once: the carrier stays until that one has
  // reported its LAN, or until end_waiting().
  void on_move() {
    is_moving_ = true;
    is_due_ = false;
  }
  // The unit has stopped: the carrier stays for kReturnWait. One that comes back and stops again
  // without a working NIC gets no more time.
  void wait_for_return(base::Time now);
  // No connection is expected: the carrier goes.
  void end_waiting(base::Time now);
  // The fabric's link is lost: the carrier goes at once, unless it waits for a unit that has
  // stopped. The connection stays, so no EVENT follows when the link is back.
  void on_link_lost(base::Time now);
  void on_link_back();
  // The program stops: from now on a carrier that the interface keeps is not taken off.
  void begin_stop() { leaves_carrier_ = keeps_carrier_; }

  // -- the interface --
  // Takes over what the user has set on it.
  void read();
  bool has_carrier() const { return has_carrier_; }  // as it was set last
  // Sets the carrier that is wanted. Call it when the interface has come up, because the kernel
  // refuses a carrier before.
  void apply_carrier();
  // The user's MTU, from now on: the interface has the smaller of this and the LAN's. The caller
  // sets it on the interface. None: the interface gets that of the LAN by follow().
  void set_wanted_mtu(std::optional<std::uint32_t> mtu);
  // The unit has reported the MTU of the LAN in an EVENT.
  void on_lan_mtu(std::uint32_t mtu);
  // INIT_NIC or SET_MTU has shown it.
  void on_lan_mtu_known();

  // -- to follow --
  void set_due() { is_due_ = true; }
  // Takes the carrier off if it is not wanted any more, without waiting for the interval.
  void lose_carrier(base::Time now);
  // Ends a wait that is over. Before anything else of an iteration, with or without a connection.
  void begin_iteration(base::Time now);
  // Brings the interface to the state of the LAN, if that is due.
  void follow(base::Time now);
  // Returns when follow() has something to do, on a connection.
  base::Time follow_deadline() const { return is_due_ ? follow_at_ : base::kNever; }
  // Returns when begin_iteration() has something to do.
  base::Time wait_deadline() const { return return_by_.value_or(base::kNever); }

 private:
  void report(base::EventKind kind, const std::string& text) const;
  bool is_carrier_wanted() const {
    return sync_.is_configured() && sync_.lan_link && !is_link_lost_ && !sync_.is_held_down;
  }
  void count_change(base::Time now);
  bool follow_mtu();
  bool follow_speed();

  lan::FramePort& tap_;
  NicSync& sync_;
  const bool is_additional_;
  const bool keeps_carrier_;
  bool is_due_ = false;
  base::Time follow_at_{};  // not before
  bool has_carrier_ = false;
  std::pair<std::uint32_t, bool> shown_speed_{};  // Mbit/s, full duplex; as it was set last
  bool is_small_mtu_noted_ = false;
  std::optional<std::uint32_t> wanted_mtu_;  // the user's
  bool is_mtu_adopted_ = false;              // it was found on the interface, whoever set it
  bool is_link_lost_ = false;                // the fabric's, for now
  bool is_moving_ = false;                   // the carrier stays until the NIC is configured
  std::optional<base::Time> return_by_{};    // while it waits for a unit that has stopped
  bool is_found_with_carrier_ = false;       // and begin_iteration() has not been called yet
  bool leaves_carrier_ = false;              // the program stops
};

}  // namespace splitnic::host
