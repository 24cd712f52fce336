// The header that the middle cells of a packet share, compared with the MAC header that it
// replaces.
#include "fabric_emul/wire/middle_header.h"

#include <gtest/gtest.h>

#include <array>

#include "base/random.h"

namespace splitnic::fabric {
namespace {

using Bytes = std::array<std::byte, kMacHeaderBytes>;

MacHeader any_header(base::Random& random) {
  MacHeader h;
  h.sl = static_cast<std::uint8_t>(random.below(16));
  h.pos = Pos::kFirst;
  h.op = Op::kRdmaWrite;
  h.flags = static_cast<std::uint8_t>(random.below(256));
  h.ext_words = 4;
  h.stripe = static_cast<std::uint8_t>(random.below(16));
  h.dlid = Lid(static_cast<std::uint16_t>(random.next()));
  h.slid = Lid(static_cast<std::uint16_t>(random.next()));
  h.dqpn = Qpn(static_cast<std::uint32_t>(random.below(1 << 24)));
  h.sqpn = Qpn(static_cast<std::uint32_t>(random.below(1 << 24)));
  h.psn = Psn(static_cast<std::uint32_t>(random.below(1 << 24)));
  h.payload_bytes = static_cast<std::uint16_t>(4 * random.below(1 << 14));
  h.partition = PartitionKey(static_cast<std::uint16_t>(random.next()));
  return h;
}

TEST(MiddleHeaderTest, S001_35_writes_what_the_mac_header_writes) {
  base::SeededRandom random(1);
  for (int i = 0; i < 1000; ++i) {
    MacHeader h = any_header(random);
    const MiddleHeader header(h);
    h.pos = Pos::kMiddle;
    h.ext_words = 0;
    h.csn = static_cast<std::uint16_t>(random.next());
    h.lcn = Lcn(static_cast<std::uint32_t>(random.next()));
    h.flags = static_cast<std::uint8_t>(random.next()) & MiddleHeader::kFlags;
    Bytes expected, written;
    h.emit(expected.data());
    header.emit(written.data(), h.csn, h.lcn, h.flags);
    ASSERT_EQ(written, expected);
    ASSERT_EQ(header.flags_if_equal(written.data(), h.csn, h.lcn), h.flags);
  }
}

TEST(MiddleHeaderTest, S001_35_any_other_bit_makes_it_another_header) {
  base::SeededRandom random(2);
  const MacHeader h = any_header(random);
  const MiddleHeader header(h);
  Bytes bytes;
  header.emit(bytes.data(), 7, Lcn(900), 0);
  for (std::size_t bit = 0; bit < 8 * kMacHeaderBytes; ++bit) {
    Bytes other = bytes;
    other[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto flags = header.flags_if_equal(other.data(), 7, Lcn(900));
    const auto flipped = static_cast<std::uint8_t>(1U << (bit % 8));
    if (bit / 8 == 2 && (flipped & MiddleHeader::kFlags) != 0) {
      EXPECT_EQ(flags, flipped) << "bit " << bit;
    } else {
      EXPECT_EQ(flags, std::nullopt) << "bit " << bit;
    }
  }
  EXPECT_FALSE(header.flags_if_equal(bytes.data(), 8, Lcn(900)));
  EXPECT_FALSE(header.flags_if_equal(bytes.data(), 7, Lcn(901)));
}

}  // namespace
}  // namespace splitnic::fabric
