#include "conformance/manager_suite.h"

#include <fmt/format.h>

#include "base/check.h"
#include "conformance/case.h"
#include "conformance/subnet.h"

namespace splitnic::conformance {

std::string manager_topology(const std::vector<session::PublicKey>& keys) {
  CHECK(keys.empty() || keys.size() == kManagerPorts + 1);
  std::string text = fmt::format(
      "# For: splitnic-switch --manage=100 --name {} --topology THIS_FILE\n"
      "cables = [\"{}:{} - east:1\", \"{}:{} - west:1\", \"east:2 - west:2\", \"east:3 - far:1\", "
      "\"west:3 - far:2\"]\n\n",
      kManagerName, kManagerName, kEastPort, kManagerName, kWestPort);
  const auto add_switch = [&](std::string_view name, fabric::Lid lid, const std::string& key) {
    text += fmt::format("[switches.{}]\nlid = {}\n{}", name, lid.value, key);
  };
  const auto add_node = [&](std::string_view name, fabric::Lid lid, std::string_view at,
                            const std::string& key) {
    text += fmt::format("[nodes.{}]\nlid = {}\nat = \"{}\"\n{}", name, lid.value, at, key);
  };
  add_switch(kManagerName, kManagerLid, key_line(keys, kManagerPorts));
  add_switch("east", kEastLid, key_line(keys, kEastPort - 1));
  add_switch("west", kWestLid, key_line(keys, kWestPort - 1));
  add_switch("far", kFarSwitchLid, {});
  add_node(kNearNodeName, kNearNodeLid, fmt::format("{}:{}", kManagerName, kNodePort),
           key_line(keys, kNodePort - 1));
  add_node("east_node", kEastNodeLid, "east:4", {});
  add_node("west_node", kWestNodeLid, "west:4", {});
  add_node("far_node", kFarNodeLid, "far:3", {});
  return text;
}

ManagerSuite::ManagerSuite(std::span<Line* const> lines, const SuiteConfig& config)
    : PortsSuite(Role::kSubnet, lines, config) {
  CHECK(lines.size() == kManagerPorts);
  observe(lines);
}

PortsSuite::Place ManagerSuite::place_at(std::size_t port) const {
  if (port == kEastPort) return {"east", kEastLid};
  if (port == kWestPort) return {"west", kWestLid};
  return {std::string(kNearNodeName)};
}

// A switch that replies to INIT at its ports: whether it manages is for the cases to find. At a
// cable it manages, or obeys the suite: a request gets its reply.
bool ManagerSuite::probe(Node& node, std::size_t port) {
  if (!node.link() || port == kNodePort) return node.is_good();
  std::size_t smps = 0;
  node.set_on_smp([&](base::Bytes) { ++smps; });
  OwnedSmp get =
      Subnet::request(fabric::SmpMethod::kGet, fabric::SmpAttribute::kNode, {kEastLid, 0});
  get.smp.hop = 1;
  node.send_smp(node.smp_head(), get.bytes());
  for (const base::Time until = node.now() + config().timeout;
       smps == 0 && node.now() < until && node.is_good();) {
    node.listen(std::chrono::milliseconds(1));
  }
  node.set_on_smp({});
  return node.expect(smps > 0, "an SMP");
}

void ManagerSuite::run_case(const Case& one, const std::vector<Node*>& ends) {
  Subnet subnet(ends);
  one.run_as_subnet(subnet);
  subnet.leave();
}

}  // namespace splitnic::conformance
