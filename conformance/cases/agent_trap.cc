// TRAP of the tested switch. docs/protocol/subnet.md#managers
#include <algorithm>
#include <array>

#include "conformance/case.h"
#include "conformance/cases/subnet_parts.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kTrapEvery = 100ms;
constexpr base::Duration kLate = 250ms;

std::size_t traps(const Subnet& s) {
  return static_cast<std::size_t>(std::ranges::count_if(s.taken(), &Taken::is_trap));
}

// TRAP with this number of changes; nothing if none comes.
const Taken* await_trap(Subnet& s, std::uint32_t changes) {
  const auto is_it = [&](const Taken& one) {
    return one.is_trap() && one.smp.smp.transaction == changes;
  };
  const auto has_come = [&] { return std::ranges::any_of(s.taken(), is_it); };
  if (!s.await("TRAP with the changes as its transaction", has_come)) return nullptr;
  const Taken& trap = *std::ranges::find_if(s.taken(), is_it);
  s.expect(trap.smp.smp.manager == better_than_target(s), "the manager that it obeys");
  s.expect(trap.smp.smp.attribute == fabric::SmpAttribute::kNode, "attribute NODE");
  return &trap;
}

// A manager that is refused is not the one that TRAP goes to.
void add_refused_way(SubnetGroup& group) {
  group.add("trap_not_by_the_refused_way", "P-SUBN-10",
            "SET MANAGER that is refused changes nothing of the way of TRAP.", [](Subnet& s) {
              if (!s.begin() || !obtain(s)) return;
              const auto before = node_of_target(s);
              if (!before) return;
              const OwnedSmp worse = Subnet::request(fabric::SmpMethod::kSet,
                                                     fabric::SmpAttribute::kManager, {kWestLid, 0});
              const auto reply = s.ask(worse, "a reply to SET MANAGER at west", "west");
              if (!expect_status(s, reply, fabric::SmpStatus::kRefused, *better_than_target(s)))
                return;
              s.forget_taken();
              drop_cable(s, kWestPort);
              const Taken* const trap = await_trap(s, before->changes + 1);
              if (trap != nullptr) s.expect(trap->at == "east", "TRAP to the manager it obeys");
            });
}

void add_trap_ways(SubnetGroup& group) {
  group.add("trap", "P-SUBN-10", "A link of a cable that goes down causes TRAP, with the changes.",
            [](Subnet& s) {
              if (!s.begin() || !obtain(s)) return;
              const auto before = node_of_target(s);
              if (!before) return;
              s.forget_taken();
              drop_cable(s, kWestPort);
              const Taken* const trap = await_trap(s, before->changes + 1);
              if (trap != nullptr)
                s.expect(trap->at == "east", "TRAP by the way back of SET MANAGER");
            });
  group.add("trap_of_a_new_link", "P-SUBN-10", "A link of a cable that comes up causes TRAP too.",
            [](Subnet& s) {
              if (!s.begin() || !obtain(s)) return;
              const auto before = node_of_target(s);
              if (!before) return;
              drop_cable(s, kWestPort);
              if (await_trap(s, before->changes + 1) == nullptr || !node_of_target(s)) return;
              if (s.end(kWestPort).link()) await_trap(s, before->changes + 2);
            });
  group.add("trap_over_two_links", "P-SUBN-10",
            "TRAP takes the way back of SET MANAGER over all of its links.", [](Subnet& s) {
              if (!s.begin()) return;
              const auto better = better_than_target(s);
              const auto before = better ? node_of_target(s) : std::nullopt;
              if (!before) return;
              // By west, so not by the first port.
              OwnedSmp set =
                  Subnet::request(fabric::SmpMethod::kSet, fabric::SmpAttribute::kManager, *better);
              set.smp.route.hops = 2;
              set.smp.route.ports[0] = 2;
              set.smp.route.ports[1] = 1;
              const auto reply = s.ask(set, "a reply to SET MANAGER at far", "far");
              if (!expect_status(s, reply, fabric::SmpStatus::kDone, *better)) return;
              drop_cable(s, kEastPort);
              const Taken* const trap = await_trap(s, before->changes + 1);
              if (trap == nullptr) return;
              const std::array<std::uint8_t, 2> back{1, 2};
              s.expect(trap->at == "far", "TRAP at the switch of SET MANAGER");
              s.expect(std::ranges::equal(trap->smp.smp.route.used(), back) &&
                           trap->smp.smp.hop == back.size(),
                       "the way back as the route of TRAP");
            });
  group.add("trap_by_the_last_way", "P-SUBN-10",
            "TRAP takes the way of the last SET MANAGER, also of the same manager.", [](Subnet& s) {
              if (!s.begin() || !obtain(s)) return;
              const auto before = node_of_target(s);
              if (!before) return;
              const auto better = *better_than_target(s);
              const auto reply = s.ask(
                  Subnet::request(fabric::SmpMethod::kSet, fabric::SmpAttribute::kManager, better),
                  "a reply to SET MANAGER at west", "west");
              if (!expect_status(s, reply, fabric::SmpStatus::kDone, better)) return;
              drop_cable(s, kEastPort);
              const Taken* const trap = await_trap(s, before->changes + 1);
              if (trap != nullptr) s.expect(trap->at == "west", "TRAP at the other switch");
            });
}

// The first one at once, and the others at their intervals; a machine may be busy.
void expect_spacing(Subnet& s, base::Time dropped) {
  std::vector<base::Time> at{dropped};
  for (const Taken& one : s.taken()) {
    if (one.is_trap()) at.push_back(one.when);
  }
  s.expect(at.at(1) - at.at(0) < kTrapEvery + kLate, "the first TRAP at once");
  const base::Duration two = at.at(3) - at.at(1);
  s.expect(two > 3 * kTrapEvery / 2 && two < 2 * kTrapEvery + kLate, "TRAP every 100 ms");
}

void add_trap_repetitions(SubnetGroup& group) {
  group.add("trap_repeats", "P-SUBN-10",
            "TRAP repeats every 100 ms until the manager asks for NODE.", [](Subnet& s) {
              if (!s.begin() || !obtain(s)) return;
              s.forget_taken();
              drop_cable(s, kWestPort);
              const base::Time dropped = s.now();
              if (!s.await("three TRAPs", [&] { return traps(s) >= 3; })) return;
              expect_spacing(s, dropped);
              if (!s.own_node({kEastLid, 0})) return;
              s.listen(10ms);
              s.forget_taken();
              const auto has_come = [&] { return traps(s) >= 1; };
              if (!s.await("TRAP behind GET NODE of another switch", has_come)) return;
              if (!node_of_target(s)) return;
              s.listen(10ms);
              s.forget_taken();
              s.listen(300ms);
              s.expect(traps(s) == 0, "no TRAP behind GET NODE");
            });
  group.add("trap_ends", "P-SUBN-10", "TRAP is sent 10 times at most.", [](Subnet& s) {
    if (!s.begin() || !obtain(s)) return;
    s.forget_taken();
    drop_cable(s, kWestPort);
    s.listen(1500ms);
    s.expect(traps(s) >= 2 && traps(s) <= 10, "2 to 10 TRAPs");
  });
  group.add("trap_not_of_nodes", "P-SUBN-10", "A node that leaves causes no TRAP.", [](Subnet& s) {
    if (!s.begin() || !obtain(s) || !node_of_target(s)) return;
    s.forget_taken();
    s.node().send(s.node().init(fabric::InitStep::kBye));
    s.listen(250ms);
    s.expect(traps(s) == 0, "no TRAP");
  });
}

}  // namespace

std::vector<Case> agent_trap_cases() {
  SubnetGroup group("agent");
  add_trap_ways(group);
  add_refused_way(group);
  add_trap_repetitions(group);
  std::vector<Case> all = group.take();
  for (Case& one : all) one.level = Level::kShould;
  return all;
}

}  // namespace splitnic::conformance
