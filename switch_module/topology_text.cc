#include "switch_module/topology_text.h"

#include <string_view>

namespace splitnic::fabric_switch {
namespace {

std::string place_text(const fabric::PortPlace& place) {
  return place.of_switch + ":" + std::to_string(place.port);
}

// A name with a dot would be a path of tables.
std::string table_head(std::string_view tables, const std::string& name) {
  std::string text = "[";
  text += tables;
  text += name.find('.') == std::string::npos ? "." + name : ".\"" + name + "\"";
  return text + "]\n";
}

std::string lid_text(const fabric::Lid& lid) { return "lid = " + std::to_string(lid.value) + "\n"; }

}  // namespace

std::string topology_text(const fabric::Topology& topology) {
  std::string text = "routing = \"" + std::string(fabric::name(topology.routing)) + "\"\n";
  if (topology.tables_per != fabric::TablesPer::kSwitch) {
    text += "tables = \"" + std::string(fabric::name(topology.tables_per)) + "\"\n";
  }
  const bool has_lids = topology.lids_from == fabric::GivenBy::kFile;
  if (!has_lids) text += "lids = \"" + std::string(fabric::name(topology.lids_from)) + "\"\n";
  if (topology.policy_from != fabric::GivenBy::kFile) {
    text += "policy = \"" + std::string(fabric::name(topology.policy_from)) + "\"\n";
  }
  text += "cables = [\n";
  for (const fabric::Topology::Cable& cable : topology.cables) {
    text += "  \"" + place_text(cable.a) + " - " + place_text(cable.b) + "\",\n";
  }
  text += "]\n";
  for (const fabric::Topology::Switch& one : topology.switches) {
    text += table_head("switches", one.name) + lid_text(one.lid);
  }
  for (const fabric::Topology::Node& node : topology.nodes) {
    text += table_head("nodes", node.name);
    if (has_lids) text += lid_text(node.lid);
    text += "at = \"" + place_text(node.at) + "\"\n";
    if (node.lmc != 0) text += "lmc = " + std::to_string(node.lmc) + "\n";
  }
  return text;
}

}  // namespace splitnic::fabric_switch
