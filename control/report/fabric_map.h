// The map of a fabric, which `splitnic show topology` prints: switches, nodes and cables of a
// subnet with their states and loads, as values, and their forms: a text for people, JSON
// (docs/CLI.md), the language of Graphviz, and a picture (fabric_map_svg.h). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace splitnic::control {

struct FabricMap {
  struct Place {
    std::string of_switch;
    std::uint64_t port = 0;
    // Of what the switch forwards out of this port. Nothing: it is not known.
    std::optional<std::uint64_t> cells_per_second{};
  };
  struct Switch {
    std::string name;
    std::uint64_t lid = 0;
    std::string state;  // "up" or "silent"
  };
  struct Node {
    std::string name;
    std::uint64_t lid = 0;
    Place at;
    // As of a cable, but for "held"; or "no LID": it has not taken that of the subnet manager.
    std::string state;
    std::uint64_t lids = 1;  // of the port, from `lid` on
    std::string program;     // its name, as its agent states it; empty: it has none
  };
  struct Cable {
    Place a, b;
    std::string state;  // "up", "held", "down", "refused", or "unknown": no switch reports it
  };
  std::string manager;  // the name of its switch
  std::vector<Switch> switches;
  std::vector<Node> nodes;
  std::vector<Cable> cables;
};

enum class FabricMapForm : std::uint8_t { kText, kJson, kDot, kSvg };
// "text", "json", "dot" or "svg".
std::string_view name(FabricMapForm form);
std::optional<FabricMapForm> parse_fabric_map_form(std::string_view text);

std::string fabric_map_text(const FabricMap& map, FabricMapForm form);

// "SWITCH:PORT", as the topology file writes it.
std::string place_text(const FabricMap::Place& place);

}  // namespace splitnic::control
