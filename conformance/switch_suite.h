// The suite against a switch: as the nodes at its first ports, and as a neighbouring switch at the
// fourth. The tested switch has the topology that switch_topology() writes. Sans-I/O but for its
// lines. Thread: one owner.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "conformance/ports_suite.h"

namespace splitnic::conformance {

inline constexpr std::size_t kSwitchPorts = 4;  // of the topology
inline constexpr std::size_t kCablePort = 4;    // where the neighbouring switch is
inline constexpr fabric::Lid kSwitchLid{1};     // of the tested switch
inline constexpr fabric::Lid kNeighbourLid{2};
inline constexpr fabric::Lid kFarLid{20};  // of a node at the neighbour
// Of the node at port 2; the others have one LID.
inline constexpr std::uint8_t kLmcOfSecond = 1;
inline constexpr unsigned kLidsOfSecond = 1U << kLmcOfSecond;
inline constexpr std::string_view kSwitchName = "switch";
// Next to the default partition: node1 is a full member of the first one and node2 a limited one,
// both node2 and node3 are limited ones of the second.
inline constexpr fabric::PartitionKey kRed{0x8001}, kBlue{0x8002};

// The LID at a port, and its name: "node1" to "node3", "neighbour".
fabric::Lid lid_at(std::size_t port);
std::string name_at(std::size_t port);

// The topology file with the tested switch, for this many ports: up to three nodes, and a cable.
// `keys` are those of the ports and then that of the switch; empty: without keys.
// REQUIRES 1 to kSwitchPorts ports, and no keys or one more than ports.
std::string switch_topology(std::size_t ports, const std::vector<session::PublicKey>& keys);

class SwitchSuite final : public PortsSuite {
 public:
  // A line for each port of the switch, from port 1 on. All outlive this. REQUIRES 1 to
  // kSwitchPorts lines.
  SwitchSuite(std::span<Line* const> lines, const SuiteConfig& config);

 private:
  Place place_at(std::size_t port) const override;
  void run_case(const Case& one, const std::vector<Node*>& ends) override;
  bool probe(Node& node, std::size_t port) override;
};

}  // namespace splitnic::conformance
