#include "iou_module/nic/nic_stats.h"

#include <algorithm>
#include <vector>

namespace splitnic::iou {
namespace {

// The pools of each side that are listed one by one: a reply has to fit into one control message.
constexpr std::size_t kPoolsMax = 16;

// Frames, and requests that were refused.
bool is_drop(std::string_view name) {
  return name.find(".drop.") != std::string_view::npos || name.ends_with(".lost") ||
         name.find(".refused_") != std::string_view::npos || name.ends_with(".busy");
}

// Visits the counters of the group that only grow.
void visit_counters(const AttachedHost& host, std::string_view group,
                    const base::CounterVisitor& visitor) {
  if (group == "rmon") return host.stats().rmon.counters().visit(visitor);
  const auto wanted = [&](std::string_view name, std::uint64_t value) {
    const bool is_ours = group == "drops"    ? is_drop(name)
                         : group == "pools"  ? name.starts_with("pool.")
                         : group == "queues" ? name.starts_with("msg.") && !is_drop(name)
                                             : !name.starts_with("pool.") &&
                                                   !name.starts_with("msg.") && !is_drop(name);
    if (is_ours) visitor(name, value);
  };
  host.stats().counters.visit(wanted);
  host.connection().visit_counters(wanted);
}

void visit_pools(const AttachedHost& host, bool ours, const base::CounterVisitor& visitor) {
  std::vector<messaging::PoolView> pools = host.connection().pools();
  std::erase_if(pools, [&](const auto& pool) { return pool.ours != ours; });
  const std::string prefix = ours ? "pool.ours." : "pool.peer.";
  std::uint64_t elements = 0;
  std::uint64_t available = 0;
  std::uint64_t in_use = 0;
  for (const auto& pool : pools) {
    elements += pool.elements;
    available += pool.available;
    in_use += pool.in_use;
  }
  visitor(prefix + "pools", pools.size());
  visitor(prefix + "elements", elements);
  visitor(prefix + "available", available);
  visitor(prefix + "in_use", in_use);
  for (std::size_t i = 0; i < std::min(pools.size(), kPoolsMax); ++i) {
    visitor(prefix + std::to_string(pools[i].ref) + ".available", pools[i].available);
  }
}

void visit_queues(const AttachedHost& host, const base::CounterVisitor& visitor) {
  visitor("queue.to_host.waiting", host.tx().queue().size());
  visitor("queue.to_host.in_flight", host.connection().pushes_in_flight());
  visitor("queue.from_host.waiting", host.rx().waiting());
}

bool exists(std::string_view group) {
  return std::ranges::find(kStatsGroups, group) != kStatsGroups.end();
}

}  // namespace

bool visit_stats(const AttachedHost& host, std::string_view group,
                 const base::CounterVisitor& visitor) {
  if (group.empty()) group = "basic";
  if (!exists(group)) return false;
  visit_counters(host, group, [&](std::string_view name, std::uint64_t value) {
    visitor(name, host.stats().baseline.since(name, value));
  });
  if (group == "queues") visit_queues(host, visitor);
  if (group == "pools") {
    visit_pools(host, true, visitor);
    visit_pools(host, false, visitor);
  }
  return true;
}

bool clear_stats(AttachedHost& host, std::string_view group) {
  if (!group.empty() && !exists(group)) return false;
  for (const std::string_view each : kStatsGroups) {
    if (!group.empty() && each != group) continue;
    visit_counters(host, each, [&](std::string_view name, std::uint64_t value) {
      host.stats().baseline.set(name, value);
    });
  }
  return true;
}

}  // namespace splitnic::iou
