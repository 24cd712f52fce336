// A subnet on paper: its switches, the nodes at their ports and the cables between switches; and
// what follows from it for one of the switches: which LID leaves by which port. Pure.
// docs/topology_file.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "fabric_emul/routing/forwarding_table.h"
#include "fabric_emul/routing/routing.h"
#include "fabric_emul/routing/subnet_graph.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/limits.h"
#include "fabric_emul/wire/network_address.h"
#include "fabric_emul/wire/partition.h"
#include "fabric_emul/wire/port_lids.h"
#include "fabric_emul/wire/smp_policy.h"

namespace splitnic::fabric {

// Where a switch has a setting from: its own topology file, or that of the subnet manager.
enum class GivenBy : std::uint8_t { kFile, kManager };
// "file" or "manager".
std::string_view name(GivenBy by);
std::optional<GivenBy> parse_given_by(std::string_view text);

struct PortPlace {
  std::string of_switch;
  std::uint8_t port = 0;
  friend auto operator<=>(const PortPlace&, const PortPlace&) = default;
};

struct Topology {
  struct Switch {
    std::string name;
    Lid lid;
    SlToLane lanes = kLaneOfSl;
    friend bool operator==(const Switch&, const Switch&) = default;
  };
  struct Node {
    std::string name;
    Lid lid;
    PortPlace at;
    // Its keys. Empty, for all nodes or none: the subnet has no partitions, and all cells pass.
    std::vector<PartitionKey> partitions = {};
    std::uint8_t lmc = 0;  // its port has 2^lmc LIDs
    PortLids lids() const { return {lid, lmc}; }
    friend bool operator==(const Node&, const Node&) = default;
  };
  struct Cable {
    PortPlace a, b;
    friend bool operator==(const Cable&, const Cable&) = default;
  };
  // Routes to other subnets, and names there. docs/protocol/network.md
  struct Network {
    struct Route {
      NetworkPrefix to;
      // Of this subnet: a switch, which is a router, or a node, which is the leg to a LAN.
      std::string via;
      // Routers that lead there too: the first of all that is up stands in for the others.
      std::vector<std::string> others = {};
      friend bool operator==(const Route&, const Route&) = default;
    };
    NetworkAddress subnet;  // its first 64 bits
    std::vector<Route> routes;
    std::map<std::string, NetworkAddress> remotes;  // nodes of other subnets, by name
    friend bool operator==(const Network&, const Network&) = default;
  };
  std::vector<Switch> switches;
  std::vector<Node> nodes;
  std::vector<Cable> cables;
  RoutingKind routing = RoutingKind::kShortest;
  TablesPer tables_per = TablesPer::kSwitch;
  std::optional<Network> network = {};  // nothing: cells stay in the subnet
  bool pins_vl = false;                 // a cell keeps the lane that its sender chose
  // kManager: a switch and a node know LIDs of nodes when the subnet manager has set them. Here are
  // those that it sets (lid_numbers.h). LIDs of switches are always of the file.
  GivenBy lids_from = GivenBy::kFile;
  // The same of lanes and partitions: a switch has them when the manager has set them.
  GivenBy policy_from = GivenBy::kFile;
  friend bool operator==(const Topology&, const Topology&) = default;
};

// One switch of a subnet. A node that the subnet manager gives its LIDs has none until
// Switch::set_lids(), and lanes and partitions that are the manager's come by Switch::set_policy().
struct SwitchPlan {
  struct Port {
    std::string peer;                           // a node or a switch; "": nothing is there
    Lid lid;                                    // of the peer; 0: it has none yet
    std::uint8_t peer_port = 0;                 // of a switch, the number of its port; 0: of a node
    std::vector<PartitionKey> partitions = {};  // of a node, as in Topology; empty: all cells pass
    std::uint8_t lmc = 0;                       // of a node
    bool is_node() const { return peer_port == 0; }
    PortLids lids() const { return {lid, lmc}; }
  };
  struct Network {
    struct Route {
      NetworkPrefix to;
      Lid via;
      std::set<Lid> others = {};
    };
    NetworkAddress subnet;
    std::vector<Route> routes;  // the longest prefix first
    std::map<std::string, NetworkAddress, std::less<>> remotes;
    std::set<Lid> routers;                                       // of the routes, without legs
    const Route* route_to(const NetworkAddress& address) const;  // null: none leads there
  };
  std::string name;
  Lid lid;
  std::array<Port, kSwitchPortsMax + 1> ports;  // by number; 0 is not used
  ForwardingTables tables;
  SlToLane lanes = kLaneOfSl;
  bool pins_vl = false;       // cells leave on the data lane they came by
  bool layers_lanes = false;  // fabric_emul/routing/lane_layers.h; not with pins_vl
  GivenBy lids_from = GivenBy::kFile;
  GivenBy policy_from = GivenBy::kFile;
  bool has_policy = true;                              // false: nodes send and get SMPs only
  std::map<std::string, PortLids, std::less<>> nodes;  // all of the subnet, by name
  std::set<Lid> switches;                              // all of the subnet
  std::optional<Network> network;
  // Ports of the other subnets of a router: their cells leave by the ports here too.
  std::size_t ports_beyond = 0;
  std::size_t used_ports() const;  // that something is at
  // Whether it has a table for this input: any number.
  bool has_table(std::size_t input) const;
  std::size_t table_count() const;
};

// The reply of a switch to RESOLVE of an empty name by the port of this base LID, and of a name:
// the LID of a node, or of a path of it; the router and the network address of a node in another
// subnet. Private data of RESOLVED, empty if there is no such place. docs/protocol/network.md#place
std::vector<std::byte> place_of(const SwitchPlan& plan, Lid asks);
std::vector<std::byte> place_of(const SwitchPlan& plan, base::Bytes name);

// RESOLVE of this name asks for the LIDs of the port that asks, and of the other one for those of
// the node whose base LID this is. The reply has the base LID and the LMC, of 2 bytes each; nothing
// for a LID that is no node's. REQUIRES name.starts_with(kOwnLidsName).
inline constexpr std::string_view kOwnLidsName = "+";
std::string lids_name_of(Lid base);
std::vector<std::byte> lids_place_of(const SwitchPlan& plan, const PortLids& asks,
                                     std::string_view name);

// The whole subnet as routing sees it: switches have the indices that they have here, and nodes
// too where each port has one LID.
// REQUIRES names, LIDs and places that occur once each, ports from 1 to kSwitchPortsMax, and places
// at switches of the topology.
SubnetGraph graph_of(const Topology& topology);

// Routes are those of topology.routing, so they do not depend on the order of the topology. A LID
// that no route leads to has no port. An error: the topology has no such switch, or is not of the
// form that the routing needs. REQUIRES as above.
base::Result<SwitchPlan> plan_of(const Topology& topology, const std::string& name);
// The policies of all switches, by name.
std::map<std::string, SwitchPolicy> policies_of(const Topology& topology);
// Whether these differ in nothing but lanes and partitions, which may change while switches run.
bool differ_in_policy_only(const Topology& a, const Topology& b);

}  // namespace splitnic::fabric
