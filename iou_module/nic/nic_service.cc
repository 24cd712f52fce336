#include "iou_module/nic/nic_service.h"

#include <algorithm>
#include <string>

#include "base/log.h"
#include "control/config/version.h"
#include "iou_module/nic/cfg_data.h"
#include "iou_module/nic/nic_stats.h"
#include "lan_bridge/frame/mtu.h"
#include "messaging/cfgutil/cfgutil.pb.h"
#include "messaging/cfgutil/echo.h"

namespace splitnic::iou {
namespace {

namespace cfg = messaging::cfg;
using messaging::CfgCode;
using messaging::CfgReply;
using messaging::CfgRequest;
using messaging::CfgStatus;

bool has_no_fields(CfgCode code) {
  switch (code) {
    case CfgCode::kGetMac:
    case CfgCode::kStart:
    case CfgCode::kStop:
    case CfgCode::kReset:
    case CfgCode::kQueryStats:
    case CfgCode::kGetLink:
    case CfgCode::kGetVersion:
    case CfgCode::kGetState:
    case CfgCode::kListNics:
      return true;
    default:
      return false;
  }
}
// `Reply` has a field for the reason.
template <class Reply>
CfgReply not_permitted(Refusal why) {
  static_assert(static_cast<int>(Refusal::kOfAnotherHost) == cfg::OF_ANOTHER_HOST &&
                static_cast<int>(Refusal::kPromiscuous) == cfg::PROMISCUOUS);
  Reply reply;
  reply.set_refusal(static_cast<cfg::Refusal>(why));
  return {CfgStatus::kNotPermitted, reply.SerializeAsString()};
}
std::string bytes(const lan::MacAddress& mac) {
  return {reinterpret_cast<const char*>(mac.data()), mac.size()};
}
std::optional<lan::MacAddress> mac_of(const std::string& field) {
  lan::MacAddress mac;
  if (field.size() != mac.size()) return std::nullopt;
  std::ranges::transform(field, mac.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
  return mac;
}
bool is_usable(const lan::MacAddress& mac) {
  return !lan::is_multicast(mac) && std::ranges::any_of(mac, [](std::uint8_t b) { return b != 0; });
}

// Reads a list of addresses. Returns false if one of them is not valid. A list that is too long
// sets `overflow`.
template <class List, class Check>
bool read_list(const List& from, Check is_good, std::vector<lan::MacAddress>& to, bool& overflow) {
  to.clear();
  overflow = static_cast<std::size_t>(from.size()) > Filter::kEntriesMax;
  for (const std::string& field : from) {
    const auto mac = mac_of(field);
    if (!mac || !is_good(*mac)) return false;
    if (!overflow) to.push_back(*mac);
  }
  std::ranges::sort(to);
  to.erase(std::unique(to.begin(), to.end()), to.end());
  return true;
}

}  // namespace

CfgReply NicService::serve(AttachedHost& host, const CfgRequest& request) {
  CfgReply reply = carry_out(host, request);
  base::log_debug("host " + host.identity().name() + ": " + std::string(name(request.code)) + ": " +
                  std::string(name(reply.status)));
  return reply;
}

CfgReply NicService::carry_out(AttachedHost& host, const CfgRequest& request) {
  if (cfg::StartRequest none; has_no_fields(request.code) && !parse(request, none))
    return refuse(CfgStatus::kBadValue);
  return (static_cast<std::uint32_t>(request.code) >> 16) == 1 ? mac_config(host, request)
                                                               : utility(host, request);
}

CfgReply NicService::mac_config(AttachedHost& host, const CfgRequest& request) {
  switch (request.code) {
    case CfgCode::kInitNic:
      return init_nic(host, request);
    case CfgCode::kSetMac:
      return set_mac(host, request);
    case CfgCode::kGetMac: {
      cfg::GetMacReply reply;
      if (host.nic().mac) reply.set_mac(bytes(*host.nic().mac));
      return ok(reply);
    }
    case CfgCode::kSetFilter:
      return set_filter(host, request);
    case CfgCode::kSetMtu:
      return set_mtu(host, request);
    case CfgCode::kStart:
      if ((host.nic().granted & lan::kOffloadVnet) == 0) return refuse(CfgStatus::kNotPermitted);
      if (policy_.ownership.is_exclusive && host.asks_any_nic())
        return refuse(CfgStatus::kNotPermitted);
      host.set_started(true);
      hosts_.on_started(host);
      return {};
    case CfgCode::kStop:
      host.set_started(false);
      return {};
    case CfgCode::kReset:
      reset(host);
      return {};
    case CfgCode::kVlanAdd:
    case CfgCode::kVlanDel:
    case CfgCode::kSetPvid:
      return vlan(host, request);
    case CfgCode::kSetOffloads: {
      cfg::SetOffloadsRequest ask;
      if (!parse(request, ask)) return refuse(CfgStatus::kBadValue);
      host.nic().features = lan::offloads_in_force(
          (static_cast<std::uint32_t>(ask.mask()) | lan::kOffloadVnet) & host.nic().granted);
      cfg::SetOffloadsReply reply;
      reply.set_mask(host.nic().features);
      return ok(reply);
    }
    case CfgCode::kSetQueues:
      return set_queues(host, request);
    case CfgCode::kSetCoalesce:
      return set_coalesce(host, request);
    case CfgCode::kSetQos:
      return set_qos(host, request);
    default:
      return refuse(CfgStatus::kUnknown);
  }
}

// Negotiates offloads; all other settings stay, because a host that reconnects sends GET_STATE
// next.
CfgReply NicService::init_nic(AttachedHost& host, const CfgRequest& request) {
  cfg::InitNicRequest ask;
  if (!parse(request, ask)) return refuse(CfgStatus::kBadValue);
  // Every frame carries the virtio-net header; a host that does not support it cannot be served.
  if ((ask.features_wanted() & lan::kOffloadVnet) == 0) return refuse(CfgStatus::kBadValue);
  const lan::PortState state = lan_.state();
  host.nic().granted =
      lan::offloads_in_force(static_cast<std::uint32_t>(ask.features_wanted()) &
                             (lan::kOffloadChecksum | lan::kOffloadTso4 | lan::kOffloadTso6 |
                              lan::kOffloadUso | lan::kOffloadVlan | lan::kOffloadVnet));
  host.nic().features = host.nic().granted;
  host.nic().follow_lan_mtu(state.mtu);
  cfg::InitNicReply reply;
  reply.set_mac(bytes(state.mac));
  reply.set_mtu(state.mtu);
  reply.set_mtu_min(lan::kRequestedMtuMin);
  reply.set_mtu_max(state.mtu);
  reply.mutable_link()->set_up(state.link_up);
  reply.mutable_link()->set_speed_mbps(state.speed_mbps);
  reply.mutable_link()->set_full_duplex(state.full_duplex);
  reply.set_features_granted(host.nic().features);
  reply.set_filter_entries_max(Filter::kEntriesMax);
  reply.set_queues_max(queues_of(host));
  return ok(reply);
}

std::uint32_t NicService::queues_of(const AttachedHost& host) const {
  return std::min(policy_.queues, host.rights().queues_max);
}

CfgReply NicService::set_mac(AttachedHost& host, const CfgRequest& request) {
  cfg::SetMacRequest ask;
  if (!parse(request, ask)) return refuse(CfgStatus::kBadValue);
  const auto mac = mac_of(ask.mac());
  if (!mac || !is_usable(*mac)) return refuse(CfgStatus::kBadValue);
  NicSettings wanted = host.nic();
  wanted.mac = mac;
  if (const auto why = check_settings(host, wanted)) return not_permitted<cfg::SetMacReply>(*why);
  host.nic().mac = mac;
  hosts_.give(*mac, host);
  cfg::SetMacReply reply;
  reply.set_mac(bytes(*mac));
  return ok(reply);
}

CfgReply NicService::set_filter(AttachedHost& host, const CfgRequest& request) {
  cfg::SetFilterRequest ask;
  if (!parse(request, ask) || has_bad_type(ask.filter())) return refuse(CfgStatus::kBadValue);
  const cfg::Filter& f = ask.filter();
  Filter wanted;
  bool many_unicast = false;
  bool many_multicast = false;
  if (!read_list(f.unicast(), is_usable, wanted.unicast, many_unicast) ||
      !read_list(f.multicast(), lan::is_multicast, wanted.multicast, many_multicast)) {
    return refuse(CfgStatus::kBadValue);
  }
  // A list that is too long is not widened to everything. [H-2]
  if (many_unicast) {
    host.stats().count(AttachedHostCounter::kRefusedAddress);
    return not_permitted<cfg::SetFilterReply>(Refusal::kTooMany);
  }
  wanted.promiscuous = f.promiscuous();
  wanted.all_multicast = f.all_multicast() || many_multicast;
  wanted.no_unicast = f.no_unicast();
  wanted.no_multicast = f.no_multicast();
  wanted.no_broadcast = f.no_broadcast();
  NicSettings settings = host.nic();
  settings.filter = wanted;
  if (const auto why = check_settings(host, settings))
    return not_permitted<cfg::SetFilterReply>(*why);
  for (const lan::MacAddress& mac : wanted.unicast) hosts_.give(mac, host);
  host.nic().filter = wanted;
  cfg::SetFilterReply reply;
  cfg::Filter& force = *reply.mutable_in_force();
  force = f;
  force.set_all_multicast(wanted.all_multicast);
  if (many_multicast) force.clear_multicast();
  return ok(reply);
}

CfgReply NicService::set_mtu(AttachedHost& host, const CfgRequest& request) {
  cfg::SetMtuRequest ask;
  if (!parse(request, ask)) return refuse(CfgStatus::kBadValue);
  if (ask.mtu() < lan::kRequestedMtuMin || ask.mtu() > lan::kLanMtuMax)
    return refuse(CfgStatus::kBadValue);
  if (policy_.mtu_follows && !mtu_.request(ask.mtu(), host, hosts_.time())) {
    return refuse(CfgStatus::kDeviceError);
  }
  host.nic().mtu_wanted = ask.mtu();
  host.nic().follow_lan_mtu(lan_.state().mtu);
  cfg::SetMtuReply reply;
  reply.set_mtu(host.nic().mtu);
  return ok(reply);
}

CfgReply NicService::vlan(AttachedHost& host, const CfgRequest& request) {
  cfg::VlanAddRequest ask;  // the three requests have the same one field
  if (!parse(request, ask) || ask.vlan_id() > VlanRules::kIdMax)
    return refuse(CfgStatus::kBadValue);
  const auto id = static_cast<std::uint16_t>(ask.vlan_id());
  const VlanLimit& limit = host.allowance().vlans();
  const bool is_permitted = request.code == CfgCode::kSetPvid   ? limit.may_set_pvid(id)
                            : request.code == CfgCode::kVlanAdd ? limit.may_use(id)
                                                                : true;
  if (!is_permitted) {
    host.stats().count(AttachedHostCounter::kRefusedVlan);
    return refuse(CfgStatus::kNotPermitted);
  }
  NicSettings& nic = host.nic();
  if (request.code == CfgCode::kVlanAdd) nic.vlans.add(id);
  if (request.code == CfgCode::kVlanDel) nic.vlans.remove(id);
  if (request.code == CfgCode::kSetPvid) {
    nic.vlans.set_pvid(id);
    nic.is_pvid_chosen = true;
  }
  return {};
}

// Restores the power-on values; the offloads that INIT_NIC granted stay granted.
void NicService::reset(AttachedHost& host) {
  NicSettings fresh;
  fresh.granted = fresh.features = host.nic().granted;
  fresh.follow_lan_mtu(lan_.state().mtu);
  fresh.vlans.set_pvid(host.allowance().vlans().pvid_default());
  host.set_started(false);
  host.nic() = fresh;
  host.tx().on_settings();
}

CfgReply NicService::utility(AttachedHost& host, const CfgRequest& request) {
  switch (request.code) {
    case CfgCode::kGetStats:
      return get_stats(host, request);
    case CfgCode::kQueryStats: {
      cfg::QueryStatsReply reply;
      for (const std::string_view group : kStatsGroups) reply.add_groups(std::string(group));
      return ok(reply);
    }
    case CfgCode::kClearStats: {
      cfg::ClearStatsRequest ask;
      const bool is_good = parse(request, ask) && clear_stats(host, ask.group());
      return is_good ? CfgReply{} : refuse(CfgStatus::kBadValue);
    }
    case CfgCode::kGetLink: {
      const lan::PortState state = lan_.state();
      cfg::GetLinkReply reply;
      reply.mutable_link()->set_up(state.link_up);
      reply.mutable_link()->set_speed_mbps(state.speed_mbps);
      reply.mutable_link()->set_full_duplex(state.full_duplex);
      return ok(reply);
    }
    case CfgCode::kEcho:
      return messaging::reply_to_echo(request.data);
    case CfgCode::kGetVersion: {
      cfg::GetVersionReply reply;
      reply.set_version(messaging::kMessageVersion);
      reply.set_version_highest(messaging::kMessageVersion);
      reply.set_program(control::version_text("splitnic-iou"));
      return ok(reply);
    }
    case CfgCode::kGetState: {
      cfg::GetStateReply reply;
      reply.set_digest(host.nic().state().digest());
      return ok(reply);
    }
    case CfgCode::kListNics:
      return list_nics(host);
    default:
      return refuse(CfgStatus::kUnknown);
  }
}

// The host learns nothing of NICs that its rights do not name.
CfgReply NicService::list_nics(const AttachedHost& host) {
  cfg::ListNicsReply reply;
  for (const ListedNic& nic : nics_for_(host)) {
    cfg::ListedNic& listed = *reply.add_nics();
    listed.set_number(nic.number);
    listed.set_mac(bytes(nic.state.mac));
    listed.set_mtu(nic.state.mtu);
    listed.mutable_link()->set_up(nic.state.link_up);
    listed.mutable_link()->set_speed_mbps(nic.state.speed_mbps);
    listed.mutable_link()->set_full_duplex(nic.state.full_duplex);
    listed.set_in_use(nic.is_in_use);
  }
  return ok(reply);
}

CfgReply NicService::get_stats(AttachedHost& host, const CfgRequest& request) {
  cfg::GetStatsRequest ask;
  if (!parse(request, ask)) return refuse(CfgStatus::kBadValue);
  cfg::GetStatsReply reply;
  const bool is_known =
      visit_stats(host, ask.group(), [&](std::string_view name, std::uint64_t value) {
        cfg::Counter& counter = *reply.add_counters();
        counter.set_name(std::string(name));
        counter.set_value(value);
      });
  return is_known ? ok(reply) : refuse(CfgStatus::kBadValue);
}

}  // namespace splitnic::iou
