// A subnet manager, in a switch. It sweeps: by directed route it makes each switch that it reaches
// obey it, gives it the LIDs of nodes, lanes and partitions where they are the manager's
// (switch_settings.h), and reads what is up there.
// End nodes are set up meanwhile (node_setup.h). From that and the topology file follow the tables,
// which it brings into force in two stages, so that cells cannot circulate: first each switch loses
// the entries that change, and when all have, each gets the new ones. It sweeps every kSweepEvery,
// and at once after a TRAP. While a better manager lives it stands by. What it sets depends on the
// file and on what is up only, not on the order of anything. Sans-I/O. Thread: the data thread.
// docs/protocol/subnet.md
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/subnet/node_setup.h"
#include "fabric_emul/subnet/smp_request.h"
#include "fabric_emul/subnet/subnet_agent.h"
#include "fabric_emul/subnet/subnet_view.h"
#include "fabric_emul/subnet/switch_settings.h"
#include "fabric_emul/subnet/table_blocks.h"
#include "fabric_emul/switching/topology.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {

class SubnetManager final : private SubnetAgent::Manager {
 public:
  static constexpr base::Duration kSweepEvery = std::chrono::milliseconds(500);
  static constexpr base::Duration kSweepGapMin = std::chrono::milliseconds(10);

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
  // The findings of the last sweep so far.
  const SubnetView& view() const { return view_; }
  // The reports of the last sweep that has ended, or of the last after which all tables were right.
  const SubnetView::Reports& found() const { return has_whole_view_ ? view_.reports() : settled_; }

 private:
  enum class Phase : std::uint8_t { kIdle, kSweep, kRead, kClear, kSet };
  // Of a switch in the sweep: what it is asked.
  enum class Step : std::uint8_t { kManager, kGetSetting, kSetSetting, kNode };
  struct Tables {  // of a switch
    std::uint32_t check = 0;
    ForwardingTables ports;
  };
  // A switch that the sweep has reached, and the one request to it that has no reply yet.
  struct Target {
    const Topology::Switch* is = nullptr;
    SmpRoute route{};
    Step step = Step::kManager;
    std::size_t setting = 0;  // of settings_.attributes()
    Tables next{};
    std::vector<TablePart> parts{};  // to read or set in this phase
    std::size_t part = 0;            // of the setting, or of these
    SmpRequest request{};
    std::optional<Smp> reply{};
    std::vector<std::byte> reply_body{};
    bool is_waiting() const { return request.is_waiting(); }
  };

  void on_smp(const Smp& smp) override;

  base::Time next_sweep_at() const;
  void begin_sweep();
  void add_target(const Topology::Switch* is, const SmpRoute& route);
  void end_sweep();
  bool begin(Phase phase);
  void advance();
  void end_round();

  void request(Target& target);
  bool take_replies();
  void take_reply(Target& target);
  void take_sweep_reply(Target& target, const Smp& reply);
  void ask_setting(Target& target, std::size_t number);
  void take_setting_reply(Target& target, const Smp& reply);
  void take_node_reply(Target& target, const Smp& reply);
  void on_sweep_status(const Target& target, const Smp& reply);
  void take_table_reply(Target& target, const Smp& reply);
  void repeat();
  void on_silent(const Target& target);
  void sweep_again();
  void stand_by(ManagerId master);
  void become_master();

  // The subject of the request of this phase to the switch, and its method and body.
  SmpAttribute attribute_of(const Target& target) const;
  SmpMethod method_of(const Target& target) const;
  using Body = std::array<std::byte, kSmpTableBytes + kSmpBlockLids>;
  base::Bytes write_body(const Target& target, Body& out) const;
  // The tables that this phase sets at the switch.
  const Tables& tables_of(const Target& target) const;
  bool has_held_port(const Target& target) const;

  const Topology file_;
  const std::string name_;
  const ManagerId id_;
  SwitchSettings settings_;
  SubnetAgent& agent_;
  SubnetView view_;
  std::map<std::string, Tables> in_force_;  // as far as known: read, set, or of the file
  std::map<std::string, Tables> common_;    // with those that come
  SubnetView::Reports settled_;             // with these the tables were right
  SubnetView::Reports last_;                // of the sweep that nodes_ knows
  std::vector<Target> targets_;
  Phase phase_ = Phase::kIdle;
  std::set<std::string> silent_, unfit_, refusing_;  // in the sweep, or of tables; logged
  bool is_master_ = false, stands_by_ = false;
  bool has_changed_ = true;  // since the sweep began
  bool has_whole_view_ = false;
  std::uint64_t transaction_;
  NodeSetup nodes_;
  base::Time sweep_at_{};
  base::Time begun_at_{};
  base::Time now_{};
};

}  // namespace splitnic::fabric
