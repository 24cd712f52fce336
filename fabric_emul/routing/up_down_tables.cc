#include "fabric_emul/routing/up_down_tables.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <tuple>

#include "fabric_emul/routing/inputs.h"

namespace splitnic::fabric {
namespace {

constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();

// The ways from all switches to one.
class UpDownSearch {
 public:
  using Ways = std::vector<std::uint8_t>;  // ports of equal length

  UpDownSearch(const SubnetGraph& graph, const UpDownOrder& order, TablesPer per)
      : graph_(graph), order_(order), per_(per), from_the_top_(graph.switches.size()) {
    std::iota(from_the_top_.begin(), from_the_top_.end(), 0U);
    std::ranges::stable_sort(from_the_top_, [&](std::uint32_t a, std::uint32_t b) {
      return order_.heights[a] > order_.heights[b];
    });
    ways_.resize(graph.switches.size());
    ways_down_.resize(graph.switches.size());
  }

  void search(std::uint32_t target) {
    find_distances_down(target);
    distances_ = down_;
    for (const std::uint32_t at : from_the_top_) {
      if (distances_[at] == kFar || per_ == TablesPer::kInput) {
        distances_[at] = std::min(distances_[at], distance_by_above(at));
      }
      collect_ways(at);
    }
  }

  // Of what has not gone down yet.
  const Ways& ways(std::uint32_t at) const { return ways_[at]; }
  // Of what comes from above.
  const Ways& ways_down(std::uint32_t at) const { return ways_down_[at]; }

 private:
  bool is_up(std::uint32_t from, std::uint32_t to) const {
    return order_.heights[to] > order_.heights[from];
  }

  void find_distances_down(std::uint32_t target) {
    down_.assign(graph_.switches.size(), kFar);
    down_[target] = 0;
    std::vector<std::uint32_t> reached{target};
    for (std::size_t i = 0; i < reached.size(); ++i) {
      const std::uint32_t at = reached[i];
      for (const SubnetGraph::Cable& cable : graph_.switches[at].cables) {
        if (!is_up(at, cable.to) || down_[cable.to] != kFar) continue;
        down_[cable.to] = down_[at] + 1;
        reached.push_back(cable.to);
      }
    }
  }

  // Those above have their distance already.
  std::uint32_t distance_by_above(std::uint32_t at) const {
    std::uint32_t least = kFar;
    for (const SubnetGraph::Cable& cable : graph_.switches[at].cables) {
      if (is_up(at, cable.to)) least = std::min(least, distances_[cable.to]);
    }
    return least == kFar ? kFar : least + 1;
  }

  void collect_ways(std::uint32_t at) {
    ways_[at].clear();
    ways_down_[at].clear();
    if (distances_[at] == kFar) return;
    const bool may_go_up = down_[at] == kFar || per_ == TablesPer::kInput;
    for (const SubnetGraph::Cable& cable : graph_.switches[at].cables) {
      const bool goes_down = is_up(cable.to, at) && down_[cable.to] != kFar;
      const bool goes_up = may_go_up && is_up(at, cable.to) && distances_[cable.to] != kFar;
      if (goes_down && down_[cable.to] + 1 == down_[at]) ways_down_[at].push_back(cable.port);
      if ((goes_down && down_[cable.to] + 1 == distances_[at]) ||
          (goes_up && distances_[cable.to] + 1 == distances_[at])) {
        ways_[at].push_back(cable.port);
      }
    }
  }

  const SubnetGraph& graph_;
  const UpDownOrder& order_;
  const TablesPer per_;
  std::vector<std::uint32_t> from_the_top_;
  std::vector<std::uint32_t> down_;       // distances of ways that only go down
  std::vector<std::uint32_t> distances_;  // of all that are allowed
  std::vector<Ways> ways_, ways_down_;
};

// Of each switch, its inputs by whether what comes by them has gone down.
struct SplitInputs {
  std::vector<Inputs> others, from_above;
};

SplitInputs split_inputs(const SubnetGraph& graph, const UpDownOrder& order, TablesPer per) {
  SplitInputs out{inputs_of(graph, per), std::vector<Inputs>(graph.switches.size())};
  for (std::uint32_t at = 0; at < out.others.size(); ++at) {
    for (const SubnetGraph::Cable& cable : graph.switches[at].cables) {
      if (order.heights[cable.to] > order.heights[at] && std::erase(out.others[at], cable.port) > 0)
        out.from_above[at].push_back(cable.port);
    }
  }
  return out;
}

struct NumberedNode {
  SubnetGraph::Node node;
  std::uint32_t number;
};

// The nodes by the LID of their switch, then by port.
std::vector<NumberedNode> numbered_nodes(const SubnetGraph& graph) {
  std::vector<SubnetGraph::Node> nodes = graph.nodes;
  std::ranges::sort(nodes, {}, [&](const SubnetGraph::Node& node) {
    return std::tuple(graph.switches[node.at].lid, node.port, node.path);
  });
  std::vector<NumberedNode> numbered;
  std::uint32_t ports = 0;
  for (const SubnetGraph::Node& node : nodes) {
    if (node.path == 0) ++ports;
    numbered.push_back({node, ports - 1});
  }
  return numbered;
}

}  // namespace

std::vector<ForwardingTables> up_down_tables(const SubnetGraph& graph, const UpDownOrder& order,
                                             TablesPer per) {
  const auto nodes = numbered_nodes(graph);
  const SplitInputs inputs = split_inputs(graph, order, per);
  std::vector<std::vector<std::uint32_t>> nodes_at(graph.switches.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) nodes_at[nodes[i].node.at].push_back(i);
  std::vector<ForwardingTables> tables(graph.switches.size(), ForwardingTables(per));
  UpDownSearch search(graph, order, per);
  for (std::uint32_t target = 0; target < tables.size(); ++target) {
    search.search(target);
    for (std::uint32_t at = 0; at < tables.size(); ++at) {
      const auto set = [&](Lid lid, std::uint32_t number, std::uint8_t path) {
        const std::size_t first = (number + path) / order.divisors[at];
        set_ways(tables[at], inputs.others[at], lid, search.ways(at), first);
        set_ways(tables[at], inputs.from_above[at], lid, search.ways_down(at), first);
      };
      set(graph.switches[target].lid, 0, 0);
      for (const std::uint32_t i : nodes_at[target]) {
        const SubnetGraph::Node& node = nodes[i].node;
        if (at != target) {
          set(node.lid, nodes[i].number, node.path);
          continue;
        }
        set_ways(tables[at], inputs.others[at], node.lid, {&node.port, 1}, 0);
        set_ways(tables[at], inputs.from_above[at], node.lid, {&node.port, 1}, 0);
      }
    }
  }
  return tables;
}

}  // namespace splitnic::fabric
