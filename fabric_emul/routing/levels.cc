#include "fabric_emul/routing/levels.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace splitnic::fabric {

std::vector<std::uint32_t> distances_from(const SubnetGraph& graph,
                                          std::vector<std::uint32_t> from) {
  std::vector<std::uint32_t> distances(graph.switches.size(), kNotReached);
  std::vector<std::uint32_t> reached = std::move(from);
  for (const std::uint32_t at : reached) distances[at] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::uint32_t next = distances[reached[i]] + 1;
    for (const SubnetGraph::Cable& cable : graph.switches[reached[i]].cables) {
      if (distances[cable.to] != kNotReached) continue;
      distances[cable.to] = next;
      reached.push_back(cable.to);
    }
  }
  return distances;
}

std::vector<std::uint32_t> levels_of(const SubnetGraph& graph) {
  std::vector<std::uint32_t> leaves;
  for (const SubnetGraph::Node& node : graph.nodes) leaves.push_back(node.at);
  std::ranges::sort(leaves);
  leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
  return distances_from(graph, std::move(leaves));
}

std::vector<std::uint32_t> divisors_of(const SubnetGraph& graph,
                                       const std::vector<std::uint32_t>& levels) {
  constexpr std::uint32_t kDivisorMax = 1U << 16;  // there are no more destinations
  std::vector<std::uint32_t> widths;               // by level
  for (std::size_t at = 0; at < levels.size(); ++at) {
    if (levels[at] == kNotReached) continue;
    if (widths.size() <= levels[at]) widths.resize(std::size_t{levels[at]} + 1, 1);
    const auto& cables = graph.switches[at].cables;
    const auto ways_up = std::ranges::count_if(
        cables, [&](const auto& cable) { return levels[cable.to] > levels[at]; });
    widths[levels[at]] = std::max(widths[levels[at]], static_cast<std::uint32_t>(ways_up));
  }
  std::vector<std::uint32_t> products{1};
  for (const std::uint32_t width : widths) {
    products.push_back(std::min(products.back() * width, kDivisorMax));
  }
  std::vector<std::uint32_t> divisors(levels.size(), 1);
  for (std::size_t at = 0; at < levels.size(); ++at) {
    if (levels[at] != kNotReached) divisors[at] = products[levels[at]];
  }
  return divisors;
}

}  // namespace splitnic::fabric
