#include "tools/sim_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "control/report/load_colours.h"

namespace splitnic::tools {
namespace {

using control::kColourOfDown;
using control::kLoadColours;
using fabric::simulation::LineLoad;

constexpr int kPortWidth = 10, kHalfHeight = 9, kLabelHeight = 12, kGap = 12, kHeadHeight = 62;

// Of one port: the line out of the switch and the line into it.
struct PortLoads {
  const LineLoad* out = nullptr;
  const LineLoad* in = nullptr;
};

std::size_t colour_of(const LineLoad& line) {
  return line.is_up ? control::colour_of_load(line.utilisation) : kColourOfDown;
}

std::pair<std::string, std::uint8_t> split_place(const std::string& place) {
  const std::size_t colon = place.rfind(':');
  if (colon == std::string::npos) return {};  // a node
  return {place.substr(0, colon), static_cast<std::uint8_t>(std::stoul(place.substr(colon + 1)))};
}

using LoadsBySwitch = std::map<std::string, std::map<std::uint8_t, PortLoads>>;

LoadsBySwitch loads_of(const fabric::simulation::Report& report) {
  LoadsBySwitch loads;
  for (const LineLoad& line : report.lines) {
    if (const auto [name, port] = split_place(line.from); port != 0) loads[name][port].out = &line;
    if (const auto [name, port] = split_place(line.to); port != 0) loads[name][port].in = &line;
  }
  return loads;
}

// Names in a topology have no character that XML would read as its own.
class Picture {
 public:
  Picture(int columns, int tile_width) : columns_(columns), tile_width_(tile_width) {}

  void add_switch(const std::string& name, const std::map<std::uint8_t, PortLoads>& ports) {
    const int x = kGap + count_ % columns_ * tile_width_;
    const int y = kHeadHeight + count_ / columns_ * kTileHeight;
    ++count_;
    const LineLoad* busiest = nullptr;
    for (const auto& [port, loads] : ports) {
      const int left = x + (port - 1) * kPortWidth;
      add_half(loads.out, left, y + kLabelHeight);
      add_half(loads.in, left, y + kLabelHeight + kHalfHeight);
      for (const LineLoad* line : {loads.out, loads.in}) {
        if (busiest == nullptr || line->utilisation > busiest->utilisation) busiest = line;
      }
    }
    tiles_ += fmt::format("<text x=\"{}\" y=\"{}\">{}", x, y + kLabelHeight - 3, name);
    if (busiest != nullptr) {
      tiles_ += fmt::format("<title>busiest: {} to {}, {:.0f} %</title>", busiest->from,
                            busiest->to, 100 * busiest->utilisation);
    }
    tiles_ += "</text>\n";
  }

  std::string text(const std::string& title) const {
    const int rows = (count_ + columns_ - 1) / columns_;
    const int width = std::max(kGap + columns_ * tile_width_, kWidthMin);
    const int height = kHeadHeight + rows * kTileHeight + kGap;
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" font-family=\"sans-serif\" font-size=\"9\">\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
        "<text x=\"{2}\" y=\"20\" font-size=\"13\">{3}</text>\n",
        width, height, kGap, title);
    for (std::size_t colour = 0; colour < kLoadColours.size(); ++colour) {
      const int x = kGap + static_cast<int>(colour) * kLegendWidth;
      const std::string label = colour == kColourOfDown
                                    ? "down"
                                    : fmt::format("{} %", colour * 100 / (kColourOfDown - 1));
      svg += fmt::format(
          "<rect x=\"{0}\" y=\"30\" width=\"{1}\" height=\"9\" fill=\"{2}\"/>"
          "<text x=\"{0}\" y=\"50\">{3}</text>\n",
          x, kLegendWidth - 2, kLoadColours.at(colour), label);
    }
    for (std::size_t colour = 0; colour < kLoadColours.size(); ++colour) {
      if (paths_.at(colour).empty()) continue;
      svg +=
          fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", kLoadColours.at(colour), paths_.at(colour));
    }
    return svg + tiles_ + "</svg>\n";
  }

 private:
  static constexpr int kTileHeight = kLabelHeight + 2 * kHalfHeight + kGap;
  static constexpr int kLegendWidth = 38;
  static constexpr int kWidthMin = 760;

  void add_half(const LineLoad* line, int x, int y) {
    if (line == nullptr) return;
    paths_.at(colour_of(*line)) +=
        fmt::format("M{} {}h{}v{}h-{}z", x, y, kPortWidth - 1, kHalfHeight - 1, kPortWidth - 1);
  }

  int columns_, tile_width_;
  int count_ = 0;
  std::array<std::string, kLoadColours.size()> paths_;
  std::string tiles_;
};

}  // namespace

std::string sim_picture(const SimRun& run) {
  const LoadsBySwitch loads = loads_of(run.report);
  int ports_max = 1;
  for (const auto& [name, ports] : loads) {
    if (!ports.empty()) ports_max = std::max(ports_max, int{ports.rbegin()->first});
  }
  // About twice as wide as high.
  const auto columns = static_cast<int>(
      std::ceil(std::sqrt(static_cast<double>(run.topology.switches.size()) / ports_max * 8)));
  Picture picture(columns, ports_max * kPortWidth + kGap);
  for (const fabric::Topology::Switch& one : run.topology.switches) {
    const auto ports = loads.find(one.name);
    picture.add_switch(one.name,
                       ports == loads.end() ? std::map<std::uint8_t, PortLoads>() : ports->second);
  }
  return picture.text(
      fmt::format("Load of links: {} nodes, {}, routing {}. Of each port: out of the switch above, "
                  "into it below",
                  run.report.nodes, run.options.workload_name, fabric::name(run.topology.routing)));
}

}  // namespace splitnic::tools
