#include "control/report/fabric_map.h"

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "control/report/fabric_map_svg.h"
#include "control/report/json.h"
#include "control/report/text_table.h"

namespace splitnic::control {
namespace {

namespace json = boost::json;

constexpr std::array kForms{FabricMapForm::kText, FabricMapForm::kJson, FabricMapForm::kDot,
                            FabricMapForm::kSvg};

// "-" where it is not known.
std::string load_text(const FabricMap::Place& out) {
  return out.cells_per_second ? std::to_string(*out.cells_per_second) : "-";
}

json::value load_json(const FabricMap::Place& out) {
  return out.cells_per_second ? json::value(*out.cells_per_second) : json::value(nullptr);
}

std::string lids_text(const FabricMap::Node& node) {
  const std::string first = std::to_string(node.lid);
  return node.lids == 1 ? first : first + " to " + std::to_string(node.lid + node.lids - 1);
}

std::string for_people(const FabricMap& map) {
  std::string out = "subnet manager: " + printable(map.manager) + "\n";
  TextTable switches({"switch", "lid", "state"});
  for (const auto& one : map.switches) {
    switches.add({one.name, std::to_string(one.lid), one.state});
  }
  TextTable nodes({"node", "lid", "at", "state", "program", "cells/s"});
  for (const auto& one : map.nodes) {
    nodes.add({one.name, lids_text(one), place_text(one.at), one.state,
               one.program.empty() ? "-" : printable(one.program), load_text(one.at)});
  }
  TextTable cables({"cable", "to", "state", "cells/s", "back"});
  for (const auto& one : map.cables) {
    cables.add(
        {place_text(one.a), place_text(one.b), one.state, load_text(one.a), load_text(one.b)});
  }
  return out + switches.text() + nodes.text() + cables.text();
}

std::string as_json(const FabricMap& map) {
  json::array switches, nodes, cables;
  for (const auto& one : map.switches) {
    switches.push_back(json::object{
        {"name", json_string(one.name)}, {"lid", one.lid}, {"state", json_string(one.state)}});
  }
  for (const auto& one : map.nodes) {
    nodes.push_back(json::object{{"name", json_string(one.name)},
                                 {"lid", one.lid},
                                 {"lids", one.lids},
                                 {"at", json_string(place_text(one.at))},
                                 {"state", json_string(one.state)},
                                 {"program", json_string(one.program)},
                                 {"cells_per_second", load_json(one.at)}});
  }
  for (const auto& one : map.cables) {
    cables.push_back(json::object{
        {"ends", json::array{json_string(place_text(one.a)), json_string(place_text(one.b))}},
        {"state", json_string(one.state)},
        {"cells_per_second", json::array{load_json(one.a), load_json(one.b)}}});
  }
  return json::serialize(json::object{{"manager", json_string(map.manager)},
                                      {"switches", std::move(switches)},
                                      {"nodes", std::move(nodes)},
                                      {"cables", std::move(cables)}}) +
         "\n";
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// A solid line is up, and its label has the load, if it is known. A dashed one is not, and its
// label has the state.
std::string line_style(const std::string& state, const std::string& load) {
  if (state != "up") return "style=dashed, color=red, label=" + quoted(state) + ", ";
  return load.empty() ? "" : "label=" + quoted(load + " cells/s") + ", ";
}

std::string loads_text(const FabricMap::Cable& of) {
  if (!of.a.cells_per_second && !of.b.cells_per_second) return "";
  return load_text(of.a) + " / " + load_text(of.b);
}

std::string as_dot(const FabricMap& map) {
  std::string out = "graph fabric {\n  node [fontname=\"sans-serif\"];\n";
  for (const auto& one : map.switches) {
    out += "  " + quoted("switch " + one.name) + " [shape=box, label=" +
           quoted(printable(one.name) + " (LID " + std::to_string(one.lid) + ")");
    if (one.name == map.manager) out += ", penwidth=2";
    if (one.state != "up") out += ", style=dashed, color=red";
    out += "];\n";
  }
  for (const auto& one : map.nodes) {
    out += "  " + quoted("node " + one.name) + " [shape=ellipse, label=" +
           quoted(printable(one.name) + " (LID " + lids_text(one) + ")") + "];\n";
    out += "  " + quoted("switch " + one.at.of_switch) + " -- " + quoted("node " + one.name) +
           " [" + line_style(one.state, one.at.cells_per_second ? load_text(one.at) : "") +
           "taillabel=\"" + std::to_string(one.at.port) + "\"];\n";
  }
  for (const auto& one : map.cables) {
    out += "  " + quoted("switch " + one.a.of_switch) + " -- " +
           quoted("switch " + one.b.of_switch) + " [" + line_style(one.state, loads_text(one)) +
           "taillabel=\"" + std::to_string(one.a.port) + "\", headlabel=\"" +
           std::to_string(one.b.port) + "\"];\n";
  }
  return out + "}\n";
}

}  // namespace

std::string place_text(const FabricMap::Place& place) {
  return place.of_switch + ":" + std::to_string(place.port);
}

std::string_view name(FabricMapForm form) {
  switch (form) {
    case FabricMapForm::kText:
      return "text";
    case FabricMapForm::kJson:
      return "json";
    case FabricMapForm::kDot:
      return "dot";
    case FabricMapForm::kSvg:
      return "svg";
  }
  return "";
}

std::optional<FabricMapForm> parse_fabric_map_form(std::string_view text) {
  for (const FabricMapForm form : kForms) {
    if (text == name(form)) return form;
  }
  return std::nullopt;
}

std::string fabric_map_text(const FabricMap& map, FabricMapForm form) {
  switch (form) {
    case FabricMapForm::kText:
      return for_people(map);
    case FabricMapForm::kJson:
      return as_json(map);
    case FabricMapForm::kDot:
      return as_dot(map);
    case FabricMapForm::kSvg:
      return fabric_map_svg(map);
  }
  return "";
}

}  // namespace splitnic::control
