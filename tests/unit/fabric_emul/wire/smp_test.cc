#include "fabric_emul/wire/smp.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "fabric_emul/wire/smp_lids.h"
#include "tests/unit/fabric_emul/wire/codec.h"
#include "tests/unit/fabric_emul/wire/smp_cells.h"

namespace splitnic::fabric {
namespace smp_test {

using golden::Bytes;
using smp_cells::bytes_of;
using smp_cells::cell_of;

SmpError error_of(const Bytes& bytes) { return golden::error_of(bytes, parse_smp); }

Smp get_node() {
  Smp smp;
  smp.manager = {Lid(1), 5};
  smp.transaction = 0x1122334455667788;
  smp.route.hops = 2;
  smp.route.ports[0] = 2;
  smp.route.ports[1] = 3;
  smp.hop = 1;
  return smp;
}

SmpNode node() {
  SmpNode out;
  out.lid = Lid(3);
  out.name = "sw3";
  out.changes = 4;
  out.eui64 = Eui64(0x0200000000000003);
  out.check = 0xCAFE0001;
  out.port_count = 2;
  out.ports[0] = {1, SmpNode::PortState::kUp, Lid(2), Eui64(0x0200000000000002)};
  out.ports[1] = {2, SmpNode::PortState::kDown, Lid(10), Eui64(0)};
  return out;
}

TEST(SmpTest, P_SUBN_1_golden_cells_of_a_request_and_its_reply) {
  Smp smp = get_node();
  EXPECT_EQ(cell_of(Lid(1), Lid(2), smp),
            "10d80200 00020001 f0000002 00000002 00000000 00000016 ffff0000 01010100 "
            "00010500 11223344 55667788 02010000 02030000 81368fcd");
  smp.hop = 2;
  smp.route.ports[0] = 1;
  EXPECT_EQ(cell_of(Lid(2), Lid(3), smp),
            "10d80200 00030002 f0000002 00000002 00000000 00000016 ffff0000 01010100 "
            "00010500 11223344 55667788 02020000 01030000 a7a91923");
  std::array<std::byte, kSmpBytesMax> body;
  const SmpNode info = node();
  smp.method = SmpMethod::kReply;
  smp.route.ports = {1, 1};
  smp.hop = 1;
  smp.body = base::Bytes(body).first(emit_smp_node(body, info));
  EXPECT_EQ(cell_of(Lid(3), Lid(2), smp),
            "10d80300 00020003 f0000002 00000002 00000000 00000045 ffff0000 01030100 "
            "00010500 11223344 55667788 0201002f 01010003 02030000 00040200 00000000 "
            "0003cafe 00017377 33010100 02020000 00000000 02020000 0a000000 00000000 "
            "00000000 8c22cabb");
}

TEST(SmpTest, P_SUBN_24_golden_cells_of_lids_for_a_node_and_its_reply) {
  std::array<std::byte, kSmpPortBodyBytes> body;
  Smp smp = get_node();
  smp.method = SmpMethod::kSet;
  smp.attribute = SmpAttribute::kPort;
  smp.hop = 2;
  smp.route.ports[0] = 1;
  smp.body = base::Bytes(body).first(emit_smp_port(body, {Lid(8), 3}));
  EXPECT_EQ(cell_of(Lid(2), Lid(), smp),
            "10d80200 00000002 f0000002 00000002 00000000 0000001a ffff0000 01020500 00010500 "
            "11223344 55667788 02020004 01030008 03000000 bdbf5227");
  smp.method = SmpMethod::kReply;
  smp.route.ports = {1, 1};
  smp.hop = 1;
  EXPECT_EQ(cell_of(Lid(), Lid(2), smp),
            "10d80200 00020000 f0000002 00000002 00000000 0000001a ffff0000 01030500 00010500 "
            "11223344 55667788 02010004 01010008 03000000 7748885c");
}

TEST(SmpTest, P_SUBN_1_all_kinds_survive_a_round_trip) {
  std::array<std::byte, kSmpBytesMax> body;
  const auto survives = [](const Smp& smp) {
    const Bytes bytes = bytes_of(smp);
    Smp out;
    ASSERT_EQ(parse_smp(bytes, out), SmpError::kNone);
    EXPECT_EQ(bytes_of(out), bytes);
    EXPECT_EQ(out.route, smp.route);
    EXPECT_EQ(out.manager, smp.manager);
    EXPECT_EQ(out.transaction, smp.transaction);
  };
  Smp smp = get_node();
  survives(smp);
  smp.method = SmpMethod::kTrap;
  survives(smp);
  smp.method = SmpMethod::kSet;
  smp.attribute = SmpAttribute::kManager;
  survives(smp);
  smp.method = SmpMethod::kReply;
  smp.status = SmpStatus::kRefused;
  survives(smp);
  const std::array<std::byte, kSmpBlockLids> ports{std::byte{1}, std::byte{2}};
  smp.attribute = SmpAttribute::kTable;
  smp.status = SmpStatus::kDone;
  SmpTable table;
  table.block = 191;
  table.check = 7;
  table.ports = ports;
  smp.body = base::Bytes(body).first(emit_smp_table(body, table));
  survives(smp);
  smp.method = SmpMethod::kSet;
  table.stage = SmpTable::Stage::kClear;
  table.parts = 192;
  smp.body = base::Bytes(body).first(emit_smp_table(body, table));
  survives(smp);
  SmpTable part;
  ASSERT_EQ(parse_smp_table(smp.body, part), SmpError::kNone);
  EXPECT_EQ(part.block, 191);
  EXPECT_EQ(part.parts, 192);
  EXPECT_EQ(part.stage, SmpTable::Stage::kClear);
  EXPECT_EQ(part.ports.size(), kSmpBlockLids);
}

TEST(SmpTest, P_SUBN_1_the_largest_node_fits) {
  SmpNode info = node();
  info.name = std::string(64, 'x');
  info.port_count = kSmpPortsMax;
  for (std::size_t i = 0; i < kSmpPortsMax; ++i) {
    info.ports[i] = {static_cast<std::uint8_t>(i + 1), SmpNode::PortState::kHeld, Lid(9),
                     Eui64(~0ULL)};
  }
  std::array<std::byte, kSmpBytesMax> body;
  Smp smp = get_node();
  smp.method = SmpMethod::kReply;
  smp.route.hops = kSmpHopsMax;
  smp.route.ports.fill(32);
  smp.body = base::Bytes(body).first(emit_smp_node(body, info));
  const Bytes bytes = bytes_of(smp);
  EXPECT_EQ(bytes.size(), kSmpBytesMax);
  Smp out;
  ASSERT_EQ(parse_smp(bytes, out), SmpError::kNone);
  SmpNode parsed;
  ASSERT_EQ(parse_smp_node(out.body, parsed), SmpError::kNone);
  EXPECT_EQ(parsed, info);
}

TEST(SmpTest, P_SUBN_2_every_truncation_and_every_extra_byte_is_refused) {
  std::array<std::byte, kSmpBytesMax> body;
  Smp smp = get_node();
  smp.method = SmpMethod::kReply;
  smp.body = base::Bytes(body).first(emit_smp_node(body, node()));
  Bytes bytes = bytes_of(smp);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<long>(size));
    EXPECT_EQ(error_of(cut), size < 22 ? SmpError::kShort : SmpError::kLength) << size;
  }
  bytes.push_back(std::byte{0});
  EXPECT_EQ(error_of(bytes), SmpError::kLength);
}

TEST(SmpTest, P_SUBN_2_illegal_values_are_refused_by_their_cause) {
  const auto with = [](std::size_t at, unsigned value) {
    Bytes bytes = bytes_of(get_node());
    bytes[at] = static_cast<std::byte>(value);
    return error_of(bytes);
  };
  EXPECT_EQ(with(0, 2), SmpError::kFormat);
  for (const unsigned method : {0U, 5U, 255U}) EXPECT_EQ(with(1, method), SmpError::kFormat);
  for (const unsigned attribute : {0U, 8U}) EXPECT_EQ(with(2, attribute), SmpError::kFormat);
  EXPECT_EQ(with(3, 1), SmpError::kFormat) << "a status in a request";
  EXPECT_EQ(with(16, 65), SmpError::kRoute);
  EXPECT_EQ(with(17, 3), SmpError::kRoute) << "behind the end";
  EXPECT_EQ(with(20, 0), SmpError::kRoute);
  EXPECT_EQ(with(21, 33), SmpError::kRoute);
  EXPECT_EQ(with(2, 2), SmpError::kBody) << "GET of TABLE names a block";
  EXPECT_EQ(with(7, 255), SmpError::kNone) << "reserved";
}

TEST(SmpTest, P_SUBN_2_illegal_bodies_are_refused) {
  Bytes good(node().bytes());
  emit_smp_node(good, node());
  SmpNode out;
  ASSERT_EQ(parse_smp_node(good, out), SmpError::kNone);
  const auto node_with = [&](std::size_t at, unsigned value) {
    Bytes bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    return parse_smp_node(bytes, out);
  };
  EXPECT_EQ(node_with(2, 1), SmpError::kBody) << "count of ports";
  EXPECT_EQ(node_with(3, 4), SmpError::kBody) << "length of the name";
  EXPECT_EQ(node_with(20, ' '), SmpError::kBody) << "no name";
  EXPECT_EQ(node_with(23, 0), SmpError::kBody) << "port 0";
  EXPECT_EQ(node_with(23, 2), SmpError::kBody) << "a port twice";
  EXPECT_EQ(node_with(24, 3), SmpError::kNone);
  EXPECT_EQ(node_with(24, 4), SmpError::kBody) << "state";
  const auto table_with = [](std::uint16_t block, std::uint8_t stage, std::size_t bytes) {
    Bytes body(bytes);
    if (bytes >= 3) {
      base::store_be(body.data(), block);
      body[2] = static_cast<std::byte>(stage);
    }
    SmpTable table;
    return parse_smp_table(body, table);
  };
  EXPECT_EQ(table_with(0, 0, 12), SmpError::kNone);
  EXPECT_EQ(table_with(191, 2, 268), SmpError::kNone);
  EXPECT_EQ(table_with(192, 0, 12), SmpError::kBody);
  EXPECT_EQ(table_with(0, 3, 12), SmpError::kBody);
  EXPECT_EQ(table_with(0, 0, 11), SmpError::kBody);
  EXPECT_EQ(table_with(0, 0, 13), SmpError::kBody);
  EXPECT_EQ(table_with(0, 0, 0), SmpError::kBody);
}

Smp with_body(SmpMethod method, SmpAttribute attribute, const Bytes& body) {
  Smp smp = get_node();
  smp.method = method;
  smp.attribute = attribute;
  smp.body = body;
  return smp;
}

TEST(SmpTest, P_SUBN_1_lids_of_nodes_survive_a_round_trip) {
  SmpLids lids;
  lids.first = 64;
  lids.count = 66;
  lids.check = 0xCAFE0002;
  lids.entry_count = 2;
  lids.entries[0] = {Lid(8), 3};
  lids.entries[1] = {Lid(0xBFFF), 0};
  Bytes body(lids.bytes());
  ASSERT_EQ(emit_smp_lids(body, lids), 16U);
  EXPECT_EQ(golden::hex_of(body), "00400042 cafe0002 00080300 bfff0000");
  const Bytes bytes = bytes_of(with_body(SmpMethod::kSet, SmpAttribute::kLids, body));
  Smp smp;
  SmpLids out;
  ASSERT_EQ(parse_smp(bytes, smp), SmpError::kNone);
  ASSERT_EQ(parse_smp_lids(smp.body, out), SmpError::kNone);
  EXPECT_EQ(out.first, 64);
  EXPECT_EQ(out.count, 66);
  EXPECT_EQ(out.check, lids.check);
  ASSERT_EQ(out.entry_count, 2U);
  EXPECT_EQ(out.entries[0], lids.entries[0]);
  EXPECT_EQ(out.entries[1], lids.entries[1]);
  const PortLids port{Lid(8), 3};
  Bytes of_port(kSmpPortBodyBytes);
  ASSERT_EQ(emit_smp_port(of_port, port), 4U);
  EXPECT_EQ(golden::hex_of(of_port), "00080300");
  PortLids parsed;
  ASSERT_EQ(parse_smp_port(of_port, parsed), SmpError::kNone);
  EXPECT_EQ(parsed, port);
}

TEST(SmpTest, P_SUBN_2_illegal_lids_are_refused) {
  const auto error_with = [](SmpMethod method, SmpAttribute attribute, const std::string& hex) {
    return error_of(bytes_of(with_body(method, attribute, golden::bytes_of(hex))));
  };
  using enum SmpMethod;
  const auto lids = SmpAttribute::kLids, port = SmpAttribute::kPort;
  EXPECT_EQ(error_with(kGet, lids, "00000000 00000000"), SmpError::kNone);
  EXPECT_EQ(error_with(kReply, lids, "00000042 cafe0002"), SmpError::kNone);
  EXPECT_EQ(error_with(kSet, lids, "00000001 cafe0002 00080300"), SmpError::kNone);
  EXPECT_EQ(error_with(kGet, lids, ""), SmpError::kBody);
  EXPECT_EQ(error_with(kSet, lids, "00000001 cafe0002"), SmpError::kBody) << "no entry";
  EXPECT_EQ(error_with(kReply, lids, "00000001 cafe0002 00080300"), SmpError::kBody);
  EXPECT_EQ(error_with(kSet, lids, "00010001 cafe0002 00080300"), SmpError::kBody) << "beyond";
  EXPECT_EQ(error_with(kSet, lids, "00000001 cafe0002 000803"), SmpError::kBody);
  EXPECT_EQ(error_with(kSet, lids, "00000001 cafe0002 00000000"), SmpError::kBody) << "LID 0";
  EXPECT_EQ(error_with(kSet, lids, "00000001 cafe0002 00090300"), SmpError::kBody) << "mask";
  EXPECT_EQ(error_with(kSet, lids, "00000001 cafe0002 c0000000"), SmpError::kBody) << "no port";
  EXPECT_EQ(error_with(kSet, lids, "00000001 cafe0002 01000800"), SmpError::kBody) << "LMC";
  std::string many = "00000041 cafe0002";
  for (int i = 0; i < 65; ++i) many += " 00080300";
  EXPECT_EQ(error_with(kSet, lids, many), SmpError::kBody) << "65 entries";
  EXPECT_EQ(error_with(kSet, port, "00080300"), SmpError::kNone);
  EXPECT_EQ(error_with(kReply, port, "00080300"), SmpError::kNone);
  EXPECT_EQ(error_with(kGet, port, ""), SmpError::kNone);
  EXPECT_EQ(error_with(kGet, port, "00080300"), SmpError::kBody);
  EXPECT_EQ(error_with(kSet, port, "000803"), SmpError::kBody);
  EXPECT_EQ(error_with(kSet, port, ""), SmpError::kBody);
}

TEST(SmpTest, P_SUBN_5_the_better_manager_has_the_higher_priority_then_the_lower_lid) {
  EXPECT_TRUE(is_better({Lid(9), 2}, {Lid(1), 1}));
  EXPECT_FALSE(is_better({Lid(1), 1}, {Lid(9), 2}));
  EXPECT_TRUE(is_better({Lid(1), 1}, {Lid(2), 1}));
  EXPECT_FALSE(is_better({Lid(1), 1}, {Lid(1), 1}));
}

}  // namespace smp_test
}  // namespace splitnic::fabric
