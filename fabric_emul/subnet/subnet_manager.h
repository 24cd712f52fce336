// A subnet manager, in a switch. It sweeps: by directed route it makes each switch that it reaches
// obey it and reads what is up there. From that and the topology file follow the tables, which it
// brings into force in two stages, so that cells cannot circulate: first each switch loses the
// entries that change, and when all have, each gets the new ones. It sweeps every kSweepEvery, and
// at once after a TRAP. While a better manager lives it stands by. What it sets depends on the file
// and on what is up only, not on the order of anything.
// Sans-I/O. Thread: the data thread. docs/protocol/subnet.md
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/subnet/subnet_agent.h"
#include "fabric_emul/subnet/subnet_view.h"
#include "fabric_emul/subnet/table_blocks.h"
#include "fabric_emul/switching/topology.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {

class SubnetManager final : private SubnetAgent::Manager {
 public:
  static constexpr base::Duration kSweepEvery = std::chrono::milliseconds(500);
  static constexpr base::Duration kSweepGapMin = std::chrono::milliseconds(10);
  static constexpr base::Duration kRepeatAfter = std::chrono::milliseconds(50);
  static constexpr unsigned kAttempts = 12;  // then the switch counts as silent

  // The agent, which is that of the switch `name` of the topology, and random outlive this.
  SubnetManager(Topology topology, const std::string& name, std::uint8_t priority,
                SubnetAgent& agent, base::Random& random);
  ~SubnetManager() override { agent_.set_manager_here(nullptr); }
  SubnetManager(const SubnetManager&) = delete;
  SubnetManager& operator=(const SubnetManager&) = delete;

  // Call it after SubnetAgent::step() and before Switch::step().
  void step(base::Time now);
  base::Time deadline() const;

  // Whether it has set tables, or found them right, and no other manager has taken over since.
  bool is_master() const { return is_master_; }
  // The findings of the last sweep so far.
  const SubnetView& view() const { return view_; }
  // The reports of the last sweep that has ended, or of the last after which all tables were right.
  const SubnetView::Reports& found() const {
    return phase_ == Phase::kSweep ? settled_ : view_.reports();
  }

 private:
  enum class Phase : std::uint8_t { kIdle, kSweep, kRead, kClear, kSet };
  struct Tables {  // of a switch
    std::uint32_t check = 0;
    ForwardingTables ports;
  };
  // A switch that the sweep has reached, and the one request to it that has no reply yet.
  struct Target {
    const Topology::Switch* is = nullptr;
    SmpRoute route{};
    bool is_obeying = false;
    Tables next{};
    std::vector<TablePart> parts{};  // to read or set in this phase
    std::size_t part = 0;
    bool is_waiting = false;
    std::uint64_t transaction = 0;
    base::Time repeat_at{};
    unsigned attempts = 0;
    std::optional<Smp> reply{};
    std::vector<std::byte> reply_body{};
  };

  void on_smp(const Smp& smp) override;

  void begin_sweep();
  void add_target(const Topology::Switch* is, const SmpRoute& route);
  void end_sweep();
  bool begin(Phase phase);
  void advance();
  void end_round();

  void request(Target& target);
  void transmit(Target& target);
  bool take_replies();
  void take_reply(Target& target);
  void take_sweep_reply(Target& target, const Smp& reply);
  void take_table_reply(Target& target, const Smp& reply);
  void repeat();
  void on_silent(Target& target);
  void sweep_again();
  void stand_by(ManagerId master);
  void become_master();

  // The subject of the request of this phase to the switch.
  SmpAttribute attribute_of(const Target& target) const;
  // Whether this is what the target waits for, and came by the way that the request took.
  bool is_reply_of(const Target& target, const Smp& reply) const;
  // The tables that this phase sets at the switch.
  const Tables& tables_of(const Target& target) const;
  bool has_held_port(const Target& target) const;

  const Topology file_;
  const std::string name_;
  const ManagerId id_;
  SubnetAgent& agent_;
  SubnetView view_;
  std::map<std::string, Tables> in_force_;  // as far as known: read, set, or of the file
  std::map<std::string, Tables> common_;    // with those that come
  SubnetView::Reports settled_;             // with these the tables were right
  std::vector<Target> targets_;
  Phase phase_ = Phase::kIdle;
  std::set<std::string> silent_;
  std::set<std::string> refusing_;  // tables; logged
  bool is_master_ = false, stands_by_ = false;
  bool has_changed_ = true;  // since the sweep began
  std::uint64_t transaction_;
  base::Time sweep_at_{};
  base::Time begun_at_{};
  base::Time now_{};
};

}  // namespace splitnic::fabric
