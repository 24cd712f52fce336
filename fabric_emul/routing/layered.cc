#include "fabric_emul/routing/layered.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "fabric_emul/routing/inputs.h"
#include "fabric_emul/routing/lane_layers.h"
#include "fabric_emul/routing/levels.h"

namespace splitnic::fabric {
namespace {

using Ways = std::vector<std::uint8_t>;  // ports

// Of the rest of a route: 2 * dips, and 1 more if it leaves up. At the destination it leaves down.
using Rank = std::uint32_t;
constexpr Rank kRankMax = 2 * kDipsMax + 1;

constexpr Rank rank_before(Rank next, bool is_up) {
  const std::uint32_t dips = next / 2, next_leaves_up = next % 2;
  return is_up ? 2 * dips + 1 : 2 * (dips + next_leaves_up);
}

// The worst rank of the next switch with which this one keeps to its own; nothing: none does.
constexpr std::optional<Rank> rank_needed(Rank own, bool is_up) {
  std::optional<Rank> worst;
  for (Rank next = 0; next <= kRankMax; ++next) {
    if (rank_before(next, is_up) <= own) worst = next;
  }
  return worst;
}

// By switch and port: the LIDs of nodes that leave by it so far.
using PortLoads = std::vector<std::array<std::size_t, kSwitchPortsMax + 1>>;

// The ways from all switches to one.
class LayeredSearch {
 public:
  LayeredSearch(const SubnetGraph& graph, std::uint32_t target)
      : graph_(graph), distances_(distances_from(graph, {target})) {
    for (std::uint32_t at = 0; at < distances_.size(); ++at) {
      if (distances_[at] != kNotReached && at != target) order_.push_back(at);
    }
    std::ranges::stable_sort(order_, {}, [&](std::uint32_t at) { return distances_[at]; });
  }

  // Returns a switch that has none with one dip at most.
  std::optional<std::uint32_t> find_best() {
    best_.assign(distances_.size(), 0);
    for (const std::uint32_t at : order_) {
      best_[at] = kRankMax + 1;
      for (const SubnetGraph::Cable& cable : graph_.switches[at].cables) {
        if (!is_nearer(at, cable)) continue;
        best_[at] = std::min(best_[at], rank_before(best_[cable.to], is_up(at, cable)));
      }
      if (best_[at] > kRankMax) return at;
    }
    return std::nullopt;
  }

  // Returns, by the index of the switch, the ways of the LIDs of this path: of those that are left
  // the one by which the fewest LIDs leave, or all of them for the inputs; for each path from
  // another one on. REQUIRES that all switches have one.
  std::vector<Ways> choose(std::uint8_t path, TablesPer per, const PortLoads& loads) const {
    std::vector<Rank> needed(distances_.size(), kRankMax);
    std::vector<Ways> chosen(distances_.size());
    for (std::size_t i = order_.size(); i-- > 0;) {
      const std::uint32_t at = order_[i];
      auto left = ways_left(at, needed[at]);
      std::ranges::stable_sort(left, {}, [&](const auto& way) { return loads[at].at(way.port); });
      std::rotate(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(path % left.size()),
                  left.end());
      if (per == TablesPer::kSwitch) left.resize(1);
      for (const SubnetGraph::Cable& cable : left) {
        const Rank of_next = rank_needed(needed[at], is_up(at, cable)).value();
        needed[cable.to] = std::min(needed[cable.to], of_next);
        chosen[at].push_back(cable.port);
      }
    }
    return chosen;
  }

 private:
  // By which this switch keeps to the rank that those before it need.
  std::vector<SubnetGraph::Cable> ways_left(std::uint32_t at, Rank needed) const {
    std::vector<SubnetGraph::Cable> left;
    for (const SubnetGraph::Cable& cable : graph_.switches[at].cables) {
      if (!is_nearer(at, cable)) continue;
      const auto of_next = rank_needed(needed, is_up(at, cable));
      if (of_next && *of_next >= best_[cable.to]) left.push_back(cable);
    }
    return left;
  }
  bool is_nearer(std::uint32_t at, const SubnetGraph::Cable& cable) const {
    return distances_[cable.to] + 1 == distances_[at];
  }
  bool is_up(std::uint32_t at, const SubnetGraph::Cable& cable) const {
    return goes_up(graph_.switches[at].lid, graph_.switches[cable.to].lid);
  }

  const SubnetGraph& graph_;
  const std::vector<std::uint32_t> distances_;
  std::vector<std::uint32_t> order_;  // what is reached, the nearest first
  std::vector<Rank> best_;
};

class LayeredTables {
 public:
  LayeredTables(const SubnetGraph& graph, TablesPer per)
      : graph_(graph),
        per_(per),
        inputs_(inputs_of(graph, per)),
        nodes_at_(graph.switches.size()),
        loads_(graph.switches.size()),
        tables_(graph.switches.size(), ForwardingTables(per)) {
    for (const SubnetGraph::Node& node : graph.nodes) nodes_at_[node.at].push_back(node);
  }

  base::Result<std::vector<ForwardingTables>> make() {
    std::vector<std::uint32_t> targets(tables_.size());
    std::iota(targets.begin(), targets.end(), 0U);
    std::ranges::sort(targets, {}, [&](std::uint32_t at) { return graph_.switches[at].lid; });
    for (const std::uint32_t target : targets) {
      LayeredSearch search(graph_, target);
      if (const auto without = search.find_best()) {
        return base::Error("each shortest route from " + graph_.switches[*without].name + " to " +
                           graph_.switches[target].name +
                           " goes down and up again more than once: number the switches so that "
                           "LIDs ascend along the rows or around the ring, or use updown");
      }
      add(target, search);
    }
    return std::move(tables_);
  }

 private:
  void add(std::uint32_t target, const LayeredSearch& search) {
    std::map<std::uint8_t, std::vector<Lid>> lids{{0, {}}};  // of nodes, by path
    for (const SubnetGraph::Node& node : nodes_at_[target]) lids[node.path].push_back(node.lid);
    PortLoads loads = loads_;
    for (const auto& [path, of_path] : lids) {
      const auto ways = search.choose(path, per_, loads_);
      for (std::uint32_t at = 0; at < tables_.size(); ++at) {
        if (path == 0) set_ways(tables_[at], inputs_[at], graph_.switches[target].lid, ways[at], 0);
        for (const Lid lid : of_path) set_ways(tables_[at], inputs_[at], lid, ways[at], 0);
        if (!ways[at].empty()) loads[at].at(ways[at].front()) += of_path.size();
      }
    }
    loads_ = std::move(loads);
    for (const SubnetGraph::Node& node : nodes_at_[target]) {
      set_ways(tables_[target], inputs_[target], node.lid, {&node.port, 1}, 0);
    }
  }

  const SubnetGraph& graph_;
  const TablesPer per_;
  const std::vector<Inputs> inputs_;
  std::vector<std::vector<SubnetGraph::Node>> nodes_at_;
  PortLoads loads_;
  std::vector<ForwardingTables> tables_;
};

}  // namespace

base::Result<std::vector<ForwardingTables>> LayeredRouting::tables(const SubnetGraph& graph) const {
  return LayeredTables(graph, per_).make();
}

}  // namespace splitnic::fabric
