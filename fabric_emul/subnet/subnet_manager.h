// A subnet manager, in a switch. It sweeps: by directed route it makes each switch that it reaches
// obey it, gives it the LIDs of nodes, lanes and partitions where they are the manager's
// (switch_settings.h), and reads what is up there. End nodes are set up meanwhile (node_setup.h).
// From that and the topology file follow the tables, which it then brings into force
// (table_update.h). It sweeps every kSweepEvery, and at once after a TRAP. Behind a sweep it reads
// the loads of ports (load_reader.h). While a better manager lives it stands by. What it sets
// depends on the file and on what is up only, not on the order of anything. Sans-I/O. Thread: the
// data thread. docs/protocol/subnet.md
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/subnet/load_reader.h"
#include "fabric_emul/subnet/node_setup.h"
#include "fabric_emul/subnet/port_loads.h"
#include "fabric_emul/subnet/subnet_agent.h"
#include "fabric_emul/subnet/subnet_view.h"
#include "fabric_emul/subnet/switch_requests.h"
#include "fabric_emul/subnet/switch_settings.h"
#include "fabric_emul/subnet/table_update.h"
#include "fabric_emul/switching/topology.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {

class SubnetManager final : private SubnetAgent::Manager {
 public:
  static constexpr base::Duration kSweepEvery = std::chrono::milliseconds(500);
  static constexpr base::Duration kSweepGapMin = std::chrono::milliseconds(10);
  static constexpr int kFailedRoundsMax = 7;  // that count

  // The agent, which is that of the switch `name` of the topology, and random outlive this.
  SubnetManager(Topology topology, const std::string& name, std::uint8_t priority,
                SubnetAgent& agent, base::Random& random);
  ~SubnetManager() override { agent_.set_manager_here(nullptr); }
  SubnetManager(const SubnetManager&) = delete;
  SubnetManager& operator=(const SubnetManager&) = delete;

  // Call it after SubnetAgent::step() and before Switch::step().
  void step(base::Time now);
  base::Time deadline() const;

  // Lanes and partitions of switches are those of this topology from now on, where the file leaves
  // them to the manager: the next sweep sets them. REQUIRES that it differs from that of the file
  // in nothing else.
  void set_policy(const Topology& topology);

  // Whether it has set tables, or found them right, and no other manager has taken over since.
  bool is_master() const { return is_master_; }
  const NodeSetup& nodes() const { return nodes_; }
  const PortLoads& loads() const { return loads_.loads(); }
  // The findings of the last sweep so far.
  const SubnetView& view() const { return view_; }
  // The reports of the last sweep that has ended, or of the last after which all tables were right.
  const SubnetView::Reports& found() const { return has_whole_view_ ? view_.reports() : settled_; }

 private:
  enum class Phase : std::uint8_t { kIdle, kSweep, kUpdate };
  // Of a switch in the sweep: what it is asked.
  enum class Step : std::uint8_t { kManager, kGetSetting, kSetSetting, kNode };
  // A switch that the sweep has reached. Its number in requests_ is its place in targets_.
  struct Target {
    const Topology::Switch* is = nullptr;
    SmpRoute route{};
    Step step = Step::kManager;
    std::size_t setting = 0;  // of settings_.attributes()
    std::size_t part = 0;     // of the setting
  };

  void on_smp(const Smp& smp) override;

  base::Time next_sweep_at() const;
  void begin_sweep();
  void add_target(const Topology::Switch* is, const SmpRoute& route);
  void end_sweep();
  void set_up_nodes();
  void read_loads();
  bool begin_update();
  void advance();
  void end_round();

  void request(std::size_t number);
  SmpAttribute attribute_of(const Target& target) const;
  void take_reply(const SwitchRequests::Reply& reply);
  void take_sweep_reply(std::size_t from, const Smp& reply);
  void ask_setting(std::size_t of, std::size_t setting);
  void take_setting_reply(std::size_t from, const Smp& reply);
  void take_node_reply(std::size_t from, const Smp& reply);
  void on_sweep_status(const Target& target, const Smp& reply);
  void on_silent(const Target& target);
  void sweep_again();
  void stand_by(ManagerId master);
  void become_master();

  const Topology file_;
  const std::string name_;
  const ManagerId id_;
  SwitchSettings settings_;
  SubnetAgent& agent_;
  SubnetView view_;
  SubnetView::Reports settled_;  // with these the tables were right
  SubnetView::Reports last_;     // of the sweep that nodes_ knows
  std::vector<Target> targets_;
  Phase phase_ = Phase::kIdle;
  std::set<std::string> silent_, unfit_;  // and logged
  bool is_master_ = false, stands_by_ = false;
  bool has_changed_ = true;  // since the sweep began
  bool has_whole_view_ = false;
  int failed_rounds_ = 0;  // since all tables were right, or another manager had the subnet
  SwitchRequests requests_;
  TableUpdate update_;
  NodeSetup nodes_;
  LoadReader loads_;
  base::Time sweep_at_{};
  base::Time begun_at_{};
  base::Time now_{};
};

}  // namespace splitnic::fabric
