#include "control/report/fabric_layout.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace splitnic::control {
namespace {

constexpr int kMargin = 20, kWidthMin = 720;
constexpr int kSwitchStep = 110, kNodeStep = 64, kRowStep = 110;
constexpr int kStagger = 20;  // of two neighbours: names of nodes are longer than a step

using Numbers = std::vector<std::size_t>;  // places in the map

struct Graph {
  std::vector<Numbers> neighbours;  // of each switch
  std::vector<Numbers> nodes;       // at each switch
};

Graph graph_of(const FabricMap& map) {
  std::map<std::string_view, std::size_t> numbers;
  for (std::size_t i = 0; i < map.switches.size(); ++i) numbers.emplace(map.switches[i].name, i);
  const auto number_of = [&](const FabricMap::Place& place) -> std::optional<std::size_t> {
    const auto at = numbers.find(place.of_switch);
    return at == numbers.end() ? std::nullopt : std::optional(at->second);
  };
  Graph out{std::vector<Numbers>(map.switches.size()), std::vector<Numbers>(map.switches.size())};
  for (const auto& cable : map.cables) {
    const auto a = number_of(cable.a), b = number_of(cable.b);
    if (!a || !b) continue;
    out.neighbours[*a].push_back(*b);
    out.neighbours[*b].push_back(*a);
  }
  for (std::size_t i = 0; i < map.nodes.size(); ++i) {
    if (const auto at = number_of(map.nodes[i].at)) out.nodes[*at].push_back(i);
  }
  return out;
}

// The switches of each row, from the lowest one, in the order of the map.
std::vector<Numbers> rows_of(const Graph& graph) {
  const std::size_t count = graph.neighbours.size();
  std::vector<std::optional<std::size_t>> rows(count);
  Numbers reached;
  const auto reach = [&](std::size_t number, std::size_t row) {
    if (rows[number]) return;
    rows[number] = row;
    reached.push_back(number);
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (!graph.nodes[i].empty()) reach(i, 0);
  }
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::size_t at = reached[i];
    for (const std::size_t next : graph.neighbours[at]) reach(next, *rows[at] + 1);
  }
  std::vector<Numbers> out(1);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t row = rows[i].value_or(0);
    if (out.size() <= row) out.resize(row + 1);
    out[row].push_back(i);
  }
  return out;
}

int width_of(const Graph& graph, std::size_t number) {
  return std::max(kSwitchStep, kNodeStep * static_cast<int>(graph.nodes[number].size()));
}

// The lowest row: each switch is above its nodes, and the whole of it in the middle.
void place_lowest(const Graph& graph, const Numbers& row, int width, std::vector<int>& x) {
  int all = 0;
  for (const std::size_t one : row) all += width_of(graph, one);
  int left = kMargin + (width - all) / 2;
  for (const std::size_t one : row) {
    x[one] = left + width_of(graph, one) / 2;
    left += width_of(graph, one);
  }
}

// A higher row: over the whole width, in the order of where the neighbours below are, so that few
// cables cross.
void place_higher(const Graph& graph, const Numbers& below, const Numbers& row, int width,
                  std::vector<int>& x) {
  std::vector<std::pair<double, std::size_t>> order;
  for (const std::size_t one : row) {
    double sum = 0, count = 0;
    for (const std::size_t next : graph.neighbours[one]) {
      if (!std::ranges::binary_search(below, next)) continue;
      sum += x[next];
      ++count;
    }
    order.emplace_back(count == 0 ? 0 : sum / count, one);
  }
  std::ranges::sort(order);
  const double step = static_cast<double>(width) / static_cast<double>(row.size());
  double middle = step / 2;
  for (const auto& [mean, one] : order) {
    x[one] = kMargin + static_cast<int>(middle);
    middle += step;
  }
}

int width_of(const Graph& graph, const std::vector<Numbers>& rows) {
  int lowest = 0;
  for (const std::size_t one : rows.front()) lowest += width_of(graph, one);
  int width = std::max(kWidthMin, lowest);
  for (const Numbers& row : rows) {
    width = std::max(width, kSwitchStep * static_cast<int>(row.size()));
  }
  return width;
}

}  // namespace

FabricLayout layout_of(const FabricMap& map, int top) {
  const Graph graph = graph_of(map);
  const std::vector<Numbers> rows = rows_of(graph);
  const int width = width_of(graph, rows);
  std::vector<int> x(map.switches.size());
  place_lowest(graph, rows.front(), width, x);
  for (std::size_t row = 1; row < rows.size(); ++row) {
    place_higher(graph, rows[row - 1], rows[row], width, x);
  }
  const int y_of_nodes = top + kRowStep * static_cast<int>(rows.size());
  FabricLayout out{.width = width + 2 * kMargin, .height = y_of_nodes + 2 * kStagger};
  out.nodes.resize(map.nodes.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const int y = y_of_nodes - kRowStep * static_cast<int>(row + 1);
    for (const std::size_t one : rows[row]) {
      out.switches[map.switches[one].name] = {x[one], y};
      const Numbers& nodes = graph.nodes[one];
      int at = x[one] - kNodeStep * (static_cast<int>(nodes.size()) - 1) / 2;
      for (std::size_t i = 0; i < nodes.size(); ++i, at += kNodeStep) {
        out.nodes[nodes[i]] = {at, y_of_nodes + (i % 2 == 0 ? 0 : kStagger)};
      }
    }
  }
  return out;
}

}  // namespace splitnic::control
