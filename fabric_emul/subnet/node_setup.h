// The end nodes of a subnet as its manager reaches them, by their switches: it asks each one that
// has come who it is, and gives it its LIDs where they are the manager's to give. What a node
// replies, or that it does not, changes no table and delays no sweep. Sans-I/O. Thread: the data
// thread. docs/protocol/subnet.md#end-nodes
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"
#include "fabric_emul/subnet/smp_request.h"
#include "fabric_emul/subnet/subnet_agent.h"
#include "fabric_emul/subnet/subnet_view.h"
#include "fabric_emul/switching/topology.h"
#include "fabric_emul/wire/port_lids.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {

class NodeSetup {
 public:
  static constexpr std::size_t kAtOnce = 64;  // nodes that have a request without a reply

  using Routes = std::map<std::string, SmpRoute>;  // to switches, by name

  // The agent, which is that of the manager's switch, outlives this. Transactions count from
  // `transaction` on.
  NodeSetup(ManagerId id, SubnetAgent& agent, std::uint64_t transaction)
      : id_(id), agent_(agent), transaction_(transaction) {}

  // A sweep has found these nodes up. `routes` has those to the switches that it reached.
  void update(const SubnetView& view, const Routes& routes, base::Time now);
  // Another manager has the subnet: nothing is asked, and what was found is forgotten.
  void stop();
  // Takes a reply of a node. Returns false if it is none that this waits for.
  bool on_smp(const Smp& reply);
  void step(base::Time now);
  base::Time deadline() const { return wake_at_; }
  // It knows no sweep, or asks by the routes of the last one.
  bool wants_update() const { return !has_sweep_ || !waiting_.empty(); }

  // The names of the programs that have replied, as these state them.
  using Programs = std::map<PortPlace, std::string>;
  Programs programs() const;

 private:
  // A node whose link is up.
  struct Node {
    std::string name;  // in the topology file
    PortLids lids;     // there
    SmpRoute route{};
    Eui64 eui64{};
    bool lacks_lids = false;  // and the manager gives them
    std::string program{};    // the name in its reply to NODE
    bool is_named = false;    // it has replied, or does not
    bool is_silent = false;   // logged
    std::uint64_t transaction = 0;
    SmpRequest request{};
  };

  void request(const PortPlace& at, Node& node, base::Time now);
  void end_request(Node& node);
  void on_silent(const PortPlace& at, Node& node);
  static bool is_done(const Node& node) { return !node.lacks_lids && node.is_named; }

  const ManagerId id_;
  SubnetAgent& agent_;
  std::uint64_t transaction_;
  std::map<PortPlace, Node> nodes_;
  std::map<std::uint64_t, PortPlace> waiting_;  // by the transaction of the request
  base::Time wake_at_ = base::kNever;
  bool has_sweep_ = false;
};

}  // namespace splitnic::fabric
