#include "switch_module/topology_reload.h"

#include <utility>

namespace splitnic::fabric_switch {

base::Result<TopologyReload::Changes> TopologyReload::read() const {
  Changes changes;
  for (std::size_t i = 0; i < in_force_.size(); ++i) {
    auto read = read_topology(paths_[i]);
    if (!read) return read.error().within("--topology");
    const TopologyFile& before = in_force_[i];
    if (*read == before) continue;
    const bool is_policy =
        read->keys == before.keys && differ_in_policy_only(read->topology, before.topology);
    if (is_policy)
      changes.policies.push_back({i, std::move(read->topology)});
    else
      changes.at_start.push_back(i);
  }
  return changes;
}

void TopologyReload::take(const Changes& changes) {
  for (const Policy& policy : changes.policies) in_force_[policy.file].topology = policy.topology;
}

}  // namespace splitnic::fabric_switch
