// Tables that the suite sets at the tested switch as a better manager. docs/protocol/subnet.md
#include <algorithm>
#include <array>

#include "conformance/case.h"
#include "conformance/cases/subnet_parts.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::Lid;
using fabric::SmpStatus;
using fabric::SmpTable;
using Stage = SmpTable::Stage;
using Table = PlayedSwitch::Table;

// A table that the manager would not have set: it leads east to the far node.
Table table_to_east() {
  Table table(PlayedSwitch::kLids);
  table.at(kNearNodeLid.value) = std::byte{kNodePort};
  table.at(kFarNodeLid.value) = std::byte{kEastPort};
  return table;
}

// The suite manages, and has read NODE.
std::optional<fabric::SmpNode> manage(Subnet& s) {
  if (!s.begin() || !obtain(s)) return std::nullopt;
  s.listen(20ms);
  return node_of_target(s);
}

// The same, with the table that the target has then.
struct Managed {
  fabric::SmpNode node;
  Table table;
};
std::optional<Managed> managed(Subnet& s) {
  const auto node = manage(s);
  const auto table = node ? s.own_table() : std::nullopt;
  if (!table) return std::nullopt;
  return Managed{*node, *table};
}

bool expect_set(Subnet& s, const Table& table, Stage stage, std::uint32_t changes,
                SmpStatus expected) {
  const auto status = set_table(s, table, stage, changes);
  return status && s.expect(*status == expected, "status " + std::string(name(expected)));
}

bool expect_table(Subnet& s, const Table& table, std::string_view expected) {
  const auto now = s.own_table();
  return now && s.expect(*now == table, expected);
}

// The manager replaces itself by one that any other takes over from. A suite without a processor
// for 2 s is heard of too late, and has to become the manager once more.
bool replace_manager(Subnet& s) {
  constexpr int kTries = 8;
  const fabric::ManagerId low{kFarSwitchLid, 0};
  std::optional<OwnedSmp> reply;
  for (int i = 0; i < kTries && s.is_good(); ++i) {
    if (!obtain(s)) return false;
    reply = set_manager(s, low);
    if (reply && reply->smp.status == SmpStatus::kDone) break;
  }
  return expect_status(s, reply, SmpStatus::kDone, low);
}

// A cell of the near node arrives at this cable.
void expect_way(Subnet& s, Lid to, std::size_t port) {
  const ByteVector cell = s.node().cell_to(to, 64, 5);
  s.node().send_cell(cell);
  s.end(port).expect_cell(cell, "the cell of a node at the cable of the table");
}

void add_force(SubnetGroup& group) {
  group.add("sets_a_table", "P-SUBN-6", "Cells follow a table when it is in force.", [](Subnet& s) {
    const auto node = manage(s);
    if (!node) return;
    if (!expect_set(s, table_to_east(), Stage::kSet, node->changes, SmpStatus::kDone)) return;
    expect_table(s, table_to_east(), "the table that was set");
    expect_way(s, kFarNodeLid, kEastPort);
    Table west = table_to_east();
    west.at(kFarNodeLid.value) = std::byte{kWestPort};
    if (!expect_set(s, west, Stage::kSet, node->changes, SmpStatus::kDone)) return;
    expect_way(s, kFarNodeLid, kWestPort);
  });
  group.add("stage_clear", "P-SUBN-6", "A table of stage clear comes into force too.",
            [](Subnet& s) {
              const auto node = manage(s);
              if (!node) return;
              if (!expect_set(s, table_to_east(), Stage::kClear, node->changes, SmpStatus::kDone))
                return;
              expect_table(s, table_to_east(), "the table of stage clear");
            });
  group.add("half_a_table", "P-SUBN-6", "A table of which a part is missing is not in force.",
            [](Subnet& s) {
              const auto before = managed(s);
              if (!before) return;
              const auto reply = s.ask(
                  table_part(table_to_east(), 1,
                             {.stage = Stage::kSet, .parts = 2, .changes = before->node.changes}),
                  "a reply to the first part");
              expect_status(s, reply, SmpStatus::kDone, *better_than_target(s));
              expect_table(s, before->table, "the table as it was");
            });
  group.add("part_twice", "P-SUBN-6", "A part that comes twice counts once.", [](Subnet& s) {
    const auto before = managed(s);
    if (!before) return;
    const SmpTable about{.stage = Stage::kSet, .parts = 2, .changes = before->node.changes};
    for (int i = 0; i < 2; ++i) {
      const auto reply = s.ask(table_part(table_to_east(), 0, about), "a reply to the part");
      expect_status(s, reply, SmpStatus::kDone, *better_than_target(s));
    }
    expect_table(s, before->table, "the table as it was");
    s.ask(table_part(table_to_east(), 1, about), "a reply to the other part");
    expect_table(s, table_to_east(), "the whole table");
  });
  group.add("parts_in_any_order", "P-SUBN-6", "Parts may come in any order.", [](Subnet& s) {
    const auto node = manage(s);
    if (!node) return;
    const SmpTable about{.stage = Stage::kSet, .parts = 2, .changes = node->changes};
    for (const std::uint16_t block : std::array<std::uint16_t, 2>{1, 0}) {
      const auto reply = s.ask(table_part(table_to_east(), block, about), "a reply to the part");
      expect_status(s, reply, SmpStatus::kDone, *better_than_target(s));
    }
    expect_table(s, table_to_east(), "the whole table");
  });
}

// The block 1 is of another table than the block 0, if only by what is not in a block.
void add_two_tables(SubnetGroup& group) {
  const auto add = [&](const std::string& name, const std::string& by, Stage stage,
                       void (*change)(SmpTable & about)) {
    group.add(name, "P-SUBN-6", "Parts of two tables make none: they differ by " + by + ".",
              [=](Subnet& s) {
                const auto before = managed(s);
                if (!before) return;
                const SmpTable one{.stage = stage, .parts = 2, .changes = before->node.changes};
                SmpTable other = one;
                change(other);
                const auto send = [&](std::uint16_t block, const SmpTable& about) {
                  return s.ask(table_part(table_to_east(), block, about), "a reply to the part");
                };
                if (!send(0, one) || !send(1, other)) return;
                if (!expect_table(s, before->table, "the table as it was")) return;
                if (send(1, other) && send(0, one)) expect_table(s, before->table, "that table");
              });
  };
  add("parts_of_two_tables", "their check", Stage::kSet,
      [](SmpTable& about) { about.check = 0xBAD; });
  add("parts_of_two_stages", "their stage", Stage::kClear,
      [](SmpTable& about) { about.stage = Stage::kSet; });
  add("parts_of_two_counts", "the count of their parts", Stage::kSet,
      [](SmpTable& about) { about.parts = 3; });
  add("parts_of_two_times", "the changes of NODE", Stage::kClear,
      [](SmpTable& about) { ++about.changes; });
}

void add_wrong_tables(SubnetGroup& group) {
  add_two_tables(group);
  group.add(
      "change_between_parts", "P-SUBN-6",
      "A link changes between two parts of stage set: the table is stale.", [](Subnet& s) {
        const auto before = managed(s);
        if (!before) return;
        const SmpTable about{.stage = Stage::kSet, .parts = 2, .changes = before->node.changes};
        s.ask(table_part(table_to_east(), 0, about), "a reply to the part");
        drop_cable(s, kWestPort);
        s.wait_for([&] { return std::ranges::any_of(s.taken(), &Taken::is_trap); }, 200ms);
        const auto reply = s.ask(table_part(table_to_east(), 1, about), "a reply to the part");
        expect_status(s, reply, SmpStatus::kStale, *better_than_target(s));
        expect_table(s, before->table, "the table as it was");
      });
  group.add("wrong_check", "P-SUBN-6", "A table with a wrong check is stale, and not in force.",
            [](Subnet& s) {
              const auto before = managed(s);
              if (!before) return;
              const auto reply = s.ask(table_part(table_to_east(), 0,
                                                  {.stage = Stage::kSet,
                                                   .parts = 1,
                                                   .changes = before->node.changes,
                                                   .check = 0xBAD}),
                                       "a reply to SET TABLE");
              expect_status(s, reply, SmpStatus::kStale, *better_than_target(s));
              expect_table(s, before->table, "the table as it was");
            });
  group.add(
      "old_changes", "P-SUBN-6", "Stage set with the changes of before is stale.", [](Subnet& s) {
        const auto before = managed(s);
        if (!before) return;
        expect_set(s, table_to_east(), Stage::kSet, before->node.changes - 1, SmpStatus::kStale);
        expect_table(s, before->table, "the table as it was");
      });
  group.add("unknown_port", "P-SUBN-2", "A table with a port that the file has nothing at is bad.",
            [](Subnet& s) {
              const auto before = managed(s);
              if (!before) return;
              Table table(PlayedSwitch::kLids);  // of block 0 alone, so that its check is right
              table.at(kNearNodeLid.value) = std::byte{kNodePort};
              table.at(kWestNodeLid.value) = std::byte{9};
              const SmpTable about{
                  .stage = Stage::kSet, .parts = 1, .changes = before->node.changes};
              const auto reply = s.ask(table_part(table, 0, about), "a reply to SET TABLE");
              expect_status(s, reply, SmpStatus::kBad, *better_than_target(s));
              expect_table(s, before->table, "the table as it was");
            });
  group.add("table_of_nobody", "P-SUBN-5", "SET TABLE of a manager that was replaced is refused.",
            [](Subnet& s) {
              if (!manage(s) || !replace_manager(s)) return;
              const SmpTable about{.stage = Stage::kClear, .parts = 1};
              const auto reply =
                  s.ask(table_part(table_to_east(), 0, about), "a reply to SET TABLE");
              if (reply) s.expect(reply->smp.status == SmpStatus::kRefused, "status refused");
            });
  group.add("tables_stay", "P-SUBN-6", "A table stays while its manager is silent.", [](Subnet& s) {
    const auto node = manage(s);
    if (!node) return;
    if (!expect_set(s, table_to_east(), Stage::kSet, node->changes, SmpStatus::kDone)) return;
    s.listen(500ms);
    expect_table(s, table_to_east(), "the table that was set");
  });
}

bool expect_state(Subnet& s, std::size_t number, fabric::SmpNode::PortState state,
                  std::string_view expected) {
  const auto node = node_of_target(s);
  if (!node) return false;
  const auto port =
      std::ranges::find(node->used_ports(), number, &fabric::SmpNode::PortInfo::number);
  return s.expect(port != node->used_ports().end() && port->state == state, expected);
}

// The west cable goes down and comes up. Returns NODE of the target then; nothing after a failure.
std::optional<fabric::SmpNode> renew_west(Subnet& s) {
  drop_cable(s, kWestPort);
  s.listen(10ms);
  if (!s.end(kWestPort).link()) return std::nullopt;
  return node_of_target(s);
}

Table table_over_west() {
  Table table = table_to_east();
  table.at(kFarNodeLid.value) = std::byte{kWestPort};
  return table;
}

ByteVector cell_from_west(Subnet& s) {
  fabric::CellHead head = s.end(kWestPort).head_to(kNearNodeLid);
  head.header.slid = kFarNodeLid;
  return Node::cell_with(head, 64, 7);
}

ByteVector cell_from_east(Subnet& s, Lid to, unsigned number) {
  fabric::CellHead head = s.end(kEastPort).head_to(to);
  head.header.slid = kEastNodeLid;
  return Node::cell_with(head, 64, number);
}

// A cell of the node or of the other cable does not leave over the west cable, and one from there
// does not come in: the node gets one from east that was sent after it. No RESOLVE is served there.
void expect_held(Subnet& s) {
  Node& west = s.end(kWestPort);
  s.node().forget_cells();
  s.node().send_cell(s.node().cell_to(kFarNodeLid, 64, 6));
  s.end(kEastPort).send_cell(cell_from_east(s, kFarNodeLid, 9));
  west.send_cell(cell_from_west(s));
  const fabric::Mgmt resolve = west.question(fabric::MgmtKind::kResolve, kNearNodeName);
  west.send(resolve);
  s.listen(20ms);
  const ByteVector fence = cell_from_east(s, kNearNodeLid, 8);
  s.end(kEastPort).send_cell(fence);
  s.node().expect_cell(fence, "a cell from the other cable, and none from a cable that is held");
  s.listen(20ms);
  s.expect(s.node().cells() == 0, "nothing behind the cell from the other cable");
  s.expect(west.cells() == 0, "no cell at a cable that is held");
  s.expect(west.inbox().waiting(EventKind::kMgmt) == 0, "no reply at a cable that is held");
}

// Only a whole table of stage set ends it that a cable is held. SMPs pass meanwhile.
void add_held_on(SubnetGroup& group) {
  constexpr auto kHeld = fabric::SmpNode::PortState::kHeld;
  group.add("held_on", "P-SUBN-9",
            "SET MANAGER, a part of stage set and a wrong check do not end it.", [](Subnet& s) {
              if (!manage(s)) return;
              const auto held = renew_west(s);
              if (!held) return;
              keep(s);
              expect_state(s, kWestPort, kHeld, "a held cable behind SET MANAGER");
              SmpTable about{.stage = Stage::kSet, .parts = 2, .changes = held->changes};
              s.ask(table_part(table_over_west(), 0, about), "a reply to the part");
              expect_state(s, kWestPort, kHeld, "a held cable behind the first part");
              about.parts = 1;
              about.check = 0xBAD;
              s.ask(table_part(table_over_west(), 0, about), "a reply to SET TABLE");
              expect_state(s, kWestPort, kHeld, "a held cable behind a wrong check");
            });
  group.add("held_passes_smps", "P-SUBN-9", "A held cable carries SMPs.", [](Subnet& s) {
    if (!manage(s) || !renew_west(s)) return;
    OwnedSmp get =
        Subnet::request(fabric::SmpMethod::kGet, fabric::SmpAttribute::kNode, {kEastLid, 0});
    get.smp.route.hops = 2;
    get.smp.route.ports[1] = kWestPort;
    s.ask(get, "a reply of the switch at the held cable");
  });
  group.add("node_is_not_held", "P-SUBN-9", "The link of a node is never held.", [](Subnet& s) {
    const auto node = manage(s);
    if (!node) return;
    if (!expect_set(s, table_to_east(), Stage::kSet, node->changes, SmpStatus::kDone)) return;
    drop_cable(s, kNodePort);
    s.listen(10ms);
    if (!s.node().link()) return;
    keep(s);
    expect_state(s, kNodePort, fabric::SmpNode::PortState::kUp, "state up of a node");
    expect_way(s, kFarNodeLid, kEastPort);
  });
}

// Blocks that no LID of the file is in are blocks as all others.
void add_blocks(SubnetGroup& group) {
  constexpr std::uint16_t kLast = fabric::kSmpBlocksMax - 1;
  group.add("last_block", "P-SUBN-6", "A table may have parts for any blocks.", [](Subnet& s) {
    const auto node = manage(s);
    if (!node) return;
    const SmpTable about{.stage = Stage::kSet, .parts = 3, .changes = node->changes};
    for (const std::uint16_t block : std::array<std::uint16_t, 3>{kLast, 1, 0}) {
      const auto reply = s.ask(table_part(table_to_east(), block, about), "a reply to the part");
      expect_status(s, reply, SmpStatus::kDone, *better_than_target(s));
    }
    expect_table(s, table_to_east(), "the whole table");
  });
  group.add(
      "reply_to_set", "P-SUBN-1", "REPLY to SET TABLE has block, stage and check in force.",
      [](Subnet& s) {
        const auto before = managed(s);
        if (!before) return;
        const SmpTable about{.stage = Stage::kSet, .parts = 2, .changes = before->node.changes};
        for (const std::uint16_t block : std::array<std::uint16_t, 2>{1, 0}) {
          const auto reply =
              s.ask(table_part(table_to_east(), block, about), "a reply to the part");
          if (!reply) return;
          const SmpTable got = reply->table();
          s.expect(got.block == block && got.stage == Stage::kSet && got.ports.empty(),
                   "the block and the stage of the part");
          s.expect(
              got.check == PlayedSwitch::check_of(block == 0 ? table_to_east() : before->table),
              "the check of the table in force");
        }
      });
}

void add_held(SubnetGroup& group) {
  group.add("held", "P-SUBN-9", "A cable that comes up carries no cells before stage set.",
            [](Subnet& s) {
              const auto node = manage(s);
              if (!node) return;
              const Table table = table_over_west();
              if (!expect_set(s, table, Stage::kSet, node->changes, SmpStatus::kDone)) return;
              const auto held = renew_west(s);
              if (!held) return;
              expect_state(s, kWestPort, fabric::SmpNode::PortState::kHeld,
                           "state held of the port");
              expect_held(s);
              keep(s);
              expect_set(s, table, Stage::kSet, held->changes, SmpStatus::kDone);
              expect_way(s, kFarNodeLid, kWestPort);
              const ByteVector cell = cell_from_west(s);
              s.end(kWestPort).send_cell(cell);
              s.node().expect_cell(cell, "a cell from the cable, which is not held any more");
              const ByteVector transit = cell_from_east(s, kFarNodeLid, 10);
              s.end(kEastPort).send_cell(transit);
              s.end(kWestPort).expect_cell(transit, "a cell from one cable at the other one");
              s.end(kWestPort).ask(fabric::MgmtKind::kResolve, kNearNodeName,
                                   "a reply of the switch itself at the cable");
            });
  group.add("held_after_clear", "P-SUBN-9", "Stage clear does not end it that a cable is held.",
            [](Subnet& s) {
              if (!manage(s)) return;
              const auto held = renew_west(s);
              if (!held) return;
              if (!expect_set(s, table_over_west(), Stage::kClear, held->changes, SmpStatus::kDone))
                return;
              expect_held(s);
            });
}

}  // namespace

std::vector<Case> agent_table_cases() {
  SubnetGroup group("agent");
  add_force(group);
  add_blocks(group);
  add_wrong_tables(group);
  add_held(group);
  add_held_on(group);
  return group.take();
}

}  // namespace splitnic::conformance
