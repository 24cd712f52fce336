// Subnets whose manager gives nodes their LIDs, with attached nodes.
#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "fabric_emul/subnet/node_lids.h"
#include "fabric_emul/switching/lid_numbers.h"
#include "fabric_emul/switching/path_cell.h"
#include "tests/unit/fabric_emul/switching/subnet_world.h"

namespace splitnic::fabric::subnet_world {

inline Topology managed_ring(std::size_t switches) {
  Topology t = ring(switches);
  t.lids_from = GivenBy::kManager;
  for (Topology::Node& node : t.nodes) node.lid = Lid();
  EXPECT_TRUE(number_nodes(t));
  return t;
}

struct LidsWorld : World {
  explicit LidsWorld(std::size_t switches) : LidsWorld(managed_ring(switches)) {}
  explicit LidsWorld(const Topology& topology, LinkProfile hops = LinkProfile::kSpeed)
      : World(topology, Nodes::kAttached, hops) {}
  Attachment& node(const std::string& name) { return attached.at(name)->attachment; }
  SmpNode::PortState state_of(const std::string& node) {
    const auto at = std::ranges::find(file.nodes, node, &Topology::Node::name)->at;
    const auto ports = boxes.at(at.of_switch)->sw.ports();
    const auto port = std::ranges::find(ports, at.port, &Switch::PortView::number);
    return port->lacks_lids ? SmpNode::PortState::kUnset : SmpNode::PortState::kUp;
  }
  std::uint64_t count_at(const std::string& name, AttachmentCounter which) {
    return node(name).counters()[which];
  }
  // SMPs that came to a node.
  std::uint64_t smps_at(const std::string& name) {
    return count_at(name, AttachmentCounter::kSmp) + count_at(name, AttachmentCounter::kRxDropSmp);
  }
  // The node's end of its link to the switch.
  Link& hop_of(const std::string& name) { return node(name).link(); }
  // A link from end to end, by name.
  Link& connect(const std::string& from, const std::string& to) {
    return attached.at(from)->end->port.connect(node(from).peer(to), clock.now());
  }
};

// An SMP from a node to its switch.
inline Smp request_of(SmpMethod method, SmpAttribute attribute, base::Bytes body = {}) {
  Smp smp;
  smp.method = method;
  smp.attribute = attribute;
  smp.manager = {Lid(1), 5};
  smp.transaction = 77;
  smp.route.hops = 1;
  smp.route.ports[0] = 1;
  smp.hop = 1;
  smp.body = body;
  return smp;
}

inline void send_from(LidsWorld& world, const std::string& node, Lid slid, const Smp& smp) {
  const auto at = std::ranges::find(world.file.nodes, node, &Topology::Node::name)->at;
  const Lid to = world.boxes.at(at.of_switch)->sw.plan().lid;
  std::array<std::byte, kSmpBytesMax> bytes;
  ASSERT_TRUE(send_path_cell(world.hop_of(node), slid, to, kSubnetQpn,
                             base::Bytes(bytes).first(emit_smp(bytes, smp))));
  world.settle();
}

}  // namespace splitnic::fabric::subnet_world
