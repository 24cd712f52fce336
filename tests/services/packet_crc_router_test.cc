// The packet CRC between subnets: a router computes the cell CRC of what it forwards, so what its
// memory damages has a right one, and only the packet CRC finds it.
#include <gtest/gtest.h>

#include <set>

#include "tests/services/routed_pair.h"
#include "tests/support/reader.h"
#include "tests/support/spines_carrier.h"

namespace splitnic::fabric::testing::packet_crc_router_test {

using namespace std::chrono_literals;

constexpr std::size_t kBytes = 5000;  // of several cells

// The flags of all queue pairs in the messages of this kind that the end has sent.
std::set<std::uint16_t> flags_sent(const End& end, MgmtKind kind) {
  std::set<std::uint16_t> found;
  for (const TappedCell& cell : end.tap.cells) {
    if (!cell.sent || cell.header().service != Service::kMgmt) continue;
    const CellView view = cell.view();
    Mgmt m;
    if (parse_mgmt(view.payload, m) != MgmtError::kNone || m.kind != kind) continue;
    for (const MgmtPair& one : m.used_pairs()) found.insert(one.flags);
  }
  return found;
}

struct PacketCrcOverRouter : ::testing::Test {
  // The work request of `from` has succeeded, and one packet CRC was found wrong at `at`.
  void expect_repaired(End& from, End& at) {
    ASSERT_TRUE(pair.run_until([&] { return !from.sent.empty(); }));
    EXPECT_EQ(from.sent[0].status, WcStatus::kSuccess);
    EXPECT_EQ(at_unit.bytes, at_host.bytes);
    EXPECT_EQ(at.count(TransportCounter::kPacketCrc), 1U);
  }
  // Those of requests and responses that the end has sent. Each packet ends with its CRC.
  std::size_t packets_sent(const End& end) {
    std::size_t packets = 0;
    for (const TappedCell& cell : end.tap.cells) {
      const MacHeader h = cell.header();
      const bool is_reply = h.op == Op::kAck || h.op == Op::kNak;
      if (!cell.sent || h.service != Service::kRc || is_reply) continue;
      EXPECT_EQ((h.flags & kFlagPacketCrc) != 0, is_last(h.pos))
          << name(h.op) << " " << name(h.pos);
      if (is_last(h.pos)) ++packets;
    }
    return packets;
  }

  RoutedPair world;
  AdapterPair& pair = world.pair;
  End& unit = pair.a();
  End& host = pair.b();
  Memory& at_unit = unit.memory(kBytes, 5);
  Memory& at_host = host.memory(kBytes, 3);
};

TEST_F(PacketCrcOverRouter, S000_33_S001_38_connect_states_it_and_each_packet_ends_with_it) {
  EXPECT_TRUE(unit.link().crosses_routers());
  EXPECT_TRUE(host.link().crosses_routers());
  unit.tap.is_recording = host.tap.is_recording = true;
  const QpPair qp = pair.connect(reading());
  EXPECT_EQ(flags_sent(host, MgmtKind::kConnectReq), std::set<std::uint16_t>{kPairPacketCrc});
  EXPECT_EQ(flags_sent(unit, MgmtKind::kConnectRep), std::set<std::uint16_t>{kPairPacketCrc});
  ASSERT_TRUE(unit.post_recv(qp.a, {at_unit.sge()}));
  ASSERT_TRUE(host.post_send(qp.b, {at_host.sge(0, 9)}));
  ASSERT_TRUE(host.post_write(qp.b, {at_host.sge()}, at_unit.start, at_unit.handle));
  ASSERT_TRUE(post_read(host, qp.b, {at_host.sge()}, at_unit));
  ASSERT_TRUE(pair.run_until([&] { return host.sent.size() == 3; }));
  for (const Wc& wc : host.sent) EXPECT_EQ(wc.status, WcStatus::kSuccess);
  EXPECT_EQ(packets_sent(host), 3U);
  EXPECT_EQ(packets_sent(unit), 1U);
}

TEST_F(PacketCrcOverRouter, S000_33_S001_38_a_damaged_write_comes_again) {
  const QpPair qp = pair.connect(QpInit{});
  world.fabric.memory_before(0).damage_next();
  ASSERT_TRUE(host.post_write(qp.b, {at_host.sge()}, at_unit.start, at_unit.handle));
  expect_repaired(host, unit);
  EXPECT_FALSE(world.fabric.memory_before(0).is_damage_due());
}

TEST_F(PacketCrcOverRouter, S000_33_S001_38_a_damaged_send_comes_again) {
  const QpPair qp = pair.connect(QpInit{});
  ASSERT_TRUE(unit.post_recv(qp.a, {at_unit.sge()}));
  world.fabric.memory_before(0).damage_next();
  ASSERT_TRUE(host.post_send(qp.b, {at_host.sge()}));
  expect_repaired(host, unit);
  EXPECT_EQ(unit.received.size(), 1U);
}

TEST_F(PacketCrcOverRouter, S000_33_S001_38_a_damaged_response_comes_again) {
  const QpPair qp = pair.connect(reading());
  world.fabric.memory_before(1).damage_next();
  ASSERT_TRUE(post_read(host, qp.b, {at_host.sge()}, at_unit));
  expect_repaired(host, host);
}

TEST_F(PacketCrcOverRouter, S000_33_S001_38_a_damaged_packet_of_uc_is_dropped) {
  QpInit init;
  init.service = Service::kUc;
  const QpPair qp = pair.connect(init);
  ASSERT_TRUE(unit.post_recv(qp.a, {at_unit.sge()}));
  world.fabric.memory_before(0).damage_next();
  ASSERT_TRUE(host.post_send(qp.b, {at_host.sge()}));
  pair.run_for(5ms);
  EXPECT_TRUE(unit.received.empty());
  EXPECT_EQ(unit.count(TransportCounter::kPacketCrc), 1U);
  ASSERT_TRUE(host.post_send(qp.b, {at_host.sge()}));
  ASSERT_TRUE(pair.run_until([&] { return !unit.received.empty(); }));
  EXPECT_EQ(at_unit.bytes, at_host.bytes);
}

TEST_F(PacketCrcOverRouter, S000_33_S001_38_both_ends_use_it_without_connect) {
  const QpPair qp = pair.connect_by_hand(QpInit{});
  EXPECT_TRUE(unit.qp(qp.a).sends_packet_crc());
  world.fabric.memory_before(0).damage_next();
  ASSERT_TRUE(host.post_write(qp.b, {at_host.sge()}, at_unit.start, at_unit.handle));
  expect_repaired(host, unit);
}

// The unit takes the host for one that sends none, and the host knows that the unit does.
TEST_F(PacketCrcOverRouter, P_CM_8_each_side_checks_if_the_other_one_has_stated_it) {
  const Qpn a = unit.create_qp(QpInit{}), b = host.create_qp(QpInit{});
  MgmtPair of_unit = unit.adapter->describe(a, 0, 0);
  const MgmtPair of_host = host.adapter->describe(b, 0, 0);
  of_unit.flags |= kPairPacketCrc;
  ASSERT_TRUE(unit.adapter->connect_qp(of_unit, of_host, unit.link()));
  ASSERT_TRUE(host.adapter->connect_qp(of_host, of_unit, host.link()));
  world.fabric.memory_before(0).damage_next();
  ASSERT_TRUE(host.post_write(b, {at_host.sge()}, at_unit.start, at_unit.handle));
  ASSERT_TRUE(pair.run_until([&] { return !host.sent.empty(); }));
  EXPECT_EQ(host.sent[0].status, WcStatus::kSuccess);
  EXPECT_NE(at_unit.bytes, at_host.bytes);
  EXPECT_EQ(unit.count(TransportCounter::kPacketCrc), 0U);
  world.fabric.memory_before(1).damage_next();
  ASSERT_TRUE(unit.post_write(a, {at_unit.sge()}, at_host.start, at_host.handle));
  expect_repaired(unit, host);
}

// Two switches between the ends change no cell.
TEST(PacketCrcInSubnet, S000_33_S001_38_there_is_none) {
  SpinesPair world;
  AdapterPair& pair = world.pair;
  EXPECT_FALSE(pair.a().link().crosses_routers() || pair.b().link().crosses_routers());
  pair.a().tap.is_recording = pair.b().tap.is_recording = true;
  const QpPair qp = pair.connect(QpInit{});
  EXPECT_EQ(flags_sent(pair.b(), MgmtKind::kConnectReq), std::set<std::uint16_t>{0});
  EXPECT_EQ(flags_sent(pair.a(), MgmtKind::kConnectRep), std::set<std::uint16_t>{0});
  EXPECT_FALSE(pair.a().qp(qp.a).sends_packet_crc() || pair.b().qp(qp.b).sends_packet_crc());
}

}  // namespace splitnic::fabric::testing::packet_crc_router_test
