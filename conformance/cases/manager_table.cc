// The tables that a manager sets: two stages, whole, in blocks. docs/protocol/subnet.md#sweep
#include <algorithm>
#include <set>

#include "conformance/case.h"
#include "conformance/cases/subnet_parts.h"
#include "conformance/subnet.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::SmpStatus;
using fabric::SmpTable;
using Stage = SmpTable::Stage;
using State = PlayedPort::State;

constexpr std::size_t kCheckAt = 8;  // of the body

bool reads(const Asked& one) { return one.is_read(); }
bool clears(const Asked& one) { return one.is_stage(Stage::kClear); }
bool sets(const Asked& one) { return one.is_stage(Stage::kSet); }

// The whole table of the last stage that the manager has begun at a switch; LIDs of blocks that it
// has not sent are 0.
PlayedSwitch::Table sent_table(Subnet& s, const std::string& to, Stage stage) {
  PlayedSwitch::Table table(PlayedSwitch::kLids);
  for (const Asked& one : s.asked()) {
    if (one.at != to || !one.is_stage(stage)) continue;
    const SmpTable part = one.smp.table();
    std::ranges::copy(part.ports, table.begin() + static_cast<std::ptrdiff_t>(
                                                      part.block * fabric::kSmpBlockLids));
  }
  return table;
}

void add_blocks(SubnetGroup& group) {
  group.add("blocks", "P-SUBN-6", "Each block with a LID of the file is a part of a table.",
            [](Subnet& s) {
              if (!s.begin()) return;
              s.at("far").table = PlayedSwitch::Table(PlayedSwitch::kLids);
              s.send_trap("far");
              if (!await_right(s)) return;
              std::set<std::uint16_t> blocks;
              std::size_t parts = 0;
              for (const Asked& one : s.asked()) {
                if (one.at != "far" || !sets(one)) continue;
                blocks.insert(one.smp.table().block);
                parts = one.smp.table().parts;
              }
              s.expect(blocks.contains(0) && blocks.contains(1) && parts == blocks.size(),
                       "the blocks 0 and 1, and as many blocks as parts");
            });
  group.add("check", "P-SUBN-6", "The check of a table that is set is that of all its LIDs.",
            [](Subnet& s) {
              if (!s.begin()) return;
              s.set_cable("east", 3, State::kDown);
              if (!await_right(s)) return;
              const Asked* const set =
                  s.find([](const Asked& one) { return one.at == "east" && sets(one); });
              if (!s.expect(set != nullptr, "stage set at a switch whose table changes")) return;
              s.expect(set->smp.table().check ==
                           PlayedSwitch::check_of(sent_table(s, "east", Stage::kSet)),
                       "the check of the parts");
            });
  group.add("unknown_table_is_read", "P-SUBN-16", "A table that it does not know is read first.",
            [](Subnet& s) {
              if (!s.begin()) return;
              s.at("far").table.at(kEastNodeLid.value) = std::byte{2};
              s.at("far").table.at(77) = std::byte{1};
              s.send_trap("far");
              if (!await_right(s)) return;
              std::set<std::uint16_t> blocks;
              for (const Asked& one : s.asked()) {
                if (one.at != "far") continue;
                if (one.sets_table()) break;
                if (one.is_read()) blocks.insert(one.smp.table().block);
              }
              s.expect(blocks.contains(0) && blocks.contains(1),
                       "GET TABLE for both blocks before SET TABLE");
            });
  group
      .add("entries_out_of_range", "P-SUBN-14",
           "An entry for a LID that the file has not is taken away.",
           [](Subnet& s) {
             if (!s.begin()) return;
             s.at("far").table.at(1000) = std::byte{2};
             s.send_trap("far");
             await_right(s);
           })
      .level = Level::kShould;
}

void add_unchecked(SubnetGroup& group) {
  group.add("clear_unchecked", "P-SUBN-8",
            "A REPLY to stage clear with another check: no stage set follows.", [](Subnet& s) {
              if (!s.begin()) return;
              bool is_other = false, has_swept = false;
              s.on_reply = [&](const Asked& one, OwnedSmp& reply) -> unsigned {
                has_swept |= is_other && one.at == "west" && one.is_first();
                if (one.at != "west" || !clears(one) || has_swept) return 1;
                if (!is_other) s.forget();
                is_other = true;
                reply.body.at(kCheckAt) ^= std::byte{1};
                return 1;
              };
              s.set_cable("east", 2, State::kDown);
              const auto next = [](const Asked& one) {
                return one.at == "west" && (one.is_first() || sets(one));
              };
              if (!s.await(
                      "a request behind stage clear of west",
                      [&] { return is_other && s.find(next) != nullptr; }, 3s)) {
                return;
              }
              s.expect(s.find(next)->is_first(), "a sweep before stage set");
            });
}

void add_stages(SubnetGroup& group) {
  group.add("clear_has_the_common", "P-SUBN-8",
            "Stage clear leaves the entries that the old and the new table have in common.",
            [](Subnet& s) {
              if (!s.begin()) return;
              const PlayedSwitch::Table before = s.at("west").table;
              s.set_cable("east", 2, State::kDown);
              if (!await_right(s)) return;
              const PlayedSwitch::Table after = s.at("west").table;
              const PlayedSwitch::Table common = sent_table(s, "west", Stage::kClear);
              if (!s.expect(s.count(clears) > 0, "stage clear")) return;
              for (std::size_t lid = 0; lid < common.size(); ++lid) {
                const std::byte kept = before[lid] == after[lid] ? before[lid] : std::byte{0};
                if (!s.expect(common[lid] == kept, "the entries of both tables, and no others"))
                  return;
              }
            });
  group.add("clear_before_set", "P-SUBN-8",
            "No switch gets stage set before all have replied to clear.", [](Subnet& s) {
              if (!s.begin()) return;
              std::optional<base::Time> replied;
              std::size_t held_back = 0;
              s.on_reply = [&](const Asked& one, OwnedSmp&) -> unsigned {
                if (one.at != "west" || !clears(one)) return 1;
                if (++held_back < 4) return 0;
                replied = one.when;
                return 1;
              };
              s.set_cable("east", 2, State::kDown);
              if (!await_right(s)) return;
              if (!s.expect(replied.has_value(), "stage clear at west")) return;
              const Asked* const set = s.find(sets);
              s.expect(set != nullptr && set->when >= *replied, "stage set behind the last reply");
            });
  group.add("clear_stale", "P-SUBN-8",
            "A switch that is stale in stage clear: no stage set follows.", [](Subnet& s) {
              if (!s.begin()) return;
              bool was_stale = false;
              std::size_t sets_between = 0;
              s.on_reply = [&](const Asked& one, OwnedSmp& reply) -> unsigned {
                if (was_stale && sets(one)) {
                  const bool has_swept =
                      s.find([](const Asked& a) { return a.is_node(); }) != nullptr;
                  sets_between += has_swept ? 0U : 1U;
                }
                if (!was_stale && one.at == "west" && clears(one)) {
                  was_stale = true;
                  reply.smp.status = SmpStatus::kStale;
                  s.forget();
                }
                return 1;
              };
              s.set_cable("east", 2, State::kDown);
              if (!await_right(s)) return;
              s.expect(was_stale, "stage clear at west");
              s.expect(sets_between == 0, "a sweep before stage set");
            });
}

// A switch that is silent from a request for its table on is not part of what is up any more. Its
// entries change, so that no stage set may come before the sweep that leaves it out, unless it was
// silent in that stage.
void add_silent(SubnetGroup& group) {
  const auto add = [&](const std::string& name, const std::string& clause, const std::string& what,
                       bool (*suits)(const Asked& one)) {
    group.add(name, clause, "A switch that is silent in " + what + " is left out.",
              [what, suits](Subnet& s) {
                if (!s.begin()) return;
                bool has_swept = suits == sets;
                std::size_t too_early = 0;
                s.on_reply = [&](const Asked& one, OwnedSmp&) -> unsigned {
                  if (one.at == "west" && suits(one)) s.at("west").replies = false;
                  if (!s.at("west").replies) {
                    has_swept |= one.is_first();
                    too_early += sets(one) && !has_swept ? 1U : 0U;
                  }
                  return s.at(one.at).replies ? 1 : 0;
                };
                s.at("west").table.at(kUnsetLid) = std::byte{1};
                s.set_cable("east", 2, State::kDown);
                s.await(what + " at west", [&] { return !s.at("west").replies; });
                await_right(s);
                s.expect(too_early == 0, "a sweep before stage set");
              });
  };
  add("read_never_replied", "P-SUBN-14,P-SUBN-8", "GET TABLE", reads);
  add("clear_never_replied", "P-SUBN-8", "stage clear", clears);
  add("set_never_replied", "P-SUBN-14", "stage set", sets);
}

void add_stage_set(SubnetGroup& group) {
  group.add("set_stale", "P-SUBN-14",
            "A switch that is stale in stage set is asked for NODE again.", [](Subnet& s) {
              if (!s.begin()) return;
              bool was_stale = false;
              s.on_reply = [&](const Asked& one, OwnedSmp& reply) -> unsigned {
                if (!was_stale && one.at == "east" && sets(one)) {
                  was_stale = true;
                  reply.smp.status = SmpStatus::kStale;
                  ++s.at("east").changes;
                  s.at("east").table = PlayedSwitch::Table(PlayedSwitch::kLids);
                }
                return 1;
              };
              s.set_cable("east", 3, State::kDown);
              s.await(
                  "stage set at east", [&] { return was_stale; }, 3s);
              await_right(s);
            });
  group.add("change_between", "P-SUBN-14", "A cable goes down between clear and set.",
            [](Subnet& s) {
              if (!s.begin()) return;
              bool has_changed = false;
              s.on_reply = [&](const Asked& one, OwnedSmp&) -> unsigned {
                if (!has_changed && clears(one)) {
                  has_changed = true;
                  s.at("west").change(3, State::kDown);
                  s.at("far").change(2, State::kDown);
                }
                return 1;
              };
              s.set_cable("east", 2, State::kDown);
              s.await(
                  "stage clear", [&] { return has_changed; }, 3s);
              await_right(s);
            });
  group.add("part_lost", "P-SUBN-12", "A part whose reply is lost is set again.", [](Subnet& s) {
    if (!s.begin()) return;
    std::size_t dropped = 0;
    s.on_reply = [&](const Asked& one, OwnedSmp&) -> unsigned {
      return one.sets_table() && ++dropped % 3 != 0 ? 0U : 1U;
    };
    s.set_cable("east", 3, State::kDown);
    await_right(s);
    s.expect(dropped > 2, "parts of tables");
  });
}

}  // namespace

std::vector<Case> manager_table_cases() {
  SubnetGroup group("manager");
  add_blocks(group);
  add_stages(group);
  add_unchecked(group);
  add_silent(group);
  add_stage_set(group);
  return group.take();
}

}  // namespace splitnic::conformance
