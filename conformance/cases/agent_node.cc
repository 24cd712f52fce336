// Management datagrams between the agent of the tested switch and a node.
// docs/protocol/subnet.md#rejected
#include <algorithm>
#include <cstdint>
#include <vector>

#include "conformance/case.h"
#include "conformance/cases/subnet_parts.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::SmpAttribute;
using fabric::SmpMethod;

constexpr std::uint64_t kOfNode = 0xD0'0000'0003, kAllowed = 0xD0'0000'0004;
constexpr std::uint8_t kByEast = kEastPort, kByWest = kWestPort, kToNode = kNodePort;
constexpr std::uint8_t kOfEastToFar = 3;
constexpr std::uint8_t kOnlyPort = 1;  // of a node, and that of east to the target

// Without a body: of a REPLY that is not done.
OwnedSmp bare(SmpMethod method, SmpAttribute attribute, fabric::ManagerId manager,
              const std::vector<std::uint8_t>& ports) {
  OwnedSmp out = Subnet::request(method, attribute, manager);
  if (method == SmpMethod::kReply) out.smp.status = fabric::SmpStatus::kBad;
  out.smp.transaction = kOfNode;
  out.smp.hop = 1;
  out.smp.route.hops = static_cast<std::uint8_t>(ports.size());
  std::ranges::copy(ports, out.smp.route.ports.begin());
  return out;
}

bool has_taken(const Subnet& s, std::uint64_t transaction) {
  return std::ranges::any_of(s.taken(), [transaction](const Taken& one) {
    return one.smp.smp.transaction == transaction;
  });
}

// The manager in force is behind the cable of east.
void send_by_the_node(Subnet& s) {
  if (!s.begin() || !obtain(s)) return;
  const fabric::ManagerId manager{kFarSwitchLid, UINT8_MAX};
  fabric::CellHead head = s.node().smp_head();
  head.header.slid = fabric::Lid();
  s.forget_taken();
  const auto node = SmpAttribute::kNode;
  const std::vector<std::uint8_t> way{kOnlyPort, kByEast}, other{kOnlyPort, kByWest};
  OwnedSmp passed = bare(SmpMethod::kReply, node, manager, way);
  passed.smp.transaction = kAllowed;
  for (const OwnedSmp& one :
       {bare(SmpMethod::kReply, node, manager, other), bare(SmpMethod::kTrap, node, manager, way),
        bare(SmpMethod::kReply, node, manager, {kOnlyPort, kByEast, kOfEastToFar}), passed}) {
    s.node().send_smp(head, one.bytes());
  }
  if (!s.await("the REPLY by the way of the manager", [&] { return has_taken(s, kAllowed); })) {
    return;
  }
  s.listen(10ms);
  s.expect(!has_taken(s, kOfNode), "nothing else that the node has sent");
}

// Each SMP at the node is checked, as in every case.
void send_to_the_node(Subnet& s) {
  if (!s.begin()) return;
  const fabric::ManagerId other{kEastLid, 0};
  const std::vector<std::uint8_t> way{kOnlyPort, kToNode};
  Node& east = s.end(kEastPort);
  for (const OwnedSmp& one : {bare(SmpMethod::kGet, SmpAttribute::kNode, other, way),
                              bare(SmpMethod::kSet, SmpAttribute::kManager, other, way),
                              bare(SmpMethod::kReply, SmpAttribute::kNode, *s.manager(), way),
                              bare(SmpMethod::kTrap, SmpAttribute::kNode, *s.manager(), way),
                              bare(SmpMethod::kGet, SmpAttribute::kNode, *s.manager(),
                                   {kOnlyPort, kToNode, kOnlyPort})}) {
    east.send_smp(east.smp_head(), one.bytes());
  }
  const auto reply = s.ask(Subnet::request(SmpMethod::kGet, SmpAttribute::kNode, other),
                           "a reply to the good request behind it");
  if (!reply) return;
  s.listen(10ms);
  s.expect(!has_taken(s, kOfNode), "no reply to what is dropped");
}

}  // namespace

std::vector<Case> agent_node_cases() {
  SubnetGroup group("agent");
  group.add("reply_of_a_node", "P-SUBN-23",
            "Of what a node sends only REPLY by the way of the manager is passed on.",
            send_by_the_node);
  group.add("to_a_node", "P-SUBN-23",
            "A node gets requests of the manager in force that end there, and nothing else.",
            send_to_the_node);
  return group.take();
}

}  // namespace splitnic::conformance
