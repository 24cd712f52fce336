// Packets of more cells than half of the numbers that cells have: reads that are repeated behind
// them, and packets that are repeated as a whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/protocol/long_packet.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::long_packet_test {

constexpr std::uint16_t kMcp = LongPacket::kMcp;

// The response is lost, and the number of its request is soon that of a cell that is to come; with
// 65535 cells behind it, that of the next one.
void expect_read_is_repeated(std::uint64_t cells) {
  LongPacket packet(cells, reading());
  End& b = packet.pair.b();
  Memory& back = b.memory(kMcp);
  b.faults.drop_received([&](base::Bytes datagram) {
    if (b.count(TransportCounter::kTxCells) > cells) return false;
    const auto header = LongPacket::header_of(datagram);
    return header && header->op == Op::kRdmaReadResp;
  });
  ASSERT_TRUE(post_read(b, packet.qp.b, {back.sge()}, packet.to, 0, 0));
  packet.post(1);
  packet.expect_done(2);
  EXPECT_GT(b.count(TransportCounter::kReadRetransmit), 0U);
  packet.post(2);
  packet.expect_done(3);
}

TEST(LongPacketTest, S000_04_P_RC_3_a_read_is_repeated_soon_before_its_number_is_used_again) {
  expect_read_is_repeated(62'000);
}

TEST(LongPacketTest, S000_04_P_RC_3_a_read_is_repeated_when_its_number_is_that_of_the_next_cell) {
  expect_read_is_repeated(65'535);
}

// A cell is lost, and its memory is another when it is sent once more: the CRC of the packet is not
// that of what arrives. A short packet follows.
void expect_packet_is_repeated(std::uint64_t cells) {
  constexpr std::uint16_t kLost = 30'000;
  LongPacket packet(cells, {.packet_crc = true});
  End& a = packet.pair.a();
  End& b = packet.pair.b();
  std::byte& changed = packet.from.bytes[std::size_t{kLost} * kMcp];
  bool is_lost = false;
  a.faults.drop_received([&](base::Bytes datagram) {
    const auto header = LongPacket::header_of(datagram);
    if (!header || header->op != Op::kRdmaWrite || header->csn != kLost) return false;
    if (std::exchange(is_lost, true)) return false;
    changed ^= std::byte{1};
    return true;
  });
  Memory& other = a.memory(kMcp);
  packet.post(0);
  ASSERT_TRUE(b.post_write(packet.qp.b, {packet.from.sge(0, kMcp)}, other.start, other.handle, 1));
  ASSERT_TRUE(packet.pair.run_until([&] { return a.count(TransportCounter::kPacketCrc) == 1; }));
  changed ^= std::byte{1};
  packet.expect_done(2);
  EXPECT_EQ(a.count(TransportCounter::kPacketCrc), 1U);
  EXPECT_TRUE(std::equal(other.bytes.begin(), other.bytes.end(), packet.from.bytes.begin()));
}

TEST(LongPacketTest, S001_38_P_RC_20_a_packet_beyond_half_of_the_numbers_is_repeated) {
  expect_packet_is_repeated(40'000);
}

// The packet behind it begins with the number of its first cell.
TEST(LongPacketTest, S001_38_P_RC_20_the_longest_packet_is_repeated) {
  expect_packet_is_repeated(65'536);
}

}  // namespace splitnic::fabric::testing::long_packet_test
