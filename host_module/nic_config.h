// Keeps the remote NIC and the host's interface in step. nic_sync.h is the state and the table of
// requests; this class sends the next one, one at a time, and takes the replies.
// interface_follower.h reads the interface into that state and sets its carrier, MTU and speed; MAC
// and offloads of the interface are set here. Each new connection begins with INIT_NIC and
// GET_STATE; all settings follow if the digest differs, else none. Thread: the data thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "host_module/interface_follower.h"
#include "host_module/nic_sync.h"
#include "host_module/settling.h"
#include "host_module/user_settings.h"
#include "lan_bridge/frame_port.h"
#include "messaging/channel_pair.h"

namespace splitnic::host {

class NicConfig {
 public:
  struct Settings {
    std::string node_name;
    bool takes_lan_mac = false;
    std::optional<std::uint32_t> mtu{};  // as in InterfaceFollower::Settings
    // An additional queue: queue 0 reports what the I/O unit refuses.
    bool is_additional = false;
    // Returns what the kernel lists for the interface, if it replies. Null: it has no lists.
    std::function<std::optional<lan::AddressLists>()> lists{};
    bool keeps_carrier = false;  // as in InterfaceFollower::Settings
  };
  // After the status busy nothing is requested for this time.
  static constexpr base::Duration kBusyFor = std::chrono::milliseconds(100);
  // The interval at which the lists of the kernel are read, which does not report that they change.
  static constexpr base::Duration kListsInterval = std::chrono::milliseconds(250);

  NicConfig(lan::FramePort& tap, Settings settings);

  // -- its connection --
  void on_pair_up(messaging::ChannelPair& pair, base::Time now);
  void on_pair_down(base::Time now);
  // The same, and a connection to another unit follows at once, which the carrier waits for.
  void on_move();
  // The unit has ended the connection, as it does when it stops: the carrier waits for its return.
  void on_unit_stopped(base::Time now);
  void on_link_lost(base::Time now) { interface_.on_link_lost(now); }
  void on_link_back() { interface_.on_link_back(); }
  // The program stops.
  void begin_stop() { interface_.begin_stop(); }
  // Serves a CfgUtil request of the I/O unit: EVENT, ECHO, GET_VERSION or ANNOUNCE. Others are
  // unknown to a host.
  messaging::CfgReply on_request(const messaging::CfgRequest& request, base::Time now);
  // Brings the interface to the state of the LAN, if that is due, with or without a connection.
  // Sends the next request, if one is due and none is open.
  void pump(base::Time now);
  // Returns when pump() must be called at the latest.
  base::Time deadline() const;
  // Returns whether ANNOUNCE came since the last call: the LAN is to hear where our addresses are.
  bool take_announce() { return std::exchange(is_announce_due_, false); }

  // -- what the user sets --
  // The interface changed (netlink), or another one of its namespace.
  void on_tap_state(base::Time now);
  // As in Settings, from now on. The caller sets an MTU on the interface, too.
  void set_takes_lan_mac(bool takes_it) { sync_.takes_lan_mac = takes_it; }
  void set_wanted_mtu(std::optional<std::uint32_t> mtu, base::Time now);
  // Starts or stops the remote NIC and leaves the interface up, without carrier while it is stopped
  // (`splitnic set link`).
  void set_started(bool started, base::Time now) {
    sync_.is_held_down = !started;
    interface_.set_due();
    interface_.lose_carrier(now);
    pump(now);
  }
  // Calls `done` once, with why if the I/O unit does not take what the interface has, after its
  // reply to SET_MAC, SET_MTU or SET_FILTER (`code`), or when none comes. At once, without why, if
  // it has taken that before, or is not connected: then the next connection gets it.
  void when_settled(messaging::CfgCode code, base::Time now, Settling::Done done);
  // The settings that have no place on the interface. The caller sets VLANs, queues, coalescing and
  // service levels here. `is_done`, in them and below: the I/O unit has replied OK to our user's
  // request; otherwise they are requested when there is a connection.
  UserSettings& user() { return sync_.user; }
  void on_filter(const UserFilter& filter, bool is_done);
  base::Status set_offloads_off(std::uint32_t off, bool is_done);
  // The interface uses none of these offloads, from now until set_offloads_off(), and at no time
  // one that the I/O unit has not granted.
  base::Status limit_offloads(std::uint32_t off);
  // RESET was carried out: all settings are sent once more. REQUIRES configured().
  void on_reset() { sync_.begin_settings(); }

  // -- what is known --
  const NicSync& sync() const { return sync_; }
  bool configured() const { return sync_.is_configured(); }
  bool has_carrier() const { return interface_.has_carrier(); }  // the interface
  // Of the interface.
  std::uint32_t mtu() const { return sync_.wanted.mtu; }
  const lan::MacAddress& mac() const { return sync_.wanted.mac; }

 private:
  enum class Slot : std::uint8_t {
    kFree,
    kOpen,     // our request has no reply yet
    kRefused,  // the user's commands (nic_run.h) have all: the iteration that ends one calls pump()
  };

  void settle(const SyncStep& step);
  void send(const SyncStep& step, base::Time now);
  void on_reply(const SyncStep& step, const messaging::CfgReply& reply);
  messaging::CfgReply on_event(const messaging::CfgRequest& request, base::Time now);
  void read_lists(base::Time now);
  std::uint32_t offloads_without(std::uint32_t off) const {
    return lan::offloads_in_force(sync_.offloads & sync_.features & ~off);
  }
  void limit_to_granted();

  lan::FramePort& tap_;
  NicSync sync_;
  InterfaceFollower interface_;
  const bool is_additional_;
  const std::function<std::optional<lan::AddressLists>()> lists_;
  Slot slot_ = Slot::kFree;
  messaging::CfgCode open_{};       // of that request
  std::uint32_t offloads_set_ = 0;  // of the interface, by the last limit_offloads()
  Settling settling_;
  base::Time busy_until_{};
  messaging::ChannelPair* pair_ = nullptr;
  bool is_announce_due_ = false;
  std::uint64_t generation_ = 0;  // of the newest EVENT
  std::uint64_t epoch_ = 0;       // of the connection: replies of an older one are ignored
};

}  // namespace splitnic::host
