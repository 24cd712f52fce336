// Agents that send the wrong SMPs to nodes, or take them from nodes. What an agent does not check
// the relay at its port repairs on the way in.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tests/conformance/subnet_rules.h"

namespace splitnic::conformance {
namespace {

using namespace subnet_rules;

// By the port of the node only: switches send such replies, too.
Rule repair_way_of_node(std::size_t port) {
  return smp_rule(To::kTarget, [port](OwnedSmp& one) {
    const bool is_of_node = port == kNodePort && is_reply(one) && one.smp.route.hops == 2;
    if (is_of_node && one.smp.route.ports[1] == kWestPort) {
      one.smp.route.ports[1] = static_cast<std::uint8_t>(kEastPort);
    }
    return true;
  });
}

// Requests to the node get the manager of the target, whoever has sent them.
Rule repair_manager(const std::shared_ptr<fabric::ManagerId>& manager) {
  return both(smp_rule(To::kSuite,
                       [manager](OwnedSmp& one) {
                         if (is_request(one) && is_of_target(one)) *manager = one.smp.manager;
                         return true;
                       }),
              smp_rule(To::kTarget, [manager](OwnedSmp& one) {
                const bool is_for_node = is_request(one) && one.smp.route.hops == 2 &&
                                         one.smp.route.ports[1] == kNodePort;
                if (is_for_node) one.smp.manager = *manager;
                return true;
              }));
}

}  // namespace

std::vector<Fault> agent_node_faults() {
  return {{.name = "agent_any_way_of_a_node",
           .what = "a REPLY of a node is passed on whatever its route",
           .noticed_by = "agent.reply_of_a_node",
           .role = Role::kSubnet,
           .at_port = repair_way_of_node},
          {.name = "agent_any_manager_of_a_node",
           .what = "requests of any manager are passed on to a node",
           .noticed_by = "agent.to_a_node",
           .role = Role::kSubnet,
           .at_port = [manager = std::make_shared<fabric::ManagerId>()](std::size_t) {
             return repair_manager(manager);
           }}};
}

}  // namespace splitnic::conformance
