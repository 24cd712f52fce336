// NicRun: what the host knows of its NIC and what the I/O unit replies, as rows of the report.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "control/config/values.h"
#include "host_module/nic_list.h"
#include "host_module/nic_run.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::host {

namespace cfg = messaging::cfg;
using messaging::CfgCode;

namespace {

// The texts of all of them with a space between two; `of_none` if there are none.
template <class Item, class TextOf>
std::string list_of(const std::vector<Item>& items, TextOf text_of, std::string_view of_none) {
  std::string out;
  for (const Item& item : items) {
    if (!out.empty()) out += ' ';
    out += text_of(item);
  }
  return out.empty() ? std::string(of_none) : out;
}

std::string list_of(const std::vector<std::uint16_t>& ids) {
  return list_of(
      ids, [](std::uint16_t id) { return std::to_string(id); }, "all");
}

std::string list_of(const std::vector<lan::MacAddress>& macs) {
  return list_of(macs, control::mac_text, "none");
}

decltype(NicReport::rows) filter_rows(const NicSync& nic) {
  return {
      {nic.is_unicast_refused ? "Unicast, refused" : "Unicast", list_of(nic.user.filter.unicast)},
      {"Multicast", list_of(nic.user.filter.multicast)},
      {"Other groups", std::string(nic.user.filter.all_multicast ? "yes" : "no")},
      {"Unicast of the interface", list_of(nic.listed.unicast)},
      {"Multicast of the interface", list_of(nic.listed.multicast)}};
}

}  // namespace

// Returns false if the data is malformed.
bool NicRun::report(const Step& step, const std::string& data) {
  switch (step.code) {
    case CfgCode::kGetLink: {
      cfg::GetLinkReply reply;
      if (!reply.ParseFromString(data)) return false;
      const std::uint32_t speed = reply.link().speed_mbps();
      report_.rows.emplace_back("Speed", speed == 0 ? "Unknown!" : std::to_string(speed) + "Mb/s");
      report_.rows.emplace_back("Duplex",
                                std::string(reply.link().full_duplex() ? "Full" : "Half"));
      report_.rows.emplace_back("Link detected", reply.link().up());
      return true;
    }
    case CfgCode::kGetMac: {
      cfg::GetMacReply reply;
      if (!reply.ParseFromString(data)) return false;
      lan::MacAddress mac{};
      if (!reply.mac().empty() && reply.mac().size() != mac.size()) return false;
      std::memcpy(mac.data(), reply.mac().data(), reply.mac().size());
      report_.rows.emplace_back("Address at the I/O unit",
                                reply.mac().empty() ? "none" : control::mac_text(mac));
      return true;
    }
    case CfgCode::kGetVersion: {
      cfg::GetVersionReply reply;
      if (!reply.ParseFromString(data)) return false;
      report_.rows.emplace_back("firmware-version", reply.program() + ", protocol " +
                                                        std::to_string(reply.version()) + " of " +
                                                        std::to_string(reply.version_highest()));
      report_.rows.insert(report_.rows.end(), {{"expansion-rom-version", std::string()},
                                               {"bus-info", program_.unit},
                                               {"supports-statistics", true},
                                               {"supports-test", false},
                                               {"supports-eeprom-access", false},
                                               {"supports-register-dump", false},
                                               {"supports-priv-flags", false}});
      return true;
    }
    case CfgCode::kListNics:
      return add_nics(data, report_);
    case CfgCode::kQueryStats: {
      cfg::QueryStatsReply reply;
      if (!reply.ParseFromString(data)) return false;
      constexpr int kGroupsMax = 16;  // each is a request
      for (int i = 0; i < std::min(reply.groups_size(), kGroupsMax); ++i) {
        steps_.push_back({CfgCode::kGetStats, group_data(reply.groups(i))});
      }
      return true;
    }
    case CfgCode::kGetStats: {
      cfg::GetStatsReply reply;
      if (!reply.ParseFromString(data)) return false;
      for (const cfg::Counter& counter : reply.counters()) {
        report_.add(counter.name(), counter.value());
      }
      return true;
    }
    default:
      return true;
  }
}

// Reports the interface and what the I/O unit granted, for which no request is needed.
void NicRun::report_known(Host& host) {
  const NicSync& nic = host.nic().sync();
  switch (request_.kind) {
    case Kind::kLink:
      report_.heading = "Settings for " + program_.interface;
      return;
    case Kind::kDriver:
      report_.indent.clear();
      report_.rows = {{"driver", std::string("splitnic")}, {"version", program_.version}};
      return;
    case Kind::kAddress:
      report_.indent.clear();
      report_.rows = {{"Permanent address", control::mac_text(nic.lan_mac)}};
      return;
    case Kind::kChannels:
      report_.heading = "Channel parameters for " + program_.interface;
      report_.channels = {nic.queues, 0};
      return;
    case Kind::kRings:
      report_.heading = "Ring parameters for " + program_.interface;
      report_.rings.emplace();
      return;
    case Kind::kFeatures: {
      report_.heading = "Features for " + program_.interface;
      const std::uint32_t in_force = nic.offloads_wanted();
      for (const control::Feature& feature : control::nic_features()) {
        const bool is_granted = (nic.features & feature.bit) != 0;
        report_.rows.emplace_back(std::string(feature.name),
                                  std::string((in_force & feature.bit) != 0 ? "on"
                                              : is_granted                  ? "off"
                                                                            : "off [fixed]"));
      }
      return;
    }
    case Kind::kStatistics:
      report_.heading = "NIC statistics";
      report_.indent = "     ";
      return;
    case Kind::kVlans: {
      const std::uint16_t pvid = nic.user.vlans.pvid().value();
      report_.heading = "VLANs of " + program_.interface;
      report_.rows = {{"Listed", list_of(nic.user.vlans.list())},
                      {"Access VLAN", pvid == 0 ? "none" : std::to_string(pvid)}};
      if (const auto refused = nic.user.vlans.refused(); !refused.empty()) {
        report_.rows.emplace_back("Refused", list_of(refused));
      }
      return;
    }
    case Kind::kFilter:
      report_.heading = "Filter of " + program_.interface;
      report_.rows = filter_rows(nic);
      return;
    case Kind::kCoalescing:
      return report_coalescing(nic.user.coalescing.value());
    case Kind::kQos: {
      report_.heading = "Service levels of " + program_.interface;
      const messaging::QosMap wanted = nic.user.qos.value();
      const messaging::QosMap map =
          messaging::QosQueues::in_force(wanted, host.connection()->levels());
      add_levels("pcp ", map.priorities, wanted.priorities);
      add_levels("dscp ", map.code_points, wanted.code_points);
      return;
    }
    default:
      return;
  }
}

void NicRun::report_coalescing(const messaging::Coalescing& coalescing) {
  report_.heading = "Coalesce parameters for " + program_.interface;
  report_.rows = {{"Adaptive RX", std::string(coalescing.is_adaptive ? "on" : "off")},
                  {"rx-usecs", std::uint64_t{coalescing.microseconds}},
                  {"rx-frames", std::uint64_t{coalescing.frames}},
                  {"rx-bytes", std::uint64_t{coalescing.bytes}}};
}

// One row per frame class with a level, and whether a queue of the connection has it.
void NicRun::add_levels(const std::string& of, std::span<const std::uint8_t> in_force,
                        std::span<const std::uint8_t> wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == messaging::QosMap::kNone) continue;
    const bool is_in_force = in_force[i] == wanted[i];
    report_.rows.emplace_back(of + std::to_string(i),
                              std::to_string(wanted[i]) + (is_in_force ? "" : " [not in force]"));
  }
}

}  // namespace splitnic::host
