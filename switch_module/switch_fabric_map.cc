#include "switch_module/switch_fabric_map.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

namespace splitnic::fabric_switch {
namespace {

using fabric::Lid;
using fabric::PortLoads;
using fabric::PortPlace;
using fabric::SmpNode;

control::FabricMap::Place shown(const PortPlace& place, const PortLoads::CellsPerSecond& loads) {
  const auto load = loads.find(place);
  return {place.of_switch, place.port,
          load == loads.end() ? std::nullopt : std::optional(load->second)};
}

// The state of the link at a port whose neighbour has this LID in the file.
std::string_view state_at(const fabric::SubnetView::Reports& found, const PortPlace& place,
                          Lid expected) {
  const auto report = found.find(place.of_switch);
  if (report == found.end()) return "unknown";
  const auto ports = report->second.used_ports();
  const auto at = std::ranges::find(ports, place.port, &SmpNode::PortInfo::number);
  if (at == ports.end() || at->state == SmpNode::PortState::kDown) return "down";
  if (at->lid != expected) return "refused";
  if (at->state == SmpNode::PortState::kUnset) return "no LID";
  return at->state == SmpNode::PortState::kHeld ? "held" : "up";
}

// A cable is as its worse end: a switch that is silent knows nothing of its end.
std::string_view worse(std::string_view a, std::string_view b) {
  constexpr std::array<std::string_view, 5> kFromBest{"up", "unknown", "held", "down", "refused"};
  const auto rank = [&](std::string_view state) { return std::ranges::find(kFromBest, state); };
  return rank(a) < rank(b) ? b : a;
}

}  // namespace

control::FabricMap map_of(const fabric::Topology& file, const fabric::SubnetView::Reports& found,
                          const fabric::NodeSetup::Programs& programs,
                          const PortLoads::CellsPerSecond& loads, const std::string& manager) {
  control::FabricMap out;
  out.manager = manager;
  std::map<std::string_view, Lid> lids;
  for (const auto& one : file.switches) {
    lids[one.name] = one.lid;
    out.switches.push_back({one.name, one.lid.value, found.contains(one.name) ? "up" : "silent"});
  }
  for (const auto& one : file.nodes) {
    const auto program = programs.find(one.at);
    out.nodes.push_back({one.name, one.lid.value, shown(one.at, loads),
                         std::string(state_at(found, one.at, one.lid)), one.lids().count(),
                         program == programs.end() ? std::string() : program->second});
  }
  for (const auto& one : file.cables) {
    const auto a = state_at(found, one.a, lids.at(one.b.of_switch));
    const auto b = state_at(found, one.b, lids.at(one.a.of_switch));
    out.cables.push_back({shown(one.a, loads), shown(one.b, loads), std::string(worse(a, b))});
  }
  return out;
}

}  // namespace splitnic::fabric_switch
