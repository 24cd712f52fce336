// Keeps the remote NIC as the host's interface is, and the interface as the remote NIC is. What the
// user of the host sets (MAC, MTU, promiscuous, up and down) is sent as CfgUtil requests, in the
// order of nic_sync.h; what the I/O unit reports (link, MTU) is put on the interface. Each new
// connection begins with INIT_NIC and GET_STATE; all settings follow if the digest differs, else
// none. A unit changes the interface once in kFollowInterval on average: a lost carrier shows at
// once, and all else waits until that is due; the newest state counts [M-20]. Thread: the data
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/event.h"
#include "host_module/nic_sync.h"
#include "lan_bridge/frame_port.h"
#include "messaging/channel_pair.h"

namespace splitnic::host {

class NicConfig {
 public:
  struct Settings {
    std::string node_name;
    bool takes_lan_mac = false;
    // None: the interface has the LAN's MTU, until the user sets another.
    std::optional<std::uint32_t> mtu{};
    // An additional queue: queue 0 reports what the I/O unit refuses.
    bool is_additional = false;
    // Returns what the kernel lists for the interface, if it replies. Null: it has no lists.
    std::function<std::optional<lan::AddressLists>()> lists{};
    // The interface outlives the program: a carrier that it is found with stays for kReturnWait
    // from the first pump() on, and one that it has when the program stops stays.
    bool keeps_carrier = false;
  };
  static constexpr base::Duration kFollowInterval = std::chrono::milliseconds(100);
  // How long the carrier stays after the I/O unit has stopped, because one that is restarted is
  // back after 0.2 to 0.3 s. A carrier that goes takes the neighbours of the interface along, and
  // the kernel repeats an ARP request after one second.
  static constexpr base::Duration kReturnWait = std::chrono::milliseconds(500);
  // After the status busy nothing is requested for this time.
  static constexpr base::Duration kBusyFor = std::chrono::milliseconds(100);
  // How often the lists of the kernel are read, which does not report that they change.
  static constexpr base::Duration kListsInterval = std::chrono::milliseconds(250);

  NicConfig(lan::FramePort& tap, Settings settings);

  void on_pair_up(messaging::ChannelPair& pair, base::Time now);
  void on_pair_down(base::Time now);
  // The same, and a connection to another unit follows at once: the carrier stays until that one
  // has reported its LAN, or has failed.
  void on_move();
  // The unit has ended the connection, as it does when it stops: the carrier stays for kReturnWait,
  // or until another connection has failed.
  void on_unit_stopped(base::Time now);
  // The fabric's link is lost for now: the carrier goes off at once, unless it waits for a unit
  // that has stopped, and on again by pump() when it is back. The connection stays, so no EVENT
  // follows.
  void on_link_lost(base::Time now);
  void on_link_back();
  // The program stops: from now on a carrier that the interface keeps is not taken off.
  void begin_stop() { leaves_carrier_ = keeps_carrier_; }
  // The interface changed (netlink), or another one of its namespace.
  void on_tap_state(base::Time now);
  // As in Settings, from now on. An MTU that the interface is to have is set on it, too, by the
  // caller; without one it gets that of the LAN.
  void set_takes_lan_mac(bool takes_it) { sync_.takes_lan_mac = takes_it; }
  void set_wanted_mtu(std::optional<std::uint32_t> mtu, base::Time now);
  // Returns when pump() must be called at the latest.
  base::Time deadline() const;
  // Serves a CfgUtil request of the I/O unit: EVENT, ECHO, GET_VERSION or ANNOUNCE. Others are
  // unknown to a host.
  messaging::CfgReply on_request(const messaging::CfgRequest& request, base::Time now);
  // Starts or stops the remote NIC and leaves the interface up, without carrier while it is stopped
  // (`splitnic set link`).
  void set_started(bool started, base::Time now) {
    sync_.is_held_down = !started;
    is_follow_due_ = true;
    lose_carrier(now);
    pump(now);
  }
  // Calls `done` once, with why if the I/O unit does not take what the interface has, after its
  // reply to SET_MAC, SET_MTU or SET_FILTER (`code`), or when none comes. At once, without why, if
  // it has taken that before, or is not connected: then the next connection gets it.
  using Settled = std::function<void(const std::optional<std::string>& why)>;
  void when_settled(messaging::CfgCode code, base::Time now, Settled done);
  // Why the I/O unit does not take the MAC address that the interface has; none: it does.
  std::optional<std::string> mac_refusal() const {
    return sync_.refusal_of(messaging::CfgCode::kSetMac, sync_.wanted);
  }
  // The settings that have no place on the interface (`splitnic vlan` and `splitnic ethtool`). Each
  // connection gets them. `is_done`: the I/O unit has replied OK to our user's request; otherwise
  // they are requested when there is a connection.
  void on_vlan(std::uint16_t id, bool is_listed, bool is_done);
  void on_pvid(std::uint16_t id, bool is_done) { sync_.vlans.pvid().set(id, is_done); }
  void on_filter(const UserFilter& filter, bool is_done) {
    sync_.user_filter = filter;
    sync_.is_unicast_refused = sync_.is_unicast_refusal_known = false;
    if (is_done) sync_.acknowledged.filter = filter_with(filter);
  }
  void on_queues(std::uint32_t queues, bool is_done) { sync_.queues_wanted.set(queues, is_done); }
  void on_coalescing(const messaging::Coalescing& value, bool is_done) {
    sync_.coalescing.set(value, is_done);
  }
  void on_qos(const messaging::QosMap& map, bool is_done) { sync_.qos.set(map, is_done); }
  base::Status set_offloads_off(std::uint32_t off, bool is_done);
  // The interface uses none of these offloads, from now until set_offloads_off().
  base::Status limit_offloads(std::uint32_t off);
  // RESET was carried out: all settings are sent once more. REQUIRES configured().
  void on_reset() { sync_.begin_settings(); }

  // Brings the interface to the state of the LAN, if that is due, with or without a connection.
  // Sends the next request, if one is due and none is open.
  void pump(base::Time now);

  // Returns whether ANNOUNCE came since the last call: the LAN is to hear where our addresses are.
  bool take_announce() { return std::exchange(is_announce_due_, false); }

  bool configured() const { return sync_.phase == SyncPhase::kConfigured; }
  bool is_admin_up() const { return sync_.wanted.admin_up; }
  bool has_carrier() const { return has_carrier_; }  // the interface, as it was set last
  std::uint32_t lan_speed_mbps() const { return sync_.lan_speed_mbps; }  // 0: unknown
  bool is_lan_full_duplex() const { return sync_.is_lan_full_duplex; }
  std::uint32_t queues() const { return sync_.queues; }  // of the I/O unit, once configured
  // Of these, how many the host uses; the user may have limited them.
  std::uint32_t queues_used() const {
    const std::uint32_t wanted = sync_.queues_wanted.value();
    return wanted == 0 ? sync_.queues : std::min(wanted, sync_.queues);
  }
  const UserFilter& user_filter() const { return sync_.user_filter; }
  // The kernel's lists for the interface, as they were read last.
  const lan::AddressLists& listed() const { return sync_.listed; }
  // The whole filter with these lists of the user, as far as the I/O unit permits it.
  FilterSetting filter_with(const UserFilter& filter) const {
    return sync_.filter_permitted(filter);
  }
  messaging::Coalescing coalescing() const { return sync_.coalescing.value(); }
  messaging::QosMap qos() const { return sync_.qos.value(); }
  std::uint32_t mtu() const { return sync_.wanted.mtu; }
  std::uint32_t features() const { return sync_.features; }
  const lan::MacAddress& mac() const { return sync_.wanted.mac; }
  const lan::MacAddress& lan_mac() const { return sync_.lan_mac; }  // zero: not known yet
  std::uint32_t offloads_off() const { return sync_.offloads_off; }
  std::vector<std::uint16_t> vlans() const { return sync_.vlans.list(); }
  // Those that the I/O unit has refused on this connection.
  std::vector<std::uint16_t> vlans_refused() const { return sync_.vlans.refused(); }
  bool is_unicast_refused() const { return sync_.is_unicast_refused; }  // that of user_filter()
  std::uint16_t pvid() const { return sync_.vlans.pvid().value(); }
  // The settings that the I/O unit has, once configured.
  messaging::NicState settings() const {
    messaging::NicState state = sync_.wanted_state();
    state.offloads = sync_.offloads_wanted();  // INIT_NIC has them all, and some may be off since
    return state;
  }

 private:
  enum class Slot : std::uint8_t {
    kFree,
    kOpen,     // our request has no reply yet
    kRefused,  // requests of others take all: the iteration that ends one calls pump()
  };

  // Whoever waits for a reply of the I/O unit to `code`, with the interface as it was `asked`.
  struct Settling {
    messaging::CfgCode code;
    lan::PortState asked;
    Settled done;
  };
  static constexpr std::size_t kSettlingMax = 64;
  using WhyOf = std::function<std::optional<std::string>(const Settling&)>;
  void settle(const SyncStep& step);
  // Of this code, or all.
  void end_settling(std::optional<messaging::CfgCode> code, const WhyOf& why_of);

  void report(base::EventKind kind, const std::string& text) const;
  void send(const SyncStep& step, base::Time now);
  void on_reply(const SyncStep& step, const messaging::CfgReply& reply);
  messaging::CfgReply on_event(const messaging::CfgRequest& request, base::Time now);
  void read_tap();
  void follow(base::Time now);
  bool is_carrier_wanted() const {
    return configured() && sync_.lan_link && !is_link_lost_ && !sync_.is_held_down;
  }
  void end_waiting(base::Time now);
  void apply_carrier();
  void lose_carrier(base::Time now);
  void count_change(base::Time now);
  bool follow_mtu();
  void read_lists(base::Time now);
  bool follow_speed();
  void take_lan_mtu(std::uint32_t mtu);

  lan::FramePort& tap_;
  NicSync sync_;
  const bool is_additional_;
  const std::function<std::optional<lan::AddressLists>()> lists_;
  const bool keeps_carrier_;
  Slot slot_ = Slot::kFree;
  messaging::CfgCode open_{};  // of that request
  std::vector<Settling> settling_;
  base::Time busy_until_{};
  bool is_follow_due_ = false;
  base::Time follow_at_{};                        // not before
  base::Time lists_at_;                           // when the kernel's lists are read again
  bool has_carrier_ = false;                      // as it was set last
  std::pair<std::uint32_t, bool> shown_speed_{};  // Mbit/s, full duplex; as it was set last
  bool is_small_mtu_noted_ = false;
  // The user's; the interface has the smaller of this and the LAN's.
  std::optional<std::uint32_t> wanted_mtu_;
  bool is_mtu_adopted_ = false;  // wanted_mtu_ was found on the interface, whoever set it
  messaging::ChannelPair* pair_ = nullptr;
  bool is_link_lost_ = false;              // the fabric's, for now
  bool is_moving_ = false;                 // the carrier stays until the settings are acknowledged
  std::optional<base::Time> return_by_{};  // while it waits for a unit that has stopped
  bool is_found_with_carrier_ = false;     // and has not been pumped yet
  bool leaves_carrier_ = false;            // the program stops
  bool is_announce_due_ = false;
  std::uint64_t generation_ = 0;  // of the newest EVENT
  std::uint64_t epoch_ = 0;       // of the connection: replies of an older one are ignored
};

}  // namespace splitnic::host
