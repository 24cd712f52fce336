#include "control/report/fabric_map_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

#include "base/xml_text.h"
#include "control/report/fabric_layout.h"
#include "control/report/json.h"
#include "control/report/load_colours.h"
#include "control/report/text_table.h"

namespace splitnic::control {
namespace {

using Point = FabricLayout::Point;

constexpr int kTop = 150;  // of the highest switches; cables of one row bend up
constexpr int kLeft = 20, kLegendStep = 50, kLegendY = 36;
constexpr int kBoxWidth = 92, kBoxHeight = 24;
constexpr int kBend = 22;  // between cables of the same two switches
constexpr std::string_view kNotKnown = "#44546a";

// Text between tags or in an attribute: valid UTF-8 without control characters.
std::string xml_text(std::string_view text) {
  const auto valid = json_string(text);
  return base::escape_xml(printable(std::string(valid.data(), valid.size())));
}

// "950", "1.2 k", "34.0 M"
std::string short_number(double value) {
  constexpr std::array<std::string_view, 4> kUnits{"", " k", " M", " G"};
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.{}f}{}", value, unit == 0 ? 0 : 1, kUnits.at(unit));
}

std::uint64_t greatest_load(const FabricMap& map) {
  std::uint64_t most = 0;
  for (const auto& node : map.nodes) most = std::max(most, node.at.cells_per_second.value_or(0));
  for (const auto& cable : map.cables) {
    most = std::max(
        {most, cable.a.cells_per_second.value_or(0), cable.b.cells_per_second.value_or(0)});
  }
  return most;
}

Point midpoint(Point a, Point b) { return {(a.x + b.x) / 2, (a.y + b.y) / 2}; }

class Picture {
 public:
  explicit Picture(const FabricMap& map)
      : map_(map), layout_(layout_of(map, kTop)), greatest_(greatest_load(map)) {
    for (const auto& cable : map_.cables) add_cable(cable);
    for (std::size_t i = 0; i < map_.nodes.size(); ++i) add_node(map_.nodes[i], layout_.nodes[i]);
    for (const auto& one : map_.switches) add_switch(one, layout_.switches.at(one.name));
  }

  std::string text() const {
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
               "height=\"{1}\" font-family=\"sans-serif\" font-size=\"10\">\n"
               "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
               "<text x=\"{2}\" y=\"20\" font-size=\"13\">Cells per second out of each end of a "
               "link, as the subnet manager of {3} has read them</text>\n",
               layout_.width, layout_.height, kLeft, xml_text(map_.manager)) +
           legend() +
           fmt::format("<path fill=\"none\" stroke=\"{}\" stroke-width=\"6\" d=\"{}\"/>\n",
                       kNotKnown, edges_) +
           "<g fill=\"none\" stroke-width=\"4\">\n" + lines_ + "</g>\n" +
           "<g text-anchor=\"middle\">\n" + boxes_ + "</g>\n</svg>\n";
  }

 private:
  void add_cable(const FabricMap::Cable& cable) {
    const auto a = layout_.switches.find(cable.a.of_switch);
    const auto b = layout_.switches.find(cable.b.of_switch);
    if (a == layout_.switches.end() || b == layout_.switches.end()) return;
    const int parallel = parallels_[std::minmax(cable.a.of_switch, cable.b.of_switch)]++;
    const Point bend = bend_of(a->second, b->second, parallel);
    const Point to_a = midpoint(a->second, bend), to_b = midpoint(b->second, bend);
    const std::string name_a = place_text(cable.a), name_b = place_text(cable.b);
    add_line({a->second, to_a, midpoint(to_a, to_b)}, cable.state, cable.a,
             name_a + " to " + name_b);
    add_line({b->second, to_b, midpoint(to_a, to_b)}, cable.state, cable.b,
             name_b + " to " + name_a);
  }
  void add_node(const FabricMap::Node& node, Point at) {
    const auto of = layout_.switches.find(node.at.of_switch);
    if (of == layout_.switches.end()) return;
    add_line({of->second, midpoint(of->second, at), at}, node.state, node.at,
             place_text(node.at) + " to " + node.name);
    boxes_ += fmt::format(
        "<g><title>{0}, LID {1}</title><ellipse cx=\"{2}\" cy=\"{3}\" rx=\"30\" ry=\"9\" "
        "fill=\"#ffffff\" stroke=\"{4}\"/><text x=\"{2}\" y=\"{5}\">{0}</text></g>\n",
        xml_text(node.name), node.lid, at.x, at.y, kNotKnown, at.y + 3);
  }
  void add_switch(const FabricMap::Switch& one, Point at) {
    const bool is_up = one.state == "up";
    boxes_ += fmt::format(
        "<g><title>{0}, LID {1}, {2}</title><rect x=\"{3}\" y=\"{4}\" width=\"{5}\" "
        "height=\"{6}\" rx=\"4\" fill=\"#eef2f8\" stroke=\"{7}\" stroke-width=\"{8}\"{9}/>"
        "<text x=\"{10}\" y=\"{11}\">{0}</text></g>\n",
        xml_text(one.name), one.lid, xml_text(one.state), at.x - kBoxWidth / 2,
        at.y - kBoxHeight / 2, kBoxWidth, kBoxHeight,
        is_up ? kNotKnown : kLoadColours.at(kColourOfDown), one.name == map_.manager ? 3 : 1,
        is_up ? "" : " stroke-dasharray=\"5 4\"", at.x, at.y + 4);
  }

  // The point that the line of a cable bends to. Cables of one row pass above the switches between
  // their ends, and those of the same two switches next to each other.
  static Point bend_of(Point a, Point b, int parallel) {
    Point bend = midpoint(a, b);
    if (a.y == b.y) {
      bend.y -= std::min(90, 24 + std::abs(a.x - b.x) / 12) + kBend * parallel;
    } else {
      bend.x += (parallel + 1) / 2 * (parallel % 2 == 0 ? kBend : -kBend);
    }
    return bend;
  }

  struct Line {
    Point from, bend, to;
  };
  void add_line(const Line& line, const std::string& state, const FabricMap::Place& out,
                const std::string& title) {
    const std::string way = fmt::format("M{} {}Q{} {} {} {}", line.from.x, line.from.y, line.bend.x,
                                        line.bend.y, line.to.x, line.to.y);
    const bool is_up = state == "up";
    const std::string about = !is_up ? state
                              : out.cells_per_second
                                  ? fmt::format("{} cells/s", *out.cells_per_second)
                                  : "load not known";
    if (is_up) edges_ += way;
    lines_ += fmt::format("<path stroke=\"{}\"{} d=\"{}\"><title>{}: {}</title></path>\n",
                          colour_of(is_up, out), is_up ? "" : " stroke-dasharray=\"5 4\"", way,
                          xml_text(title), xml_text(about));
  }
  std::string_view colour_of(bool is_up, const FabricMap::Place& out) const {
    if (!is_up) return kLoadColours.at(kColourOfDown);
    if (!out.cells_per_second) return kNotKnown;
    const double most = static_cast<double>(std::max<std::uint64_t>(greatest_, 1));
    return kLoadColours.at(colour_of_load(static_cast<double>(*out.cells_per_second) / most));
  }

  std::string legend() const {
    std::string out;
    const auto add = [&out](std::size_t place, std::string_view colour, const std::string& label) {
      out += fmt::format(
          "<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"10\" fill=\"{3}\" stroke=\"{4}\"/>"
          "<text x=\"{0}\" y=\"{5}\">{6}</text>\n",
          kLeft + static_cast<int>(place) * kLegendStep, kLegendY, kLegendStep - 4, colour,
          kNotKnown, kLegendY + 22, label);
    };
    for (std::size_t i = 0; i < kColourOfDown; ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(kColourOfDown - 1);
      add(i, kLoadColours.at(i), short_number(static_cast<double>(greatest_) * share));
    }
    add(kColourOfDown, kLoadColours.at(kColourOfDown), "not up");
    add(kColourOfDown + 1, kNotKnown, "not known");
    return out;
  }

  const FabricMap& map_;
  const FabricLayout layout_;
  const std::uint64_t greatest_;
  std::map<std::pair<std::string, std::string>, int> parallels_;  // cables, by their switches
  std::string edges_, lines_, boxes_;
};

}  // namespace

std::string fabric_map_svg(const FabricMap& map) { return Picture(map).text(); }

}  // namespace splitnic::control
