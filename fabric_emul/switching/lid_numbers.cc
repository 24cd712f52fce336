#include "fabric_emul/switching/lid_numbers.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <string>
#include <vector>

#include "fabric_emul/switching/queue_lid.h"

namespace splitnic::fabric {
namespace {

bool is_queue(const Topology::Node& node) { return node.name.find('#') != std::string::npos; }

// Free LIDs below a bound.
class FreeLids {
 public:
  FreeLids(const Topology& topology, std::size_t bound) : bound_(bound) {
    for (const Topology::Switch& one : topology.switches) taken_.set(one.lid.value);
  }
  // Returns the lowest base of 2^lmc LIDs that are free, and takes them; 0: there is none.
  Lid take(std::uint8_t lmc) {
    const std::size_t count = std::size_t{1} << lmc;
    for (std::size_t& base = next_.at(lmc); base + count <= bound_; base += count) {
      if (base == 0 || !are_free(base, count)) continue;
      for (std::size_t lid = base; lid < base + count; ++lid) taken_.set(lid);
      return Lid(static_cast<std::uint16_t>(base));
    }
    return Lid();
  }

 private:
  bool are_free(std::size_t base, std::size_t count) const {
    for (std::size_t lid = base; lid < base + count; ++lid) {
      if (taken_.test(lid)) return false;
    }
    return true;
  }

  const std::size_t bound_;
  std::bitset<kPortLidMax + 1> taken_;
  std::array<std::size_t, kLmcMax + 1> next_{};  // of each LMC: all below are taken
};

}  // namespace

// The queues of a node follow it in the order of names, because no name has a character before '#'.
base::Status number_nodes(Topology& topology) {
  std::vector<Topology::Node*> nodes;
  for (Topology::Node& node : topology.nodes) nodes.push_back(&node);
  std::ranges::sort(nodes, {}, [](const Topology::Node* node) { return node->name; });
  const bool has_queues = std::ranges::any_of(topology.nodes, is_queue);
  FreeLids free(topology, has_queues ? std::size_t{kNodeLids} : std::size_t{kPortLidMax} + 1);
  Lid base;
  std::uint32_t queue = 0;
  for (Topology::Node* node : nodes) {
    if (is_queue(*node)) {
      node->lid = lid_of_queue(base, ++queue);
      continue;
    }
    base = free.take(node->lmc);
    queue = 0;
    if (base == Lid()) {
      return base::Error("there are not enough LIDs for all nodes: none are left for " +
                         node->name + ": give nodes a smaller lmc");
    }
    node->lid = base;
  }
  return {};
}

}  // namespace splitnic::fabric
