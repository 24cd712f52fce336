#include "fabric_emul/wire/mac_header.h"

#include <gtest/gtest.h>

#include <array>

#include "base/random.h"
#include "tests/unit/fabric_emul/wire/golden.h"

namespace splitnic::fabric {
namespace mac_header_test {

TEST(MacHeaderTest, S001_35_every_field_is_where_the_page_has_it) {
  const golden::Bytes in =
      golden::bytes_of("1b85d702 12345678 6e0a0b0c ff0d0e0f fe101112 13141516 1718191a");
  const MacHeader h = MacHeader::parse(in.data());
  EXPECT_EQ(h.version, 1);
  EXPECT_EQ(h.sl, 11);
  EXPECT_EQ(h.pos, Pos::kFirst);
  EXPECT_EQ(static_cast<unsigned>(h.op), 5U);
  EXPECT_EQ(h.flags, 0xD7);
  EXPECT_EQ(h.ext_words, 2);
  EXPECT_EQ(h.dlid, Lid(0x1234));
  EXPECT_EQ(h.slid, Lid(0x5678));
  EXPECT_EQ(h.service, Service::kIscsi);
  EXPECT_EQ(h.stripe, 14);
  EXPECT_EQ(h.dqpn, Qpn(0x0A0B0C));
  EXPECT_EQ(h.sqpn, Qpn(0x0D0E0F));
  EXPECT_EQ(h.psn, Psn(0x101112));
  EXPECT_EQ(h.csn, 0x1314);
  EXPECT_EQ(h.payload_bytes, 0x1516);
  EXPECT_EQ(h.partition, PartitionKey(0x1718));
  EXPECT_EQ(h.lcn, Lcn(0x191A));
  std::array<std::byte, kMacHeaderBytes> out{};
  h.emit(out.data());
  // The two reserved bytes come back as zero.
  EXPECT_EQ(golden::hex_of(out), "1b85d702 12345678 6e0a0b0c 000d0e0f 00101112 13141516 1718191a");
}

TEST(MacHeaderTest, every_bit_pattern_survives_but_the_reserved_bytes) {
  base::SeededRandom random(7);
  for (int round = 0; round < 2000; ++round) {
    std::array<std::byte, kMacHeaderBytes> in{};
    for (std::byte& b : in) b = static_cast<std::byte>(random.below(256));
    std::array<std::byte, kMacHeaderBytes> out{};
    const MacHeader h = MacHeader::parse(in.data());
    h.emit(out.data());
    EXPECT_EQ(MacHeader::parse(out.data()), h);
    in[12] = in[16] = std::byte{0};
    EXPECT_EQ(in, out);
  }
}

TEST(MacHeaderTest, reserved_bits_are_ignored) {
  const golden::Bytes in = golden::bytes_of(golden::kWriteOnly);
  const MacHeader h = MacHeader::parse(in.data());
  for (const std::size_t at : {12U, 16U}) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      golden::Bytes changed = in;
      changed[at] ^= static_cast<std::byte>(1U << bit);
      EXPECT_EQ(MacHeader::parse(changed.data()), h);
    }
  }
}

TEST(MacHeaderTest, S004_05_packet_sequence_number_wraps_at_24_bits) {
  MacHeader h;
  h.psn = Psn(0xFFFFFF) + 1U;
  h.lcn = Lcn(0xFFFF) + 1U;
  std::array<std::byte, kMacHeaderBytes> out{};
  h.emit(out.data());
  EXPECT_EQ(golden::hex_of(base::Bytes(out).subspan(16, 4)), "00000000");
  const MacHeader back = MacHeader::parse(out.data());
  EXPECT_TRUE(before(Psn(0xFFFFFF), back.psn));
  EXPECT_EQ(back.psn - Psn(0xFFFFFF), 1);
  EXPECT_TRUE(before(Lcn(0xFFFF), back.lcn));
}

TEST(MacHeaderTest, S004_05_position_and_operation_are_separate_fields) {
  for (unsigned pos = 0; pos < 4; ++pos) {
    for (unsigned op = 0; op < 64; ++op) {
      MacHeader h;
      h.pos = static_cast<Pos>(pos);
      h.op = static_cast<Op>(op);
      std::array<std::byte, kMacHeaderBytes> out{};
      h.emit(out.data());
      EXPECT_EQ(std::to_integer<unsigned>(out[1]), pos * 64 + op);
      EXPECT_EQ(MacHeader::parse(out.data()), h);
    }
  }
  EXPECT_TRUE(is_first(Pos::kFirst) && is_first(Pos::kOnly));
  EXPECT_FALSE(is_first(Pos::kMiddle) || is_first(Pos::kLast));
  EXPECT_TRUE(is_last(Pos::kLast) && is_last(Pos::kOnly));
  EXPECT_FALSE(is_last(Pos::kMiddle) || is_last(Pos::kFirst));
  EXPECT_EQ(name(Pos::kMiddle), "middle");
}

}  // namespace mac_header_test
}  // namespace splitnic::fabric
