// A subnet on paper: its switches, the nodes at their ports and the cables between switches; and
// what follows from it for one of the switches: which LID leaves by which port. Pure.
// docs/topology_file.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

// Ports of one switch, numbered from 1.
inline constexpr std::size_t kSwitchPortsMax = 32;

struct PortPlace {
  std::string of_switch;
  std::uint8_t port = 0;
  friend auto operator<=>(const PortPlace&, const PortPlace&) = default;
};

struct Topology {
  struct Switch {
    std::string name;
    Lid lid;
  };
  struct Node {
    std::string name;
    Lid lid;
    PortPlace at;
  };
  struct Cable {
    PortPlace a, b;
  };
  std::vector<Switch> switches;
  std::vector<Node> nodes;
  std::vector<Cable> cables;
};

// The port by which each LID leaves; 0: none.
class ForwardingTable {
 public:
  std::uint8_t port_of(Lid lid) const { return ports_[lid.value]; }
  void set(Lid lid, std::uint8_t port) { ports_[lid.value] = port; }

 private:
  std::vector<std::uint8_t> ports_ = std::vector<std::uint8_t>(std::size_t{1} << 16);
};

// One switch of a subnet.
struct SwitchPlan {
  struct Port {
    std::string peer;            // a node or a switch; "": nothing is there
    Lid lid;                     // of the peer
    std::uint8_t peer_port = 0;  // of a switch, the number of its port; 0: of a node
    bool is_node() const { return peer_port == 0; }
  };
  std::string name;
  Lid lid;
  std::array<Port, kSwitchPortsMax + 1> ports;  // by number; 0 is not used
  ForwardingTable table;
  std::map<std::string, Lid, std::less<>> nodes;  // all of the subnet, by name
  std::optional<Lid> lid_of(base::Bytes node) const;
};

// Routes are the shortest, by the lowest port among equals, so they do not depend on the order of
// the topology. A LID that no path leads to has no port. An error: the topology has no such switch.
// REQUIRES names, LIDs and places that occur once each, and ports from 1 to kSwitchPortsMax.
base::Result<SwitchPlan> plan_of(const Topology& topology, const std::string& name);

}  // namespace splitnic::fabric
