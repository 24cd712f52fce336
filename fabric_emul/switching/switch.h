// The forwarding core of a switch: cells come in by ports and leave by the port of their
// destination LID, byte for byte as they came; what changes per hop is in the flit. One cell
// at a time crosses to an output [S000-42], on the lane that its service level has here [S004-21];
// what waits there leaves in the order of a LaneSchedule. An output that takes nothing now makes
// the inputs that feed it wait [S000-45]. In the full profile a waiting cell keeps the credits of
// its lane, and nothing else waits for it. In the others an input is not read until the lanes that
// have cells of it are empty; cells cannot be read out of their order, so what its carrier holds
// meanwhile waits there, of all lanes, or is lost there if the carrier loses (UDP). How long a slow
// receiver may do that is its WaitBudget; then what waits for it is dropped.
//
// A node sends with the LIDs of its port and in its own partitions only, begins links with its base
// LID only, and gets cells of these only. Cells
// for the switch itself are MGMT, for it resolves names, and SMPs, which go to
// whoever serves subnet management (fabric_emul/subnet); those with a GNH go to the router that
// this is a part of, if it is (router.h). Sans-I/O, no allocation after add_port() and INIT.
// Thread: the data thread. docs/topology_file.md
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "fabric_emul/link/port.h"
#include "fabric_emul/switching/switch_counters.h"
#include "fabric_emul/switching/switch_port.h"
#include "fabric_emul/switching/topology.h"
#include "fabric_emul/wire/mac_header.h"
#include "fabric_emul/wire/mgmt.h"

namespace splitnic::fabric {

// Serves subnet management. Called from inside Switch::step(); may call send_smp(), set_lids(),
// set_lids_taken(), set_policy(), set_tables(), hold_new_links() and activate().
class SmpReceiver {
 public:
  virtual ~SmpReceiver() = default;
  // An SMP by this port: from the switch at its cable, or from the node there.
  virtual void on_smp(std::uint8_t port, base::Bytes smp) = 0;
};

class Switch;

// Joins this switch to those of other subnets (router.h). Called from inside Switch::step().
class GlobalReceiver {
 public:
  virtual ~GlobalReceiver() = default;
  // A cell for the LID of `at`, or of a router that it stands in for, that has_gnh(), by this port
  // of it.
  virtual void on_global(const Switch& at, SwitchPort& from, const ReceivedCell& cell,
                         const MacHeader& header) = 0;
  // A lane of an output has become empty: inputs of all subnets may wait for it.
  virtual void on_empty(std::uint8_t output, std::size_t lane) = 0;
  // Whether cells of `at` reach another subnet no more.
  virtual bool is_cut_off(const Switch& at) const = 0;
};

class Switch final {
 public:
  struct PortView {
    std::uint8_t number;
    const SwitchPlan::Port& plan;
    const Link* link;  // null: nobody has come yet
    bool is_held;
    bool lacks_lids;  // a node that is up, and has not taken the LIDs of the subnet manager
    std::uint64_t rx_cells, tx_cells;
  };

  Switch(SwitchPlan plan, base::Random& random);
  ~Switch();
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  // Adds the port of this number over an underlay, which outlives this: it listens, or connects to
  // the switch at `to`. `config` has identity and limits; what the topology gives is added. Who
  // comes and is not what the plan has at this port is refused, with a line of the log. REQUIRES
  // that the plan has something at this port, once each, and ports of the full profile first.
  Port& add_port(std::uint8_t number, Underlay& underlay, PortConfig config, const PeerAddress* to,
                 base::Time now);

  // One iteration: receives from each port that need not wait, forwards, flushes. Returns true if
  // any work was done.
  bool step(base::Time now);
  // Whether step() reads from the port of this number now: false while it waits for an output.
  // REQUIRES that it was added.
  bool may_read(std::uint8_t number) const { return by_number_.at(number)->may_read(); }
  base::Time deadline() const;
  void send_bye(base::Time now);

  // Subnet management. `to` outlives this, or is null: then SMPs are dropped.
  void set_smp_receiver(SmpReceiver* to) { smp_receiver_ = to; }
  // Sends one by this port. Returns false if nothing is there, or it is down or has no room now.
  bool send_smp(std::uint8_t port, base::Bytes smp);
  // Where the subnet manager gives nodes their LIDs: those of all nodes, in ascending order of
  // names. REQUIRES plan().nodes.size() of them, and valid ones.
  void set_lids(std::span<const PortLids> lids);
  // Replaces lanes and partitions, also those of the plan: the next cell is forwarded by them, and
  // cells that wait keep their lane. REQUIRES may_have(policy).
  void set_policy(const SwitchPolicy& policy);
  // Whether it is for this switch: data lanes, and with partitions keys for all ports of nodes.
  bool may_have(const SwitchPolicy& policy) const;
  // Whether the node at this port has taken those of its port. REQUIRES that it was added.
  void set_lids_taken(std::uint8_t port, bool are_taken) {
    by_number_.at(port)->set_taken_lids(are_taken);
  }
  // Replaces that of the plan: the next cell is forwarded by it.
  // REQUIRES as many tables as the plan has.
  void set_tables(ForwardingTables tables) { tables_ = std::move(tables); }
  const ForwardingTables& tables() const { return tables_; }
  // From now on the link of a cable that comes up carries only SMPs until activate().
  void hold_new_links();
  void activate();

  // Routing. `to` outlives this, or is null: then a cell with a GNH for this LID is dropped.
  void set_global_receiver(GlobalReceiver* to) { global_receiver_ = to; }
  // Forwards a cell that came by `from`, a port of any subnet of the router, by its DLID, or drops
  // it. `header` is that of the cell.
  void forward(SwitchPort& from, const ReceivedCell& cell, const MacHeader& header) {
    pass(from, output_of(header.dlid, kNoInput), cell, header);
  }
  // Whether this is a router that leads to another subnet no more.
  bool is_cut_off() const {
    return global_receiver_ != nullptr && global_receiver_->is_cut_off(*this);
  }
  // Whether there are cables, and none of them is up.
  bool has_lost_cables() const;
  // The ports here no longer wait for this lane of this output.
  void on_empty(std::uint8_t output, std::size_t lane);

  const SwitchPlan& plan() const { return plan_; }
  std::vector<PortView> ports() const;
  bool is_up() const;  // a link of it is
  std::uint64_t bytes_forwarded() const;
  std::size_t waiting_cells() const;
  const base::Counters<SwitchCounter>& counters() const { return counters_; }
  void visit_counters(const base::CounterVisitor& visitor) const;

 private:
  static constexpr unsigned kBatchesPerPort = 8;

  bool receive(SwitchPort& from, base::Time now);
  void on_cell(SwitchPort& from, Link& link, const ReceivedCell& cell);
  SwitchPort* output_of(Lid dlid, std::uint8_t input) {
    return by_number_.at(tables_.port_of(dlid, input));
  }
  static bool may_send(const SwitchPlan::Port& node, const ReceivedCell& cell,
                       const MacHeader& header);
  bool is_smp(const ReceivedCell& cell, const MacHeader& header) const;
  bool lacks_lids(const SwitchPort& port) const;
  bool is_for_router(const MacHeader& header, const SwitchPort* to) const;
  void pass(SwitchPort& from, SwitchPort* to, const ReceivedCell& cell, const MacHeader& header);
  std::size_t lane_of(const SwitchPort& from, const SwitchPort& to, const ReceivedCell& cell,
                      const MacHeader& header) const;
  std::uint8_t layer_of_cell(const SwitchPort& from, const SwitchPort& to,
                             const ReceivedCell& cell) const;
  void drain(SwitchPort& to, bool& made_progress);
  void on_mgmt(SwitchPort& from, Link& link, const ReceivedCell& cell, const MacHeader& header);
  void on_smp(SwitchPort& from, Lid sender, base::Bytes smp);
  static Lid peer_of_smp(const SwitchPlan::Port& at) { return at.is_node() ? Lid() : at.lid; }
  bool reply(const SwitchPort& from, Link& link, const Mgmt& request, const MacHeader& header);

  SwitchPlan plan_;
  ForwardingTables tables_;
  SmpReceiver* smp_receiver_ = nullptr;
  GlobalReceiver* global_receiver_ = nullptr;
  base::Random& random_;
  base::Counters<SwitchCounter> counters_;
  std::vector<std::unique_ptr<SwitchPort>> ports_;
  std::array<SwitchPort*, kSwitchPortsMax + 1> by_number_{};
  std::size_t first_ = 0;      // of the ports that are read in the next step
  bool have_credits_ = false;  // the links of a port, or of all but the leg to a LAN
  base::Time now_{};
};

}  // namespace splitnic::fabric
