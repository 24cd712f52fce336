// Subnet management in a switch: passes SMPs on by their route, serves those that end here, and
// sends TRAP to its manager when the link of a cable comes up or goes down, or a node comes that
// needs LIDs. SMPs of the manager that it obeys reach the nodes at its ports, which only reply. A
// switch obeys one manager: the best that it has heard of in the last kSilentAfter. Before the
// first it forwards by its topology file. Sans-I/O. Thread: the data thread.
// docs/protocol/subnet.md
#pragma once

#include <array>
#include <bitset>
#include <optional>

#include "base/clock.h"
#include "base/counters.h"
#include "fabric_emul/subnet/node_lids.h"
#include "fabric_emul/subnet/staged_policy.h"
#include "fabric_emul/subnet/subnet_counters.h"
#include "fabric_emul/switching/switch.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {

static_assert(kSmpPortsMax == kSwitchPortsMax);

class SubnetAgent final : private SmpReceiver {
 public:
  // A manager that sends nothing for this long is no manager any more.
  static constexpr base::Duration kSilentAfter = std::chrono::seconds(2);

  // The manager in this switch.
  class Manager {
   public:
    virtual ~Manager() = default;
    // REPLY, or TRAP of a switch, this one among them. Called from inside Switch::step(),
    // SubnetAgent::step() and SubnetAgent::send().
    virtual void on_smp(const Smp& smp) = 0;
  };

  // The switch outlives this, and gets its ports before the first step(). `eui64` is that of the
  // switch.
  SubnetAgent(Switch& of, Eui64 eui64);
  ~SubnetAgent() override { switch_.set_smp_receiver(nullptr); }
  SubnetAgent(const SubnetAgent&) = delete;
  SubnetAgent& operator=(const SubnetAgent&) = delete;

  // `to` outlives this, or is replaced by null.
  void set_manager_here(Manager* to) { manager_here_ = to; }
  // Sends by the route of the SMP. One without hops is served here before this returns. Returns
  // false if the first link is down or has no room.
  bool send(Smp smp);

  // Call it before each Switch::step().
  void step(base::Time now);
  base::Time deadline() const;

  // The manager that this switch obeys, and none if that is silent.
  std::optional<ManagerId> manager() const;
  const Switch& of() const { return switch_; }
  base::Counters<SubnetCounter>& counters() { return counters_; }
  const base::Counters<SubnetCounter>& counters() const { return counters_; }

 private:
  static constexpr base::Duration kTrapEvery = std::chrono::milliseconds(100);
  static constexpr unsigned kTraps = 10;

  // Tables that are not complete yet.
  struct Staged {
    SmpTable::Stage stage = SmpTable::Stage::kNone;
    std::uint8_t parts = 0;
    std::uint32_t changes = 0, check = 0;
    std::bitset<(kSwitchPortsMax + 1) * kSmpBlocksMax> has;  // parts, by input and block
    ForwardingTables tables;
    bool is_of(const SmpTable& part) const {
      return stage == part.stage && parts == part.parts && changes == part.changes &&
             check == part.check;
    }
  };

  void on_smp(std::uint8_t port, base::Bytes bytes) override;
  bool is_node(std::uint8_t port) const;
  // Whether an SMP that a node sends may be: a reply to the manager, that begins there.
  bool is_of_node(const Smp& smp) const;
  void on_reply_of_node(std::uint8_t port, const Smp& reply);
  bool may_pass_on(const Smp& smp) const;
  void pass_on(const Smp& smp);
  void take(const Smp& smp);
  void serve(const Smp& request);
  SmpStatus serve_manager(const Smp& request);
  std::size_t serve_node(const Smp& request, base::MutableBytes body);
  std::size_t serve_load(base::MutableBytes body) const;
  SmpStatus serve_table(const Smp& request, base::MutableBytes body, std::size_t& body_bytes);
  SmpStatus set_part(const SmpTable& part);
  template <class Set>
  SmpStatus serve_setting(const Smp& request, GivenBy from, const Set& set);
  SmpStatus serve_lids(const Smp& request, base::MutableBytes body, std::size_t& body_bytes);
  SmpStatus set_lids(const SmpLids& part);
  SmpStatus serve_policy(const Smp& request, base::MutableBytes body, std::size_t& body_bytes);
  SmpStatus set_policy(const SmpPolicy& part);
  bool obeys(const ManagerId& manager) const {
    return manager_.lid != Lid() && manager == manager_;
  }
  std::uint32_t arrivals() const;
  bool is_silent() const { return now_ - heard_at_ > kSilentAfter; }
  bool may_manage(Lid lid) const;
  std::uint32_t changes() const;

  Switch& switch_;
  const Eui64 eui64_;
  base::Counters<SubnetCounter> counters_;
  Manager* manager_here_ = nullptr;
  ManagerId manager_;
  SmpRoute to_manager_;
  base::Time heard_at_{};
  std::uint32_t check_;  // of the tables in force
  Staged staged_;
  StagedLids staged_lids_;
  std::optional<std::uint32_t> lids_check_;  // of LIDS in force; nothing: none are
  StagedPolicy staged_policy_;
  std::uint16_t policy_bytes_ = 0;  // of the policy in force that a manager has set; 0: none has
  std::uint32_t policy_check_ = 0;
  std::uint32_t seen_changes_ = 0, seen_arrivals_ = 0;
  unsigned traps_left_ = 0;
  base::Time trap_at_{};
  base::Time now_{};
};

}  // namespace splitnic::fabric
