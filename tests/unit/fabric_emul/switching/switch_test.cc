// The forwarding core: each cell leaves by the port of its DLID, unchanged; each other one is
// counted by its cause.
#include "fabric_emul/switching/switch.h"

#include <gtest/gtest.h>

#include "fabric_emul/switching/path_cell.h"
#include "tests/unit/fabric_emul/switching/switch_world.h"

namespace splitnic::fabric {
namespace switch_test {

using namespace switch_world;

TEST(SwitchTest, S000_32_X_16_each_cell_leaves_by_the_port_of_its_dlid_and_unchanged) {
  World world(4);
  base::SeededRandom random(3);
  std::map<std::size_t, std::vector<Cell>> expected;
  for (unsigned i = 0; i < 2000; ++i) {
    const std::size_t from = 1 + random.next() % 4;
    const std::size_t to = 1 + (from + random.next() % 3) % 4;
    Cell sent = cell(World::lid(from), World::lid(to), random.next() % 1300, i);
    ASSERT_TRUE(world.write(from, sent));
    expected[to].push_back(std::move(sent));
    world.settle();
  }
  for (std::size_t to = 1; to <= 4; ++to) EXPECT_EQ(world.node(to).cells, expected[to]);
  EXPECT_EQ(world.count(SwitchCounter::kTxCell), 2000U);
  EXPECT_EQ(world.drops(), 0U);
  EXPECT_TRUE(world.is_balanced());
}

TEST(SwitchTest, S000_38_payload_packet_crc_and_headers_cross_a_hop_untouched) {
  World world(2);
  Gnh gnh{};
  const Cell local = cell(World::lid(1), World::lid(2), 333, 1);
  const Cell global =
      cell_with(World::lid(1), World::lid(2), 333, 2, [&](CellHead& head) { head.gnh = &gnh; });
  ASSERT_TRUE(world.write(1, local));
  ASSERT_TRUE(world.write(1, global));
  world.settle();
  ASSERT_EQ(world.node(2).cells, (std::vector<Cell>{local, global}));
  CellView view;
  ASSERT_EQ(parse_cell(world.node(2).cells[0], view), CellError::kNone);
  PacketCrc crc;
  crc.add(view);
  EXPECT_EQ(view.packet_crc, crc.value());
  EXPECT_EQ(view.header.flags & kFlagGlobal, 0);
}

TEST(SwitchTest, S000_32_an_unknown_lid_is_dropped_and_counted) {
  World world(2);
  ASSERT_TRUE(world.write(1, cell(World::lid(1), Lid(99))));
  ASSERT_TRUE(world.write(1, cell(World::lid(1), Lid(0))));
  world.settle();
  EXPECT_EQ(world.count(SwitchCounter::kDropLid), 2U);
  EXPECT_TRUE(world.node(2).cells.empty());
  EXPECT_TRUE(world.is_balanced());
}

TEST(SwitchTest, S000_34_a_node_sends_with_its_own_lid_only) {
  World world(3);
  ASSERT_TRUE(world.write(1, cell(World::lid(3), World::lid(2))));
  world.settle();
  EXPECT_EQ(world.count(SwitchCounter::kDropSource), 1U);
  EXPECT_TRUE(world.node(2).cells.empty());
}

TEST(SwitchTest, a_cell_with_a_wrong_crc_or_version_or_for_its_own_port_is_dropped) {
  World world(2);
  Cell damaged = cell(World::lid(1), World::lid(2));
  damaged[40] ^= std::byte{1};
  ASSERT_TRUE(world.write(1, damaged));
  ASSERT_TRUE(world.write(1, cell_with(World::lid(1), World::lid(2), 8, 0,
                                       [](CellHead& head) { head.header.version = 2; })));
  ASSERT_TRUE(world.write(1, cell(World::lid(1), World::lid(1))));
  world.settle();
  EXPECT_EQ(world.count(SwitchCounter::kDropCrc), 1U);
  EXPECT_EQ(world.count(SwitchCounter::kDropVersion), 1U);
  EXPECT_EQ(world.count(SwitchCounter::kDropSamePort), 1U);
  EXPECT_TRUE(world.node(1).cells.empty() && world.node(2).cells.empty());
  EXPECT_TRUE(world.is_balanced());
}

TEST(SwitchTest, cells_for_a_port_whose_link_is_down_are_dropped) {
  World world(3);
  world.node(2).port.send_bye(world.clock.now());
  world.settle({2});
  ASSERT_TRUE(world.write(1, cell(World::lid(1), World::lid(2))));
  ASSERT_TRUE(world.write(1, cell(World::lid(1), World::lid(3))));
  world.settle({2});
  EXPECT_EQ(world.count(SwitchCounter::kDropDown), 1U);
  EXPECT_EQ(world.node(3).cells.size(), 1U);
}

TEST(SwitchTest, S000_34_a_switch_resolves_the_names_of_its_subnet) {
  World world(2);
  const auto ask = [&](MgmtKind kind, std::string_view name) {
    Mgmt m;
    m.kind = kind;
    m.transaction = 5;
    m.instance = 1;
    m.private_data = base::as_bytes(name);
    if (kind == MgmtKind::kConnectReq) {
      m.pair_count = 1;
      m.pairs[0].qpn = Qpn(9);
      m.pairs[0].mcp = 256;
    }
    world.node(1).cells.clear();
    EXPECT_TRUE(send_mgmt(world.node(1).link(), World::lid(1), Lid(1), m));
    world.node(1).port.flush(world.clock.now());
    world.settle();
    EXPECT_EQ(world.node(1).cells.size(), 1U);
    const auto payload = payload_of_path_cell(world.node(1).cells.at(0), kSwitchQpn, false);
    Mgmt reply;
    EXPECT_EQ(parse_mgmt(payload.value(), reply), MgmtError::kNone);
    EXPECT_EQ(reply.transaction, 5U);
    return std::make_pair(reply.kind, reply.private_data.size());
  };
  EXPECT_EQ(ask(MgmtKind::kResolve, "n2"), std::make_pair(MgmtKind::kResolved, std::size_t{2}));
  EXPECT_EQ(ask(MgmtKind::kResolve, "n3"), std::make_pair(MgmtKind::kResolved, std::size_t{0}));
  EXPECT_EQ(ask(MgmtKind::kConnectReq, "").first, MgmtKind::kConnectRej);
  EXPECT_EQ(world.count(SwitchCounter::kMgmt), 3U);
}

}  // namespace switch_test
}  // namespace splitnic::fabric
