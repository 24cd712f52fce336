// Several managers: who yields, who stands by, who takes over. docs/protocol/subnet.md#managers
#include <algorithm>
#include <functional>

#include "conformance/case.h"
#include "conformance/cases/subnet_parts.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::ManagerId;
using fabric::SmpStatus;
using Stage = fabric::SmpTable::Stage;

constexpr base::Duration kSilentAfter = 2s;
constexpr base::Duration kTakesOver = 4s;
constexpr base::Duration kTakesOverLate = 500ms;  // a busy machine
constexpr base::Duration kAsksEvery = 200ms;

bool is_of_manager(const Asked& one) { return one.smp.smp.manager.lid == kManagerLid; }
bool sets_table(const Asked& one) { return is_of_manager(one) && one.sets_table(); }

// Makes a switch refuse the target from now on.
void refuse(PlayedSwitch& at, ManagerId better) { at.manager = better; }

void add_refused(SubnetGroup& group) {
  for (const std::string name : {"east", "far"}) {
    group.add("refused_by_" + name, "P-SUBN-15",
              "A manager whose SET MANAGER is refused sets no table, and tries again.",
              [name](Subnet& s) {
                if (!s.begin()) return;
                const auto better = better_than_target(s);
                if (!better) return;
                refuse(s.at(name), *better);
                const auto is_refused = [&](const Asked& one) {
                  return one.at == name && one.is_first();
                };
                if (!s.await("SET MANAGER", [&] { return s.find(is_refused) != nullptr; })) return;
                s.listen(20ms);
                s.forget();
                s.set_cable("east", 2, PlayedPort::State::kDown);
                s.listen(1200ms);
                s.expect(s.count(sets_table) == 0, "no tables of a manager that stands by");
                s.expect(s.count(is_refused) > 0, "SET MANAGER with the next sweep");
                s.at(name).manager = *s.manager();
                s.await(
                    "tables when it is obeyed again", [&] { return s.are_tables_right(); }, 3s);
              });
  }
}

// The table of west has an entry that is not known, so it is read, cleared and set. What cannot
// have been on its way when the refusal left is `behind`.
void add_table_refused(SubnetGroup& group) {
  const auto add = [&](const std::string& name, const std::string& what, const Subnet::Is& suits,
                       const Subnet::Is& behind) {
    group.add(name, "P-SUBN-15", "A manager whose " + what + " is refused sets no table.",
              [suits, behind](Subnet& s) {
                if (!s.begin()) return;
                const auto better = better_than_target(s);
                if (!better) return;
                bool is_refused = false;
                s.on_reply = [&](const Asked& one, OwnedSmp& reply) -> unsigned {
                  if (one.at == "west" && suits(one)) {
                    if (!is_refused) s.forget();
                    refuse(s.at("west"), *better);
                    reply.smp.status = SmpStatus::kRefused;
                    reply.smp.manager = *better;
                    is_refused = true;
                  }
                  return 1;
                };
                s.at("west").table.at(kUnsetLid) = std::byte{1};
                s.set_cable("east", 2, PlayedPort::State::kDown);
                if (!s.await(
                        "such a request for west", [&] { return is_refused; }, 3s))
                  return;
                s.listen(60ms);
                s.expect(s.count(behind) == 0, "no stage that follows what was refused");
                s.forget();
                s.listen(1200ms);
                s.expect(s.count(sets_table) == 0, "no tables of a manager that stands by");
              });
  };
  const auto clears = [](const Asked& one) { return one.is_stage(Stage::kClear); };
  const auto sets = [](const Asked& one) { return one.is_stage(Stage::kSet); };
  add(
      "read_refused", "GET TABLE", [](const Asked& one) { return one.is_read(); }, sets_table);
  add("table_refused", "stage clear", clears, sets);
  add("set_refused", "stage set", sets, clears);
}

void add_other(SubnetGroup& group) {
  group.add("yields", "P-SUBN-15", "A manager yields to a better one: no table of it follows.",
            [](Subnet& s) {
              if (!s.begin() || !obtain(s)) return;
              s.listen(100ms);
              s.forget();
              s.set_cable("east", 2, PlayedPort::State::kDown);
              for (int i = 0; i < 6 && s.is_good(); ++i) {
                s.listen(250ms);
                keep(s);
              }
              s.expect(s.count(sets_table) == 0, "no tables of a manager that stands by");
              s.expect(s.count([](const Asked& one) {
                return is_of_manager(one) && one.at != "east" && one.is_node();
              }) == 0,
                       "no sweep beyond its switch");
            });
  group.add("yields_to_lower_lid", "P-SUBN-5",
            "Of equal priority the manager of the lower LID is better.", [](Subnet& s) {
              if (!s.begin() || !s.manager()) return;
              const ManagerId same{kEastLid, s.manager()->priority};
              expect_status(s, set_manager(s, same), SmpStatus::kDone, same);
              s.listen(100ms);
              expect_status(s, set_manager(s, same), SmpStatus::kDone, same);
            });
  group.add("takes_over", "P-SUBN-15", "It manages again when the better one is silent.",
            [](Subnet& s) {
              if (!s.begin() || !obtain(s)) return;
              s.set_cable("east", 2, PlayedPort::State::kDown);
              s.forget();
              s.await(
                  "tables when the better manager is silent",
                  [&] { return s.count(sets_table) > 0 && s.are_tables_right(); }, kTakesOver);
            });
}

// Each case waits until the manager of the target sweeps again, which it does every 500 ms.
void add_silence(SubnetGroup& group) {
  const auto add = [&](const std::string& name, const std::string& what,
                       const std::function<void(Subnet&)>& meanwhile) {
    group.add(name, "P-SUBN-5", what, [meanwhile](Subnet& s) {
      if (!s.begin()) return;
      const base::Time asked = s.now();
      if (!obtain(s)) return;
      const base::Time at = s.now();
      s.listen(300ms);  // a sweep that had begun
      s.forget();
      while (s.is_good() && s.find(is_of_manager) == nullptr && s.now() - at < kTakesOver) {
        if (meanwhile) meanwhile(s);
        s.listen(kAsksEvery);
      }
      const Asked* const sweep = s.find(is_of_manager);
      if (!s.expect(sweep != nullptr, "a sweep of the manager that takes over")) return;
      // The target has heard SET MANAGER between the two times.
      s.expect(sweep->when - asked > kSilentAfter - 50ms, "2 s of silence");
      s.expect(sweep->when - at < kSilentAfter + kSweepEvery + kTakesOverLate,
               "no more than 2 s of silence");
    });
  };
  add("not_before_2_s", "A switch obeys its manager for 2 s of silence.", nullptr);
  add("get_is_silence", "GET of its manager does not make a switch obey it any longer.",
      [](Subnet& s) { node_of_target(s); });
  add("refused_is_silence", "SET that is refused does not make a switch obey any longer.",
      [](Subnet& s) {
        set_manager(s, {kWestLid, 0});
      });
  group.add("table_is_no_silence", "P-SUBN-5", "SET TABLE of its manager makes a switch obey it.",
            [](Subnet& s) {
              if (!s.begin() || !obtain(s)) return;
              s.listen(20ms);
              s.forget();
              const OwnedSmp set = table_part(PlayedSwitch::Table(PlayedSwitch::kLids), 0,
                                              {.stage = Stage::kClear, .parts = 1});
              for (const base::Time until = s.now() + kSilentAfter + 2 * kSweepEvery;
                   s.is_good() && s.now() < until; s.listen(kAsksEvery)) {
                const auto reply = s.ask(set, "a reply to SET TABLE");
                expect_status(s, reply, SmpStatus::kDone, *better_than_target(s));
              }
              s.expect(s.count(is_of_manager) == 0, "no sweep of another manager");
            });
}

void add_replaced(SubnetGroup& group) {
  group.add("handover", "P-SUBN-5",
            "A manager of another priority replaces itself, and may be worse.", [](Subnet& s) {
              if (!s.begin() || !obtain(s)) return;
              s.listen(20ms);
              s.forget();
              const ManagerId low{kFarSwitchLid, 0};
              expect_status(s, set_manager(s, low), SmpStatus::kDone, low);
              s.await(
                  "a sweep of the manager that is better now",
                  [&] { return s.find(is_of_manager) != nullptr; }, kSilentAfter - 500ms);
            });
  group.add("worse_is_refused", "P-SUBN-5", "A switch refuses a worse manager, and names its own.",
            [](Subnet& s) {
              if (!s.begin()) return;
              const auto status = set_manager(s, {kFarSwitchLid, 0});
              expect_status(s, status, SmpStatus::kRefused, *s.manager());
              s.await("sweeps as before", [&] { return s.find(is_of_manager) != nullptr; });
            });
  group.add("equal_is_refused", "P-SUBN-5",
            "Of equal priority the manager of the higher LID is worse.", [](Subnet& s) {
              if (!s.begin()) return;
              const auto status = set_manager(s, {kFarSwitchLid, s.manager()->priority});
              expect_status(s, status, SmpStatus::kRefused, *s.manager());
            });
  group.add("unknown_manager", "P-SUBN-2", "A manager whose LID is no switch of the file gets bad.",
            [](Subnet& s) {
              if (!s.begin()) return;
              for (const fabric::Lid lid : {fabric::Lid(77), fabric::Lid(0), kFarNodeLid}) {
                expect_status(s, set_manager(s, {lid, UINT8_MAX}), SmpStatus::kBad, *s.manager());
              }
            });
  group.add("table_of_another", "P-SUBN-5",
            "A table of a manager that it does not obey is refused, also of a better one.",
            [](Subnet& s) {
              if (!s.begin()) return;
              const auto before = s.own_table();
              if (!before) return;
              const ManagerId own = *s.manager();
              for (const ManagerId id :
                   {ManagerId{kFarSwitchLid, 0}, ManagerId{kFarSwitchLid, own.priority},
                    ManagerId{kEastLid, own.priority}, ManagerId{kEastLid, UINT8_MAX}}) {
                OwnedSmp set = table_part(PlayedSwitch::Table(PlayedSwitch::kLids), 0,
                                          {.stage = fabric::SmpTable::Stage::kClear, .parts = 1});
                set.smp.manager = id;
                const auto reply = s.ask(set, "a reply to SET TABLE");
                expect_status(s, reply, SmpStatus::kRefused, own);
              }
              s.expect(s.own_table() == before, "the table as it was");
            });
}

}  // namespace

std::vector<Case> manager_standby_cases() {
  SubnetGroup group("manager");
  add_refused(group);
  add_table_refused(group);
  add_other(group);
  add_silence(group);
  add_replaced(group);
  return group.take();
}

}  // namespace splitnic::conformance
