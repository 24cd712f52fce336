// The suite against a subnet manager, which is in a switch: as the switches at two of its ports, a
// switch behind them, and a node at the third port. The tested switch has the topology that
// manager_topology() writes. Sans-I/O but for its lines. Thread: one owner.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "conformance/ports_suite.h"

namespace splitnic::conformance {

// The topology file with the tested switch. `keys` are those of its ports and then its own; empty:
// without keys. REQUIRES no keys or one more than ports.
std::string manager_topology(const std::vector<session::PublicKey>& keys);

class ManagerSuite final : public PortsSuite {
 public:
  // A line for each port of the switch, in their order. All outlive this. REQUIRES kManagerPorts
  // lines.
  ManagerSuite(std::span<Line* const> lines, const SuiteConfig& config);

 private:
  Place place_at(std::size_t port) const override;
  void run_case(const Case& one, const std::vector<Node*>& ends) override;
  bool probe(Node& node, std::size_t port) override;
};

}  // namespace splitnic::conformance
