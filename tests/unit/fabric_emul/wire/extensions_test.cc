#include "fabric_emul/wire/extensions.h"

#include <gtest/gtest.h>

#include "tests/unit/fabric_emul/wire/golden.h"

namespace splitnic::fabric {
namespace extensions_test {

using golden::bytes_of;

// A format of one size: any other size is refused.
template <typename T>
void check_format(const T& value, std::string_view hex) {
  const golden::Bytes bytes = bytes_of(hex);
  golden::Bytes out(bytes.size());
  value.emit(out.data());
  EXPECT_EQ(golden::hex_of(out), hex);
  EXPECT_EQ(T::parse(bytes), value);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(T::parse(golden::Bytes(bytes.begin(), bytes.begin() + static_cast<int>(n))));
  }
  golden::Bytes longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(T::parse(longer));
}

TEST(ExtensionsTest, golden_bytes_and_every_other_size) {
  check_format(
      VaMh{.address = VirtualAddress(0x7F0012342800), .handle = MemoryHandle(0x2A01), .length = 5},
      "00007f00 12342800 00002a01 00000005");
  check_format(ReadExt{.msn = 3, .sink_handle = MemoryHandle(0x2B02), .sink_offset = 0x40},
               "00000003 00002b02 00000000 00000040");
  check_format(AtomicExt{.op = FetchOp::kCompareSwap, .operand1 = 1, .operand2 = 2},
               "01000000 00000000 00000001 00000000 00000002");
  Gnh gnh{.traffic_class = 0xA5, .flow_label = 0xBCDEF, .length = 8, .next_header = 17};
  gnh.hop_limit = 64;
  gnh.source[15] = std::byte{1};
  gnh.destination[0] = std::byte{0xFE};
  check_format(gnh,
               "6a5bcdef 00081140 00000000 00000000 00000000 00000001 fe000000 00000000 00000000 "
               "00000000");
}

TEST(ExtensionsTest, what_has_no_meaning_is_refused) {
  for (unsigned code = 0; code < 256; ++code) {
    golden::Bytes atomic(kAtomicBytes);
    atomic[0] = static_cast<std::byte>(code);
    EXPECT_EQ(AtomicExt::parse(atomic).has_value(), code >= 1 && code <= 3) << code;
  }
  for (unsigned version = 0; version < 16; ++version) {
    golden::Bytes gnh(kGnhBytes);
    gnh[0] = static_cast<std::byte>(version << 4);
    EXPECT_EQ(Gnh::parse(gnh).has_value(), version == 6) << version;
  }
}

TEST(ExtensionsTest, reserved_bits_of_atomic_are_ignored) {
  golden::Bytes bytes(kAtomicBytes);
  bytes[0] = std::byte{2};
  const auto plain = AtomicExt::parse(bytes);
  for (unsigned bit = 0; bit < 24; ++bit) {
    golden::Bytes changed = bytes;
    changed[1 + bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_EQ(AtomicExt::parse(changed), plain);
  }
}

TEST(AckExtTest, golden_bytes_with_and_without_the_third_word) {
  AckExt ack{.msn = 1, .receive_credits = 64};
  golden::Bytes out(8);
  ack.emit(out.data());
  EXPECT_EQ(golden::hex_of(out), "00000001 00400000");
  ack.selective = true;
  ack.cumulative = Lcn(0x1234);
  ack.hold_10us = 5;
  out.resize(ack.bytes());
  ack.emit(out.data());
  EXPECT_EQ(golden::hex_of(out), "00000001 00400000 12340005");
  AckExt back;
  ASSERT_TRUE(AckExt::parse(out, back));
  EXPECT_EQ(back, ack);
}

TEST(AckExtTest, bit_i_speaks_of_the_cell_cumulative_plus_2_plus_i) {
  AckExt ack;
  ack.set_bit(33);  // the second word, second bit from the top
  EXPECT_TRUE(ack.selective);
  EXPECT_EQ(ack.bitmap_words, 2U);
  golden::Bytes out(ack.bytes());
  ack.emit(out.data());
  EXPECT_EQ(golden::hex_of(base::Bytes(out).subspan(8)), "00000200 00000000 40000000");
  AckExt back;
  ASSERT_TRUE(AckExt::parse(out, back));
  for (unsigned i = 0; i < 32 * kAckBitmapWordsMax; ++i) EXPECT_EQ(back.bit(i), i == 33) << i;
  back.set_bit(0);
  EXPECT_TRUE(back.bit(0) && back.bit(33));
  EXPECT_EQ(back.bitmap_words, 2U);
}

TEST(AckExtTest, every_bitmap_length_comes_back_and_every_other_size_is_refused) {
  for (unsigned words = 0; words <= kAckBitmapWordsMax; ++words) {
    AckExt ack{.selective = true, .cumulative = Lcn(words), .bitmap_words = words};
    for (unsigned i = 0; i < words; ++i) ack.bitmap[i] = i * 0x01010101U;
    golden::Bytes out(ack.bytes());
    ack.emit(out.data());
    AckExt back;
    ASSERT_TRUE(AckExt::parse(out, back));
    EXPECT_EQ(back, ack);
    for (std::size_t n = 0; n < out.size(); ++n) {
      const bool is_short_form = n == kAckBytesMin;
      EXPECT_EQ(AckExt::parse(golden::Bytes(out.begin(), out.begin() + static_cast<int>(n)), back),
                is_short_form);
    }
  }
  golden::Bytes too_long(kAckBytesFull + 4 * (kAckBitmapWordsMax + 1));
  too_long[10] = static_cast<std::byte>(kAckBitmapWordsMax + 1);
  AckExt back;
  EXPECT_FALSE(AckExt::parse(too_long, back));
}

TEST(AckExtTest, unknown_codes_are_refused) {
  const std::string_view known = "\x00\x20\x60\x61\x62\x63\x64";
  const std::string_view codes(known.data(), 7);
  for (unsigned code = 0; code < 256; ++code) {
    golden::Bytes bytes(kAckBytesMin);
    bytes[0] = static_cast<std::byte>(code);
    AckExt out;
    const bool is_listed = codes.find(static_cast<char>(code)) != std::string_view::npos;
    EXPECT_EQ(AckExt::parse(bytes, out), is_listed) << code;
    EXPECT_EQ(is_known(static_cast<AckCode>(code)), is_listed);
  }
}

}  // namespace extensions_test
}  // namespace splitnic::fabric
