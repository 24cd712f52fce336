// The subnet around a switch that manages, as the suite plays it: the switches "east" and "west" at
// its ports 1 and 2, "far" behind both of them, and a node at port 3. SMPs take their route from
// switch to switch as in a real one, and the tested switch is a part of the way. Each request of
// the manager is kept, and replied to as a right agent would, unless the case changes the reply.
// The rules for every SMP of the target are checked whatever the case is about. Thread: one owner.
// docs/protocol/subnet.md
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/node.h"
#include "conformance/played_switch.h"
#include "conformance/role.h"

namespace splitnic::conformance {

inline constexpr std::size_t kEastPort = 1, kWestPort = 2, kNodePort = 3;
inline constexpr std::string_view kManagerName = "manager";
inline constexpr std::string_view kNearNodeName = "near_node";
inline constexpr fabric::Lid kManagerLid{5};
inline constexpr fabric::Lid kEastLid{2}, kWestLid{3}, kFarSwitchLid{9};
inline constexpr fabric::Lid kNearNodeLid{10}, kEastNodeLid{12}, kWestNodeLid{13};
inline constexpr fabric::Lid kFarNodeLid{300};  // of a block that no other LID is in

// A request that has come to a switch of the suite.
struct Asked {
  std::string at{};  // the switch
  OwnedSmp smp{};
  base::Time when{};

  bool is(fabric::SmpMethod method, fabric::SmpAttribute attribute) const {
    return smp.smp.method == method && smp.smp.attribute == attribute;
  }
  bool is_first() const { return is(fabric::SmpMethod::kSet, fabric::SmpAttribute::kManager); }
  bool is_node() const { return is(fabric::SmpMethod::kGet, fabric::SmpAttribute::kNode); }
  bool is_read() const { return is(fabric::SmpMethod::kGet, fabric::SmpAttribute::kTable); }
  bool is_load() const { return is(fabric::SmpMethod::kGet, fabric::SmpAttribute::kLoad); }
  bool sets_table() const { return is(fabric::SmpMethod::kSet, fabric::SmpAttribute::kTable); }
  bool is_stage(fabric::SmpTable::Stage stage) const {
    return sets_table() && smp.table().stage == stage;
  }
};

// A reply to the suite, or TRAP, that has come to a switch of the suite.
struct Taken {
  std::string at{};  // the switch
  OwnedSmp smp{};
  base::Time when{};

  bool is_trap() const { return smp.smp.method == fabric::SmpMethod::kTrap; }
  bool is_reply_to(std::uint64_t transaction) const {
    return smp.smp.method == fabric::SmpMethod::kReply && smp.smp.transaction == transaction;
  }
};

class Subnet {
 public:
  // `ends` outlive this. REQUIRES kManagerPorts ends.
  explicit Subnet(const std::vector<Node*>& ends);
  Subnet(const Subnet&) = delete;
  Subnet& operator=(const Subnet&) = delete;

  // Links all ends.
  bool link();
  // The same, and the target has set tables that follow from what is up, its own one too; then
  // nothing is kept yet.
  bool begin();
  // Undoes the changes of a case at the tested switch, as far as the suite can.
  void leave();

  PlayedSwitch& at(const std::string& name) { return switches_.at(name); }
  Node& end(std::size_t port) { return *ends_.at(port - 1); }
  Node& node() { return end(kNodePort); }
  base::Time now() { return ends_.front()->now(); }
  bool is_good() const { return ends_.front()->is_good(); }
  bool expect(bool is_met, std::string_view expected);
  Outcome& outcome() { return ends_.front()->outcome(); }
  // Deals with all that arrives at any end until it holds. Returns whether it does.
  bool wait_for(const std::function<bool()>& holds, base::Duration at_most);
  // The same for the time-out of a reply, or `at_least`; that it does not hold ends the case.
  bool await(std::string_view expected, const std::function<bool()>& holds,
             base::Duration at_least = {});
  void listen(base::Duration span);

  // Requests of the manager.
  const std::vector<Asked>& asked() const { return asked_; }
  using Is = std::function<bool(const Asked& one)>;
  std::size_t count(const Is& is) const;
  const Asked* find(const Is& is) const;
  void forget() { asked_.clear(); }
  // The manager, as its first request has stated it.
  std::optional<fabric::ManagerId> manager() const { return manager_; }
  // Before a reply leaves: may change it. Returns how many times it leaves.
  using OnReply = std::function<unsigned(const Asked& request, OwnedSmp& reply)>;
  OnReply on_reply{};

  // SMPs of the suite. By the route of the SMP, from a switch of the suite.
  void send(const std::string& from, const OwnedSmp& smp);
  // A request to the target by the cable of east, unless the route is given.
  static OwnedSmp request(fabric::SmpMethod method, fabric::SmpAttribute attribute,
                          fabric::ManagerId manager);
  // Sends it with a fresh transaction. The reply, which has come to the switch that asked.
  std::optional<OwnedSmp> ask(OwnedSmp request, std::string_view expected,
                              const std::string& from = "east");
  // GET NODE of the target, by this manager; its body.
  std::optional<fabric::SmpNode> own_node(fabric::ManagerId by);
  // All that came to a switch of the suite and is no request.
  const std::vector<Taken>& taken() const { return taken_; }
  void forget_taken() { taken_.clear(); }
  // TRAP of a switch that obeys.
  void send_trap(const std::string& from);

  // A cable of two switches of the suite goes down or comes up, at both ends, with TRAP.
  void set_cable(const std::string& of, std::uint8_t port, PlayedPort::State state);
  // Whether the tables of all switches follow from what is up: each LID that can be reached is, by
  // a shortest way, and no other one.
  bool are_tables_right();
  // The same for the table of the target, which is read by GET TABLE.
  bool expect_own_table_right();
  // The table of the target, whole; the case ends if there is none.
  std::optional<PlayedSwitch::Table> own_table();
  // NODE of the target has the check of the table that it has in force.
  bool expect_check_of_node();

 private:
  struct OwnTable {
    PlayedSwitch::Table table = PlayedSwitch::Table(PlayedSwitch::kLids);
    bool is_whole = true;  // both blocks are of one table, and its check is right
  };

  using Distances = std::map<std::string, unsigned>;  // from one switch

  void on_smp(std::size_t port, base::Bytes bytes);
  void deliver(PlayedSwitch& to, std::uint8_t in_port, fabric::Smp smp);
  void send_by(PlayedSwitch& from, std::uint8_t port, const fabric::Smp& smp);
  void take_request(PlayedSwitch& at, const fabric::Smp& smp);
  void take_at_node(const fabric::Smp& smp);
  bool check_request(const PlayedSwitch& at, const Asked& request);
  bool check_part(const PlayedSwitch& at, const fabric::SmpTable& part);
  std::optional<OwnTable> read_own_table();
  bool await_nothing_held();
  bool is_used(const std::string& name) const;
  std::vector<PlayedPort> own_ports() const;
  std::vector<std::pair<std::uint8_t, std::string>> neighbours(const std::string& of) const;
  Distances distances_to(const std::string& to) const;
  bool is_entry_right(const std::string& of, std::uint8_t port, fabric::Lid lid);

  std::vector<Node*> ends_;
  std::map<std::string, PlayedSwitch> switches_;
  std::vector<Asked> asked_;
  std::vector<Taken> taken_;
  std::optional<fabric::ManagerId> manager_;
  bool has_managed_ = false;
  // Before, a switch may get what the manager had to send to the subnet of the case before.
  bool has_begun_ = false;
};

}  // namespace splitnic::conformance
