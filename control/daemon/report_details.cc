#include "control/daemon/report_details.h"

#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "control/config/nic_request.h"
#include "control/config/version.h"
#include "control/sandbox/sandbox.h"
#include "fabric_emul/link/link_refusal.h"
#include "messaging/cfgutil/qos_map.h"

namespace splitnic::control {
namespace {

std::string joined(const std::string& list, const std::string& word) {
  return list.empty() ? word : list + " " + word;
}

std::string offloads_text(std::uint64_t bits) {
  std::string out;
  for (const Feature& feature : nic_features()) {
    if ((bits & feature.bit) != 0) out = joined(out, std::string(feature.name));
  }
  return out.empty() ? "none" : out;
}

std::string filter_text(const messaging::NicState& nic) {
  if (nic.promiscuous) return "promiscuous";
  std::string out = std::to_string(nic.unicast.size()) + " more addresses, ";
  if (nic.no_multicast)
    out += "no groups";
  else
    out += nic.all_multicast ? "all groups" : std::to_string(nic.multicast.size()) + " groups";
  if (nic.no_unicast) out += ", no unicast";
  if (nic.no_broadcast) out += ", no broadcasts";
  return out;
}

std::string vlans_text(const std::vector<std::uint16_t>& ids) {
  constexpr std::size_t kListed = 16;
  if (ids.size() > kListed) return std::to_string(ids.size()) + " of them";
  std::string out;
  for (const std::uint16_t id : ids) out = joined(out, std::to_string(id));
  return out.empty() ? "all" : out;
}

std::string coalescing_text(const messaging::Coalescing& value) {
  if (value.microseconds == 0) return "off";
  std::string out = std::to_string(value.microseconds) + " us";
  if (value.frames > 0) out += ", " + std::to_string(value.frames) + " frames";
  if (value.bytes > 0) out += ", " + std::to_string(value.bytes) + " bytes";
  return out + (value.is_adaptive ? ", adaptive" : "");
}

std::string levels_text(std::string out, const char* of, std::span<const std::uint8_t> levels) {
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] == messaging::QosMap::kNone) continue;
    out = joined(out, of + std::to_string(i) + "=" + std::to_string(levels[i]));
  }
  return out;
}

std::string node_text(fabric::Eui64 node) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%016llx", static_cast<unsigned long long>(node.value));
  return out.data();
}

}  // namespace

Details program_details(const CommonOptions& common, bool is_up) {
  Details out;
  out.emplace_back("sandbox", is_up && sandbox::kIsBuilt && common.is_sandboxed);
  out.emplace_back("control_socket", common.control_path);
  out.emplace_back("service_level", std::uint64_t{common.pair.sl});
  if (!common.capture_path.empty()) out.emplace_back("capture", common.capture_path);
  return out;
}

Snapshot program_snapshot(const std::string& role, const CommonOptions& common, SnapshotParts parts,
                          bool is_up) {
  Snapshot s;
  s.role = role;
  s.name = common.name();
  s.program = version_text("splitnic-" + role);
  s.aead = common.keys.aead_name();
  s.state = "connecting";
  if (parts.has_details) s.details = program_details(common, is_up);
  return s;
}

Details nic_details(const messaging::NicState& nic) {
  Details out;
  if (nic.mtu != 0) out.emplace_back("mtu", std::uint64_t{nic.mtu});
  out.emplace_back("offloads", offloads_text(nic.offloads));
  out.emplace_back("filter", filter_text(nic));
  out.emplace_back("vlans", vlans_text(nic.vlans));
  if (nic.pvid != 0) out.emplace_back("access_vlan", std::uint64_t{nic.pvid});
  out.emplace_back("coalescing", coalescing_text(nic.coalescing));
  const std::string levels =
      levels_text(levels_text("", "pcp", nic.qos.priorities), "dscp", nic.qos.code_points);
  if (!levels.empty()) out.emplace_back("service_levels", levels);
  return out;
}

Details link_details(const fabric::Link& link) {
  Details out;
  out.emplace_back("profile", std::string(fabric::name(link.profile())));
  out.emplace_back("datagram_bytes", std::uint64_t{link.stride()});
  out.emplace_back("narrowed", link.is_path_narrowed());
  out.emplace_back("lid", std::uint64_t{link.local_lid().value});
  out.emplace_back("peer_lid", std::uint64_t{link.remote_lid().value});
  out.emplace_back("paths", std::uint64_t{link.paths()});
  out.emplace_back("peer_node", node_text(link.peer_eui64()));
  return out;
}

std::string refusal_of(const fabric::Link& link) {
  if (link.refusal() == fabric::InitReason::kNone) return "";
  return "the link is refused: " + fabric::link_refusal(link.refusal(), fabric::LinkEnds::kNodes);
}

}  // namespace splitnic::control
