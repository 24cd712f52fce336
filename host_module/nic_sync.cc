#include "host_module/nic_sync.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "host_module/nic_filter.h"
#include "host_module/refusal_text.h"
#include "host_module/request_data.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::host {
namespace {

namespace cfg = messaging::cfg;
using messaging::CfgCode;
using messaging::CfgReply;
using messaging::CfgStatus;

constexpr base::Duration kRetryAfter = std::chrono::seconds(1);

std::string nothing(const NicSync&) { return {}; }

bool is_init_due(const NicSync& s, base::Time now) {
  return s.phase == SyncPhase::kInit && now >= s.init_at;
}

std::string encode_init(const NicSync& s) {
  cfg::InitNicRequest request;
  request.set_node_name(s.node_name);
  request.set_features_wanted(s.offloads);
  return request.SerializeAsString();
}

SyncEffect on_init(NicSync& s, const CfgReply& reply) {
  SyncEffect effect;
  cfg::InitNicReply got;
  if (reply.status != CfgStatus::kOk || !got.ParseFromString(reply.data)) {
    const bool is_first = s.init_at == base::Time{};
    s.init_at = s.sent_at + kRetryAfter;
    if (is_first) {
      effect.warning = "the I/O unit refused INIT_NIC: " + std::string(name(reply.status));
    }
    return effect;
  }
  s.phase = SyncPhase::kCompare;
  s.features = static_cast<std::uint32_t>(got.features_granted());
  effect.are_features_known = true;
  s.acknowledged.offloads = s.features;
  s.lan_link = got.link().up();
  s.lan_speed_mbps = got.link().speed_mbps();
  s.is_lan_full_duplex = got.link().full_duplex();
  s.set_lan_mtu(got.mtu_max());
  s.queues = std::max(got.queues_max(), 1U);
  effect.is_lan_mtu_known = true;
  if (got.mac().size() == s.lan_mac.size()) {
    std::memcpy(s.lan_mac.data(), got.mac().data(), s.lan_mac.size());
    if (s.takes_lan_mac) effect.lan_mac = s.lan_mac;
  }
  return effect;
}

bool is_compare_due(const NicSync& s, base::Time) { return s.phase == SyncPhase::kCompare; }

// The I/O unit may know us from before: if it has all of it, nothing is sent. A unit that does not
// know GET_STATE gets everything. Whether the NIC is started is not part of the digest.
SyncEffect on_compare(NicSync& s, const CfgReply& reply) {
  s.phase = SyncPhase::kSync;
  cfg::GetStateReply got;
  if (reply.status == CfgStatus::kOk && got.ParseFromString(reply.data) &&
      got.digest() == s.wanted_state().digest()) {
    s.acknowledged = {s.wanted.mac, s.wanted.mtu, s.filter_at_best(), s.acknowledged.offloads,
                      std::nullopt};
    s.user.vlans.acknowledge_all();
    s.user.queues.acknowledge();
    s.user.coalescing.acknowledge();
    s.user.qos.acknowledge();
  }
  return {};
}

bool is_mac_due(const NicSync& s, base::Time now) {
  return s.may_set() && s.acknowledged.mac != s.wanted.mac &&
         (s.refused_mac != s.wanted.mac || now >= s.mac_at);
}

std::string encode_mac(const NicSync& s) {
  cfg::SetMacRequest request;
  request.set_mac(s.wanted.mac.data(), s.wanted.mac.size());
  return request.SerializeAsString();
}

// A refused address is requested again later: its owner may have left.
SyncEffect on_mac(NicSync& s, const CfgReply& reply) {
  if (reply.status == CfgStatus::kOk) {
    s.acknowledged.mac = s.sent.mac;
    s.refused_mac.reset();
    s.mac_at = base::kNever;
    return {};
  }
  s.mac_at = s.sent_at + kRetryAfter;
  cfg::SetMacReply got;
  const bool has_reason = got.ParseFromString(reply.data);
  s.refused_mac_text = "the I/O unit refused the interface's MAC address: " +
                       refusal_text(has_reason ? got.refusal() : cfg::UNSPECIFIED);
  if (s.refused_mac == s.sent.mac) return {};
  s.refused_mac = s.sent.mac;
  return {.warning = s.refused_mac_text};
}

bool is_mtu_due(const NicSync& s, base::Time) {
  return s.may_set() && s.acknowledged.mtu != s.wanted.mtu;
}

std::string encode_mtu(const NicSync& s) {
  cfg::SetMtuRequest request;
  request.set_mtu(s.wanted.mtu);
  return request.SerializeAsString();
}

// A grant below the request is the LAN's MTU; a full grant shows that the LAN has at least that.
SyncEffect on_mtu(NicSync& s, const CfgReply& reply) {
  s.acknowledged.mtu = s.sent.mtu;
  s.is_mtu_refused = reply.status != CfgStatus::kOk;
  cfg::SetMtuReply got;
  if (reply.status != CfgStatus::kOk || !got.ParseFromString(reply.data) || got.mtu() == 0) {
    return {};
  }
  s.set_lan_mtu(got.mtu() < s.sent.mtu ? got.mtu() : std::max(s.lan_mtu, got.mtu()));
  return {.is_lan_mtu_known = true};
}

std::string encode_filter(const NicSync& s) { return filter_data(s.sent_filter); }

bool are_offloads_due(const NicSync& s, base::Time) {
  return s.may_set() && s.acknowledged.offloads != s.offloads_wanted();
}

std::string encode_offloads(const NicSync& s) {
  cfg::SetOffloadsRequest request;
  request.set_mask(s.sent_offloads);
  return request.SerializeAsString();
}

// A unit that refuses it has no less than it granted: it is not requested again.
SyncEffect on_offloads(NicSync& s, const CfgReply&) {
  s.acknowledged.offloads = s.sent_offloads;
  return {};
}

std::string encode_vlan(std::uint16_t id) {
  cfg::VlanAddRequest request;  // the three requests have the same one field
  request.set_vlan_id(id);
  return request.SerializeAsString();
}

bool is_vlan_add_due(const NicSync& s, base::Time) {
  return s.may_set() && s.user.vlans.to_add().has_value();
}
std::string encode_vlan_add(const NicSync& s) { return encode_vlan(s.sent_vlan); }

SyncEffect refusal(bool is_news, const std::string& what, const CfgReply& reply) {
  if (!is_news) return {};
  return {.warning = "the I/O unit refused " + what + ": " + std::string(name(reply.status))};
}

// A setting of the user that the I/O unit refuses is reported once, and requested again on the next
// connection: the rights may have changed since, and another unit may have others.
template <class Value>
SyncEffect settle(UserSetting<Value>& setting, const Value& sent, const CfgReply& reply,
                  const std::string& what) {
  if (setting.requested() != sent) {  // the user has changed it since: it is due
    setting.begin();
    return {};
  }
  if (reply.status != CfgStatus::kOk) return refusal(setting.refuse(), what, reply);
  setting.acknowledge();
  return {};
}

SyncEffect on_vlan_add(NicSync& s, const CfgReply& reply) {
  if (!s.user.vlans.is_requested(s.sent_vlan)) {  // the user has removed it since
    s.user.vlans.set(s.sent_vlan, false, false);
    return {};
  }
  if (reply.status != CfgStatus::kOk) {
    return refusal(s.user.vlans.on_refused(s.sent_vlan), "VLAN " + std::to_string(s.sent_vlan),
                   reply);
  }
  s.user.vlans.on_added(s.sent_vlan);
  return {};
}

bool is_vlan_del_due(const NicSync& s, base::Time) {
  return s.may_set() && s.user.vlans.to_remove().has_value();
}
std::string encode_vlan_del(const NicSync& s) { return encode_vlan(s.sent_vlan); }
SyncEffect on_vlan_del(NicSync& s, const CfgReply&) {
  if (s.user.vlans.is_requested(s.sent_vlan))
    s.user.vlans.set(s.sent_vlan, true, false);
  else
    s.user.vlans.on_removed(s.sent_vlan);
  return {};
}

bool is_pvid_due(const NicSync& s, base::Time) {
  return s.may_set() && s.user.vlans.pvid().is_due();
}
std::string encode_pvid(const NicSync& s) { return encode_vlan(s.sent_pvid); }
SyncEffect on_pvid(NicSync& s, const CfgReply& reply) {
  return settle(s.user.vlans.pvid(), s.sent_pvid, reply,
                "the access VLAN " + std::to_string(s.sent_pvid));
}

bool are_queues_due(const NicSync& s, base::Time) { return s.may_set() && s.user.queues.is_due(); }
std::string encode_queues(const NicSync& s) { return queues_data(s.sent_queues); }
// The digest has the number that the unit granted.
SyncEffect on_queues(NicSync& s, const CfgReply& reply) {
  cfg::SetQueuesReply got;
  SyncEffect effect = settle(s.user.queues, s.sent_queues, reply, "the number of queues");
  if (s.user.queues.is_due()) return effect;
  if (reply.status == CfgStatus::kOk && got.ParseFromString(reply.data) && got.queues() > 0) {
    s.user.queues.acknowledge_as(got.queues());
  }
  return effect;
}

bool is_coalescing_due(const NicSync& s, base::Time) {
  return s.may_set() && s.user.coalescing.is_due();
}
std::string encode_coalescing(const NicSync& s) { return coalescing_data(s.sent_coalescing); }
SyncEffect on_coalescing(NicSync& s, const CfgReply& reply) {
  return settle(s.user.coalescing, s.sent_coalescing, reply, "coalescing");
}

bool is_qos_due(const NicSync& s, base::Time) { return s.may_set() && s.user.qos.is_due(); }
std::string encode_qos(const NicSync& s) { return qos_data(s.sent_qos); }
SyncEffect on_qos(NicSync& s, const CfgReply& reply) {
  return settle(s.user.qos, s.sent_qos, reply, "the service levels");
}

bool is_start_due(const NicSync& s, base::Time) {
  return s.may_set() && s.is_started_wanted() && s.acknowledged.started != true;
}

bool is_stop_due(const NicSync& s, base::Time) {
  return s.may_set() && !s.is_started_wanted() && s.acknowledged.started != false;
}

SyncEffect on_started(NicSync& s, const CfgReply&) {
  s.acknowledged.started = s.sent.admin_up;
  return {};
}

constexpr auto kSteps = std::to_array<SyncStep>({
    {CfgCode::kInitNic, is_init_due, encode_init, on_init},
    {CfgCode::kGetState, is_compare_due, nothing, on_compare},
    {CfgCode::kSetMac, is_mac_due, encode_mac, on_mac},
    {CfgCode::kSetMtu, is_mtu_due, encode_mtu, on_mtu},
    {CfgCode::kSetFilter, is_filter_due, encode_filter, on_filter},
    {CfgCode::kSetOffloads, are_offloads_due, encode_offloads, on_offloads},
    {CfgCode::kVlanAdd, is_vlan_add_due, encode_vlan_add, on_vlan_add},
    {CfgCode::kVlanDel, is_vlan_del_due, encode_vlan_del, on_vlan_del},
    {CfgCode::kSetPvid, is_pvid_due, encode_pvid, on_pvid},
    {CfgCode::kSetQueues, are_queues_due, encode_queues, on_queues},
    {CfgCode::kSetCoalesce, is_coalescing_due, encode_coalescing, on_coalescing},
    {CfgCode::kSetQos, is_qos_due, encode_qos, on_qos},
    {CfgCode::kStart, is_start_due, nothing, on_started},
    {CfgCode::kStop, is_stop_due, nothing, on_started},
});

}  // namespace

std::span<const SyncStep> sync_steps() { return kSteps; }

const SyncStep* next_step(const NicSync& sync, base::Time now) {
  const auto* const step =
      std::ranges::find_if(kSteps, [&](const SyncStep& s) { return s.is_due(sync, now); });
  return step == kSteps.end() ? nullptr : step;
}

messaging::NicState NicSync::wanted_state() const {
  messaging::NicState state;
  state.mac = wanted.mac;
  const FilterSetting filter = filter_at_best();
  state.promiscuous = filter.promiscuous;
  state.all_multicast = filter.lists.all_multicast;
  state.unicast = filter.lists.unicast;
  state.multicast = filter.lists.multicast;
  state.mtu = wanted.mtu;
  state.offloads = features;
  state.vlans = user.vlans.list();
  state.pvid = user.vlans.pvid().value();
  state.queues = user.queues.value();
  state.coalescing = user.coalescing.value();
  state.qos = user.qos.value();
  return state;
}

messaging::NicState NicSync::settings() const {
  messaging::NicState state = wanted_state();
  state.offloads = offloads_wanted();
  return state;
}

void NicSync::take_interface(const lan::PortState& now) {
  const bool has_lists = lists_at != base::kNever;
  if (has_lists && wanted != now) lists_at = {};  // promiscuous mode may be due to them
  wanted = now;
  if (refused_mac && wanted.mac != *refused_mac) {
    refused_mac.reset();
    mac_at = base::kNever;
  }
  if (!has_lists) end_refusals();
}

std::optional<std::string> NicSync::refusal_of(CfgCode code, const lan::PortState& asked) const {
  switch (code) {
    case CfgCode::kSetMac:
      if (refused_mac == asked.mac) return refused_mac_text;
      return std::nullopt;
    case CfgCode::kSetMtu:
      if (lan_mtu != 0 && lan_mtu < asked.mtu) {
        return "the LAN of the I/O unit has an MTU of " + std::to_string(lan_mtu);
      }
      if (is_mtu_refused) return "the I/O unit refused the interface's MTU";
      return std::nullopt;
    case CfgCode::kSetFilter:
      if (asked.promiscuous && is_promiscuous_refused) return promiscuous_refusal();
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

void NicSync::request_again(CfgCode code) {
  if (code == CfgCode::kSetMac && refused_mac) mac_at = {};
  if (code == CfgCode::kSetFilter) filter_at = {};
}

void NicSync::begin() {
  phase = SyncPhase::kInit;
  acknowledged = {};
  begin_user_settings();
  refused_mac.reset();
  is_mtu_refused = false;
  init_at = {};
  mac_at = base::kNever;
  filter_at = {};
  listed_at = {};
}

base::Time NicSync::deadline() const {
  if (phase == SyncPhase::kInit) return init_at == base::Time{} ? base::kNever : init_at;
  return std::min({acknowledged.mac == wanted.mac ? base::kNever : mac_at, filter_deadline()});
}

}  // namespace splitnic::host
