// The sweep of a manager: whom it asks, by which way, how often. docs/protocol/subnet.md#sweep
#include <algorithm>
#include <map>

#include "conformance/case.h"
#include "conformance/cases/subnet_parts.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using Stage = fabric::SmpTable::Stage;
using State = PlayedPort::State;

constexpr int kSweepsSeen = 6;
constexpr base::Duration kLate = 250ms;  // a busy machine
constexpr base::Duration kRepeatAfter = 50ms;
constexpr base::Duration kEarly = 25ms;
constexpr std::size_t kAttempts = 12;

bool is_to(const Asked& one, std::string_view name) { return one.at == name; }

// Requests of one transaction may be about different things.
bool is_repetition(const Asked& one, const Asked& of) {
  const fabric::Smp& a = one.smp.smp;
  const fabric::Smp& b = of.smp.smp;
  if (one.at != of.at || a.transaction != b.transaction || a.method != b.method ||
      a.attribute != b.attribute) {
    return false;
  }
  if (a.attribute != fabric::SmpAttribute::kTable) return true;
  const fabric::SmpTable part = one.smp.table(), other = of.smp.table();
  return part.block == other.block && part.stage == other.stage;
}

// The requests that are repetitions of one: the first one that `is` names.
std::vector<Asked> repetitions(Subnet& s, const Subnet::Is& is) {
  std::vector<Asked> all;
  const Asked* const first = s.find(is);
  if (first == nullptr) return all;
  for (const Asked& one : s.asked()) {
    if (is_repetition(one, *first)) all.push_back(one);
  }
  return all;
}

void add_order(SubnetGroup& group) {
  group.add("obey_first", "P-SUBN-11", "A switch gets SET MANAGER before any other request.",
            [](Subnet& s) {
              if (!s.link()) return;
              const auto all_asked = [&] {
                return s.count([](const Asked& one) { return one.is_node(); }) >= 3;
              };
              if (!s.await("GET NODE for each switch", all_asked, 5s)) return;
              for (const std::string name : {"east", "west", "far"}) {
                const Asked* const first =
                    s.find([&](const Asked& one) { return is_to(one, name); });
                s.expect(first != nullptr && first->is_first(), "SET MANAGER as the first request");
              }
            });
  group.add(
      "each_switch", "P-SUBN-11", "A sweep asks each switch that is up for NODE.", [](Subnet& s) {
        if (!s.begin()) return;
        for (const std::string name : {"east", "west", "far"}) {
          const auto is_asked = [&] {
            return s.find([&](const Asked& one) { return is_to(one, name) && one.is_node(); });
          };
          s.await("GET NODE for " + name, [&] { return is_asked() != nullptr; });
        }
      });
  group.add("identity", "P-SUBN-11",
            "The manager of each request is the LID of the switch it is in.", [](Subnet& s) {
              if (!s.begin()) return;
              s.expect(s.manager() && s.manager()->lid == kManagerLid, "the manager's LID");
              for (const std::string name : {"east", "west", "far"}) {
                s.expect(s.at(name).manager == s.manager(), "a manager that all obey");
              }
            });
  group.add(
      "way_of_two_links", "P-SUBN-4", "The route to the far switch leads over two cables.",
      [](Subnet& s) {
        if (!s.begin()) return;
        const auto is_far = [](const Asked& one) { return is_to(one, "far"); };
        if (!s.await("a request to the far switch", [&] { return s.find(is_far) != nullptr; }))
          return;
        const fabric::Smp& smp = s.find(is_far)->smp.smp;
        s.expect(smp.route.hops == 2 && smp.hop == 2, "a route of two hops");
      });
  group.add("own_switch", "P-SUBN-11", "The switch of the manager has the table too.",
            [](Subnet& s) {
              if (s.begin()) s.expect_own_table_right();
            });
}

// Returns the times at which sweeps came to east, without repetitions.
std::vector<base::Time> sweeps_at(Subnet& s) {
  std::map<std::uint64_t, base::Time> first;  // by transaction
  for (const Asked& one : s.asked()) {
    if (is_to(one, "east") && one.is_first()) first.emplace(one.smp.smp.transaction, one.when);
  }
  std::vector<base::Time> at;
  at.reserve(first.size());
  for (const auto& [transaction, when] : first) at.push_back(when);
  std::ranges::sort(at);
  return at;
}

void add_spacing(SubnetGroup& group) {
  group.add("sweeps", "P-SUBN-13", "It sweeps every 500 ms.", [](Subnet& s) {
    if (!s.begin()) return;
    s.listen(kSweepEvery);  // the sweeps of the start are over
    s.forget();
    s.listen(kSweepsSeen * kSweepEvery);
    const auto at = sweeps_at(s);
    if (!s.expect(at.size() >= 3, "three sweeps within 3 s")) return;
    std::vector<base::Duration> gaps;
    gaps.reserve(at.size());
    for (std::size_t i = 1; i < at.size(); ++i) gaps.push_back(at[i] - at[i - 1]);
    std::ranges::sort(gaps);
    const base::Duration median = gaps[gaps.size() / 2];
    s.expect(median > kSweepEvery - kLate && median < kSweepEvery + kLate,
             "a sweep every 500 ms: a median of 250 to 750 ms");
  });
}

void add_times(SubnetGroup& group) {
  group.add("repeats", "P-SUBN-12",
            "A request without REPLY is repeated after 50 ms with the same transaction and body.",
            [](Subnet& s) {
              if (!s.begin()) return;
              s.at("west").replies = false;
              s.forget();
              const auto is_west = [](const Asked& one) { return is_to(one, "west"); };
              if (!s.await("three repetitions", [&] { return repetitions(s, is_west).size() > 3; }))
                return;
              const auto all = repetitions(s, is_west);
              for (std::size_t i = 1; i < all.size(); ++i) {
                const base::Duration gap = all[i].when - all[i - 1].when;
                s.expect(all[i].smp.bytes() == all[0].smp.bytes(), "the same request");
                s.expect(gap > kEarly && gap < kRepeatAfter + kLate, "50 ms between repetitions");
              }
            });
  group.add("attempts", "P-SUBN-12", "A request is sent 12 times at most.", [](Subnet& s) {
    if (!s.begin()) return;
    s.at("west").replies = false;
    s.forget();
    const auto is_west = [](const Asked& one) { return is_to(one, "west"); };
    const auto has_another = [&] {
      return s.find([&](const Asked& one) {
        return is_west(one) && one.smp.smp.transaction != s.find(is_west)->smp.smp.transaction;
      }) != nullptr;
    };
    if (!s.await("another request to a silent switch", has_another, 3s)) return;
    const std::size_t sent = repetitions(s, is_west).size();
    s.expect(sent >= 2 && sent <= kAttempts, "12 attempts at most");
  });
  group
      .add("attempts_all", "P-SUBN-12", "A switch that replies to the 12th attempt is reached.",
           [](Subnet& s) {
             if (!s.begin()) return;
             s.forget();
             std::map<std::uint64_t, std::size_t> tries;  // by transaction
             s.on_reply = [&](const Asked& one, OwnedSmp&) -> unsigned {
               if (!is_to(one, "west")) return 1;
               return ++tries[one.smp.smp.transaction] < kAttempts ? 0U : 1U;
             };
             const auto is_node = [&] {
               return s.find([](const Asked& one) {
                 return is_to(one, "west") && one.is_node();
               }) != nullptr;
             };
             s.await("GET NODE behind a reply to the last attempt", is_node, 2s);
           })
      .level = Level::kShould;
  add_spacing(group);
}

// West has an entry that the target does not know, so its table is read, cleared and set; it is
// silent for one of these.
void add_times_of_tables(SubnetGroup& group) {
  const auto add = [&](const std::string& name, const std::string& what, const Subnet::Is& suits) {
    group.add("repeats_" + name, "P-SUBN-12",
              what + " without REPLY is repeated every 50 ms, as it is, 12 times at most.",
              [suits](Subnet& s) {
                if (!s.begin()) return;
                const auto is_it = [&](const Asked& one) {
                  return is_to(one, "west") && suits(one);
                };
                s.on_reply = [&](const Asked& one, OwnedSmp&) { return is_it(one) ? 0U : 1U; };
                s.forget();
                s.at("west").table.at(kUnsetLid) = std::byte{1};
                s.set_cable("east", 2, State::kDown);
                const auto has_another = [&] {
                  return s.find([&](const Asked& one) {
                    return is_to(one, "west") && one.is_first() && s.find(is_it) != nullptr &&
                           one.when > s.find(is_it)->when;
                  }) != nullptr;
                };
                if (!s.await("a sweep behind the last attempt", has_another, 4s)) return;
                const auto all = repetitions(s, is_it);
                s.expect(all.size() >= 3 && all.size() <= kAttempts, "3 to 12 attempts");
                for (std::size_t i = 1; i < all.size() && s.is_good(); ++i) {
                  const base::Duration gap = all[i].when - all[i - 1].when;
                  s.expect(all[i].smp.bytes() == all[0].smp.bytes(), "the same request");
                  s.expect(gap > kEarly && gap < kRepeatAfter + kLate, "50 ms between attempts");
                }
              });
  };
  add("read", "GET TABLE", [](const Asked& one) { return one.is_read(); });
  add("clear", "SET TABLE, stage clear,",
      [](const Asked& one) { return one.is_stage(Stage::kClear); });
  add("set", "SET TABLE, stage set,", [](const Asked& one) { return one.is_stage(Stage::kSet); });
}

void add_causes(SubnetGroup& group) {
  group.add("settled_subnet", "P-SUBN-16", "A table that is right is neither read nor set again.",
            [](Subnet& s) {
              if (!s.begin()) return;
              s.listen(50ms);
              s.forget();
              s.listen(2 * kSweepEvery + kLate);
              s.expect(s.count([](const Asked& one) { return one.is_node(); }) > 0, "a sweep");
              s.expect(
                  s.count([](const Asked& one) { return one.is_read() || one.sets_table(); }) == 0,
                  "no request for a table");
            });
  group.add("sets_no_other", "P-SUBN-16", "A switch whose table stays is not set.", [](Subnet& s) {
    if (!s.begin()) return;
    s.listen(50ms);
    s.forget();
    const PlayedSwitch::Table before = s.at("far").table;
    s.set_cable("east", 2, State::kDown);
    if (!await_right(s)) return;
    s.listen(2 * kSweepEvery);
    if (s.at("far").table != before) return s.outcome().skip("the table of far is another one");
    s.expect(s.count([](const Asked& one) {
      return is_to(one, "far") && (one.is_read() || one.sets_table());
    }) == 0,
             "no request for the table of far");
  });
  for (const std::string name : {"east", "far"}) {
    group.add("trap_of_" + name, "P-SUBN-13", "TRAP of a switch makes it sweep at once.",
              [name](Subnet& s) {
                if (!s.begin()) return;
                s.listen(2 * kSweepEvery);  // the sweeps of the start are over
                const auto is_first = [&](const Asked& one) { return one.is_first(); };
                s.forget();
                s.await("a sweep", [&] { return s.find(is_first) != nullptr; });
                s.listen(50ms);
                s.forget();
                s.send_trap(name);
                const bool has_swept =
                    s.wait_for([&] { return s.find(is_first) != nullptr; }, 200ms);
                s.expect(has_swept, "a sweep within 200 ms of TRAP");
              });
  }
  group.add_harmful("trap_flood", "P-SUBN-13",
                    "TRAPs without end cause a sweep every 10 ms at most.", [](Subnet& s) {
                      if (!s.begin()) return;
                      s.forget();
                      const base::Time begin = s.now();
                      for (int i = 0; i < 200; ++i) {
                        for (int k = 0; k < 5; ++k) s.send_trap("east");
                        s.listen(1ms);
                      }
                      const auto passed = static_cast<std::size_t>((s.now() - begin) / 10ms);
                      const std::size_t sweeps = s.count(
                          [](const Asked& one) { return is_to(one, "east") && one.is_first(); });
                      s.expect(sweeps > 0, "sweeps");
                      s.expect(sweeps <= passed + 2, "10 ms between sweeps at least");
                    });
}

void add_changes(SubnetGroup& group) {
  const auto add = [&](const std::string& name, const std::string& what,
                       std::function<void(Subnet & s)> change) {
    group.add(name, "P-SUBN-14", what + ": tables follow.",
              [change = std::move(change)](Subnet& s) {
                if (!s.begin()) return;
                change(s);
                s.await(
                    "tables that follow from what is up", [&] { return s.are_tables_right(); }, 3s);
                s.expect_own_table_right();
              });
  };
  add("cable_down", "A cable goes down", [](Subnet& s) { s.set_cable("east", 3, State::kDown); });
  add("far_switch_returns", "The cables of the far switch go down and come back", [](Subnet& s) {
    for (const State state : {State::kDown, State::kHeld}) {
      s.set_cable("east", 3, state);
      s.set_cable("west", 3, state);
      if (!s.await(
              "tables that follow", [&] { return s.are_tables_right(); }, 3s))
        return;
    }
  });
  add("cable_between_neighbours", "The cable of the two neighbours goes down",
      [](Subnet& s) { s.set_cable("east", 2, State::kDown); });
  add("two_cables_down", "Two cables go down, and the far switch with them", [](Subnet& s) {
    s.set_cable("east", 3, State::kDown);
    s.set_cable("west", 3, State::kDown);
  });
  add("cable_at_one_end", "A cable is up at one end only", [](Subnet& s) {
    s.at("west").change(2, State::kDown);
    s.send_trap("west");
  });
  add("cable_at_the_near_end", "A cable is up at the far end only", [](Subnet& s) {
    s.at("east").change(3, State::kDown);
    s.send_trap("east");
  });
  add("own_cable_down", "A cable of the manager goes down", [](Subnet& s) {
    s.end(kWestPort).send(s.end(kWestPort).init(fabric::InitStep::kBye));
    s.end(kWestPort).begin_instance(s.end(kWestPort).config().instance ^ 0x100);
    s.at("west").change(1, State::kDown);
  });
  add("silent_switch", "A switch replies no more", [](Subnet& s) {
    s.at("west").replies = false;
    s.send_trap("east");
  });
  add("silent_switch_returns", "A switch that was silent replies again", [](Subnet& s) {
    s.at("west").replies = false;
    s.send_trap("east");
    if (!s.await(
            "tables without it", [&] { return s.are_tables_right(); }, 3s))
      return;
    s.at("west").replies = true;
  });
  add("cable_back", "A cable goes down and comes back", [](Subnet& s) {
    s.set_cable("east", 3, State::kDown);
    if (!s.await(
            "tables without it", [&] { return s.are_tables_right(); }, 3s))
      return;
    s.set_cable("east", 3, State::kHeld);
  });
}

void add_restarts(SubnetGroup& group) {
  group.add("held_port", "P-SUBN-16", "A cable that came back is held until its switches are set.",
            [](Subnet& s) {
              if (!s.begin()) return;
              s.set_cable("east", 2, State::kDown);
              s.listen(20ms);
              s.set_cable("east", 2, State::kHeld);
              s.await(
                  "stage set at both ends of the cable",
                  [&] { return !s.at("east").has_held_port() && !s.at("west").has_held_port(); },
                  3s);
            });
  group.add("lost_table", "P-SUBN-16", "A switch whose table is another one gets its table again.",
            [](Subnet& s) {
              if (!s.begin()) return;
              s.at("far").table = PlayedSwitch::Table(PlayedSwitch::kLids);
              s.send_trap("far");
              s.await(
                  "the table again", [&] { return s.are_tables_right(); }, 3s);
            });
  group.add("restarted_switch", "P-SUBN-16", "A switch that was started again gets its table.",
            [](Subnet& s) {
              if (!s.begin()) return;
              PlayedSwitch& far = s.at("far");
              far.table = PlayedSwitch::Table(PlayedSwitch::kLids);
              far.manager = {};
              far.changes = 0;
              s.await(
                  "the table again",
                  [&] { return s.are_tables_right() && far.manager == s.manager(); }, 3s);
            });
  group.add("replaced_switch", "P-SUBN-14",
            "A switch with another EUI-64 at the same place is set.", [](Subnet& s) {
              if (!s.begin()) return;
              PlayedSwitch& far = s.at("far");
              far.eui64 = fabric::Eui64(0x0200'0000'0000'7777);
              far.table = PlayedSwitch::Table(PlayedSwitch::kLids);
              far.manager = {};
              s.await(
                  "its table", [&] { return s.are_tables_right(); }, 3s);
            });
}

}  // namespace

std::vector<Case> manager_sweep_cases() {
  SubnetGroup group("manager");
  add_order(group);
  add_times(group);
  add_times_of_tables(group);
  add_causes(group);
  add_changes(group);
  add_restarts(group);
  return group.take();
}

}  // namespace splitnic::conformance
