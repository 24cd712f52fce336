#include "fabric_emul/routing/fat_tree.h"

#include <cstddef>
#include <string>
#include <utility>

#include "fabric_emul/routing/levels.h"
#include "fabric_emul/routing/up_down_tables.h"

namespace splitnic::fabric {
namespace {

base::Status check_levels(const SubnetGraph& graph, const std::vector<std::uint32_t>& levels) {
  for (std::size_t at = 0; at < levels.size(); ++at) {
    for (const SubnetGraph::Cable& cable : graph.switches[at].cables) {
      if (levels[at] != levels[cable.to] || levels[at] == kNotReached) continue;
      const std::string what = levels[at] == 0 ? "both have nodes" : "are of one level";
      return base::Error("not a fat tree: " + graph.switches[at].name + " and " +
                         graph.switches[cable.to].name + " " + what + ", and a cable joins them");
    }
  }
  return {};
}

}  // namespace

base::Result<std::vector<ForwardingTables>> FatTreeRouting::tables(const SubnetGraph& graph) const {
  auto levels = levels_of(graph);
  if (auto checked = check_levels(graph, levels); !checked) return checked.error();
  auto divisors = divisors_of(graph, levels);
  return up_down_tables(graph, {.heights = std::move(levels), .divisors = std::move(divisors)},
                        per_);
}

}  // namespace splitnic::fabric
