#include "conformance/switch_suite.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "conformance/case.h"

namespace splitnic::conformance {

fabric::Lid lid_at(std::size_t port) {
  return port == kCablePort ? kNeighbourLid
                            : fabric::Lid(static_cast<std::uint16_t>(24 + 4 * port));
}

std::string name_at(std::size_t port) {
  return port == kCablePort ? "neighbour" : "node" + std::to_string(port);
}

namespace {

constexpr std::size_t kPartitionPorts = 3;  // of the nodes that are members

std::string partitions(bool has_cable) {
  const std::string_view far = has_cable ? R"(, "far")" : "";
  return fmt::format(R"([partitions.default]
id = {}
members = ["node1", "node2", "node3"{}]
[partitions.red]
id = {}
members = ["node1"]
limited = ["node2"]
[partitions.blue]
id = {}
limited = ["node2", "node3"]
)",
                     fabric::kDefaultPartition.value, far, kRed.value, kBlue.value);
}

}  // namespace

std::string switch_topology(std::size_t ports, const std::vector<session::PublicKey>& keys) {
  CHECK(ports >= 1 && ports <= kSwitchPorts && (keys.empty() || keys.size() == ports + 1));
  const bool has_cable = ports == kCablePort;
  std::string text =
      fmt::format("# For: splitnic-switch --name {} --topology THIS_FILE\n", kSwitchName);
  if (has_cable)
    text += fmt::format("cables = [\"{}:{} - neighbour:1\"]\n", kSwitchName, kCablePort);
  text += fmt::format("\n[switches.{}]\nlid = {}\n{}", kSwitchName, kSwitchLid.value,
                      key_line(keys, ports));
  if (has_cable) {
    text += fmt::format("[switches.neighbour]\nlid = {}\n{}", kNeighbourLid.value,
                        key_line(keys, kCablePort - 1));
  }
  for (std::size_t port = 1; port <= std::min(ports, kCablePort - 1); ++port) {
    text += fmt::format("[nodes.{}]\nlid = {}\nat = \"{}:{}\"\n{}", name_at(port),
                        lid_at(port).value, kSwitchName, port, key_line(keys, port - 1));
    if (port == 2) text += fmt::format("lmc = {}\n", kLmcOfSecond);
  }
  if (has_cable)
    text += fmt::format("[nodes.far]\nlid = {}\nat = \"neighbour:2\"\n", kFarLid.value);
  if (ports >= kPartitionPorts) text += partitions(has_cable);
  return text;
}

SwitchSuite::SwitchSuite(std::span<Line* const> lines, const SuiteConfig& config)
    : PortsSuite(Role::kNodes, lines, config) {
  CHECK(lines.size() <= kSwitchPorts);
}

PortsSuite::Place SwitchSuite::place_at(std::size_t port) const {
  return {name_at(port), port == kCablePort ? kNeighbourLid : fabric::Lid()};
}

bool SwitchSuite::probe(Node& node, std::size_t) {
  return node.link() && node.ask(fabric::MgmtKind::kResolve, name_at(1), "RESOLVED").has_value();
}

void SwitchSuite::run_case(const Case& one, const std::vector<Node*>& ends) {
  Nodes nodes(ends);
  one.run_as_nodes(nodes);
}

}  // namespace splitnic::conformance
