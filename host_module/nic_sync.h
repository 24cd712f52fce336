// Selects the next CfgUtil request for the remote NIC by a table of steps. A step has the code,
// when it is due, what it carries and what its reply changes. One request is open at a time, and
// the first row that is due is sent. It also has what the unit has reported of the LAN, and what it
// has refused. NicConfig, InterfaceFollower and NicRun change it. Plain state and functions on it:
// no port, no connection, no clock. Thread: its owner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "host_module/user_settings.h"
#include "lan_bridge/address_lists.h"
#include "lan_bridge/frame/mtu.h"
#include "lan_bridge/frame/offload.h"
#include "lan_bridge/frame_port.h"
#include "messaging/cfgutil/nic_state.h"
#include "messaging/channel_pair.h"

namespace splitnic::host {

enum class SyncPhase : std::uint8_t {
  kDisconnected,  // no connection: nothing is sent
  kInit,          // INIT_NIC has no good reply yet; after a refusal it is due again at init_at
  kCompare,       // GET_STATE has no reply yet
  kSync,          // differences are sent; the carrier stays off and no frame is read
  kConfigured,    // everything was acknowledged once; later differences are sent as they arise
};

struct NicSync {
  // Our settings that the remote NIC has; none: not known, so it is sent.
  struct Acknowledged {
    std::optional<lan::MacAddress> mac{};
    std::optional<std::uint32_t> mtu{};
    std::optional<FilterSetting> filter{};
    std::optional<std::uint32_t> offloads{};  // INIT_NIC turns on what it grants
    std::optional<bool> started = false;      // INIT_NIC stops it
  };

  std::string node_name{};
  bool takes_lan_mac = false;  // --mac nic
  std::uint32_t offloads = 0;  // that the interface can use
  lan::PortState wanted{};     // the interface as it is
  bool is_held_down = false;   // `splitnic set link down`
  SyncPhase phase = SyncPhase::kDisconnected;
  Acknowledged acknowledged{};
  std::uint32_t features = 0;  // that the I/O unit granted
  UserSettings user{};
  lan::AddressLists listed{};          // what the kernel lists for the interface
  base::Time lists_at = base::kNever;  // when it is read again; kNever: the interface has no lists
  bool lan_link = false;
  std::uint32_t lan_speed_mbps = 0;  // 0: not known
  bool is_lan_full_duplex = true;
  lan::MacAddress lan_mac{};  // of the LAN NIC; zero: not known yet
  std::uint32_t lan_mtu = 0;  // 0: not known yet
  std::uint32_t queues = 1;   // of the I/O unit
  std::optional<lan::MacAddress> refused_mac{};
  std::string refused_mac_text{};         // why, in words
  bool is_mtu_refused = false;            // the last that was requested
  bool is_promiscuous_refused = false;    // reported once, whatever connections follow
  bool is_unicast_refused = false;        // that of user.filter, on this connection
  bool is_unicast_refusal_known = false;  // since the user has set it, or the unit has taken it
  // Unicast addresses of `listed` that were refused. They are reported once, too.
  std::optional<std::vector<lan::MacAddress>> refused_listed{};
  base::Time init_at{};              // not before: INIT_NIC was refused
  base::Time mac_at = base::kNever;  // when the refused MAC is requested again
  base::Time filter_at{};            // when refused promiscuous mode is requested again
  base::Time listed_at{};            // the same of refused_listed
  // The open request.
  std::uint16_t sent_vlan = 0;  // that it adds or removes
  std::uint16_t sent_pvid = 0;
  std::uint32_t sent_queues = 0;
  std::uint32_t sent_offloads = 0;
  messaging::Coalescing sent_coalescing{};
  messaging::QosMap sent_qos{};
  FilterSetting sent_filter{};
  std::vector<lan::MacAddress> sent_listed{};  // of sent_filter: what the kernel lists
  lan::PortState sent{};  // `wanted` when it was sent, with is_started_wanted() as admin_up
  base::Time sent_at{};

  bool is_configured() const { return phase == SyncPhase::kConfigured; }
  bool may_set() const { return phase == SyncPhase::kSync || phase == SyncPhase::kConfigured; }
  bool is_started_wanted() const { return wanted.admin_up && !is_held_down; }
  std::uint32_t offloads_wanted() const {
    return lan::offloads_in_force(features & ~user.offloads_off);
  }
  // Of the queues of the I/O unit, how many the host uses; the user may have limited them.
  std::uint32_t queues_used() const {
    const std::uint32_t limit = user.queues.value();
    return limit == 0 ? queues : std::min(limit, queues);
  }
  // The interface is like this now.
  void take_interface(const lan::PortState& now);
  // The step that is due is sent now.
  void on_send(base::Time now) {
    sent = wanted;
    sent.admin_up = is_started_wanted();
    sent_at = now;
    sent_filter = filter_to_send(now);
    sent_listed = requests_listed(now) ? listed.unicast : std::vector<lan::MacAddress>();
    sent_vlan = user.vlans.to_add().value_or(user.vlans.to_remove().value_or(0));
    sent_pvid = user.vlans.pvid().requested();
    sent_queues = user.queues.requested();
    sent_offloads = offloads_wanted();
    sent_coalescing = user.coalescing.requested();
    sent_qos = user.qos.requested();
  }
  // The NIC was reset: everything is sent once more.
  void begin_settings() {
    phase = SyncPhase::kSync;
    acknowledged = {};
    acknowledged.offloads = features;
    begin_user_settings();
  }
  void begin_user_settings() {
    user.begin();
    is_unicast_refused = false;
  }
  // The filter, nic_filter.cc: all that is wanted; what is requested now, without what was refused
  // lately; and, with these lists of the user, what the I/O unit is known to permit.
  FilterSetting filter_at_best() const { return filter_to_send(base::kNever); }
  FilterSetting filter_to_send(base::Time now) const;
  FilterSetting filter_permitted(const UserFilter& lists) const;
  bool requests_listed(base::Time now) const;
  bool is_promiscuous_wanted(bool has_listed) const;
  base::Time filter_deadline() const;
  // A mode or list that was refused and is no longer wanted is reported again when it is wanted
  // again. REQUIRES that `listed` is as new as `wanted`.
  void end_refusals();
  // Our settings that the I/O unit should have, once INIT_NIC has turned all offloads on.
  messaging::NicState wanted_state() const;
  // Those that it has, once configured: some offloads may be off since.
  messaging::NicState settings() const;
  // Returns why the I/O unit has not taken what the interface had in `asked`, by its last reply to
  // SET_MAC, SET_MTU or SET_FILTER; none: it has.
  std::optional<std::string> refusal_of(messaging::CfgCode code, const lan::PortState& asked) const;
  // Of the MAC address that the interface has.
  std::optional<std::string> mac_refusal() const {
    return refusal_of(messaging::CfgCode::kSetMac, wanted);
  }
  // Makes a refused value due now, and not only when its time has come.
  void request_again(messaging::CfgCode code);
  // The LAN has this MTU. Less than every IPv4 host accepts is ignored: a unit could take IPv6, or
  // all, off the interface with it [M-20].
  void set_lan_mtu(std::uint32_t mtu) {
    if (mtu >= lan::kRequestedMtuMin) lan_mtu = mtu;
  }
  // A connection begins: nothing is acknowledged.
  void begin();
  // Returns when a step becomes due by time alone.
  base::Time deadline() const;
};

// Work of the owner after a reply.
struct SyncEffect {
  std::optional<lan::MacAddress> lan_mac{};  // give the interface this address
  bool is_lan_mtu_known = false;             // bring the interface to the LAN's MTU
  bool are_features_known = false;           // limit the interface to the offloads granted
  std::optional<std::string> warning{};      // for the log
};

struct SyncStep {
  messaging::CfgCode code;
  bool (*is_due)(const NicSync& sync, base::Time now);
  std::string (*encode)(const NicSync& sync);
  // REQUIRES a reply; a request without one changes nothing and stays due.
  SyncEffect (*on_reply)(NicSync& sync, const messaging::CfgReply& reply);
};

std::span<const SyncStep> sync_steps();
// Returns the first step that is due, or null if none is.
const SyncStep* next_step(const NicSync& sync, base::Time now);

}  // namespace splitnic::host
