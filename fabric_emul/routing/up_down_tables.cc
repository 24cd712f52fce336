#include "fabric_emul/routing/up_down_tables.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <tuple>

namespace splitnic::fabric {
namespace {

constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();

class UpDownSearch {
 public:
  UpDownSearch(const SubnetGraph& graph, const UpDownOrder& order)
      : graph_(graph), order_(order), from_the_top_(graph.switches.size()) {
    std::iota(from_the_top_.begin(), from_the_top_.end(), 0U);
    std::ranges::stable_sort(from_the_top_, [&](std::uint32_t a, std::uint32_t b) {
      return order_.heights[a] > order_.heights[b];
    });
    ports_.resize(graph.switches.size());
  }

  // Finds the ways from all switches to this one.
  void search(std::uint32_t target) {
    find_ways_down(target);
    for (const std::uint32_t at : from_the_top_) {
      if (distances_[at] == kFar) distances_[at] = distance_by_above(at);
      collect_ports(at);
    }
  }

  // The port by which destination `number` at the target of search() leaves a switch; 0: none.
  std::uint8_t port(std::uint32_t at, std::uint32_t number) const {
    const auto& ports = ports_[at];
    return ports.empty() ? std::uint8_t{0} : ports[number / order_.divisors[at] % ports.size()];
  }

 private:
  bool is_up(std::uint32_t from, std::uint32_t to) const {
    return order_.heights[to] > order_.heights[from];
  }

  void find_ways_down(std::uint32_t target) {
    distances_.assign(graph_.switches.size(), kFar);
    distances_[target] = 0;
    std::vector<std::uint32_t> reached{target};
    for (std::size_t i = 0; i < reached.size(); ++i) {
      const std::uint32_t at = reached[i];
      for (const SubnetGraph::Cable& cable : graph_.switches[at].cables) {
        if (!is_up(at, cable.to) || distances_[cable.to] != kFar) continue;
        distances_[cable.to] = distances_[at] + 1;
        reached.push_back(cable.to);
      }
    }
    goes_down_.assign(graph_.switches.size(), false);
    for (const std::uint32_t at : reached) goes_down_[at] = true;
  }

  // Those above have their distance already.
  std::uint32_t distance_by_above(std::uint32_t at) const {
    std::uint32_t least = kFar;
    for (const SubnetGraph::Cable& cable : graph_.switches[at].cables) {
      if (is_up(at, cable.to)) least = std::min(least, distances_[cable.to]);
    }
    return least == kFar ? kFar : least + 1;
  }

  void collect_ports(std::uint32_t at) {
    ports_[at].clear();
    if (distances_[at] == kFar) return;
    for (const SubnetGraph::Cable& cable : graph_.switches[at].cables) {
      const bool is_allowed =
          goes_down_[at] ? goes_down_[cable.to] && is_up(cable.to, at) : is_up(at, cable.to);
      if (is_allowed && distances_[cable.to] + 1 == distances_[at]) {
        ports_[at].push_back(cable.port);
      }
    }
  }

  const SubnetGraph& graph_;
  const UpDownOrder& order_;
  std::vector<std::uint32_t> from_the_top_;
  std::vector<std::uint32_t> distances_;
  std::vector<bool> goes_down_;
  std::vector<std::vector<std::uint8_t>> ports_;  // of ways of equal length
};

// The nodes by the LID of their switch, then by port.
std::vector<SubnetGraph::Node> numbered_nodes(const SubnetGraph& graph) {
  std::vector<SubnetGraph::Node> nodes = graph.nodes;
  std::ranges::sort(nodes, {}, [&](const SubnetGraph::Node& node) {
    return std::tuple(graph.switches[node.at].lid, node.port);
  });
  return nodes;
}

}  // namespace

std::vector<ForwardingTable> up_down_tables(const SubnetGraph& graph, const UpDownOrder& order) {
  const auto nodes = numbered_nodes(graph);
  std::vector<std::vector<std::uint32_t>> nodes_at(graph.switches.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) nodes_at[nodes[i].at].push_back(i);
  std::vector<ForwardingTable> tables(graph.switches.size());
  UpDownSearch ways(graph, order);
  for (std::uint32_t target = 0; target < tables.size(); ++target) {
    ways.search(target);
    for (std::uint32_t at = 0; at < tables.size(); ++at) {
      tables[at].set(graph.switches[target].lid, ways.port(at, 0));
      for (const std::uint32_t number : nodes_at[target]) {
        tables[at].set(nodes[number].lid,
                       at == target ? nodes[number].port : ways.port(at, number));
      }
    }
  }
  return tables;
}

}  // namespace splitnic::fabric
