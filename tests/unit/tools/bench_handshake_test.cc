// The private data of `splitnic bench`: golden bytes, every truncation, every refused value.
#include "tools/bench/bench_handshake.h"

#include <gtest/gtest.h>

#include <vector>

namespace splitnic::bench::bench_handshake_test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes golden() {
  constexpr std::array<std::uint8_t, Handshake::kBytes> kBytes = {
      'S',  'N',  'B',  '1',  2,    1,    0,    0,    0,    0x10, 0,    0,
      0x0A, 0x0B, 0x0C, 0x0D, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18};
  Bytes out;
  for (const std::uint8_t byte : kBytes) out.push_back(std::byte{byte});
  return out;
}

TEST(BenchHandshakeTest, golden_bytes_both_ways) {
  const auto read = Handshake::parse(golden());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->op, Op::kRead);
  EXPECT_TRUE(read->goes_back_n);
  EXPECT_EQ(read->bytes, kSizeMax);
  EXPECT_EQ(read->handle, 0x0A0B0C0DU);
  EXPECT_EQ(read->start, 0x1112131415161718U);
  const auto written = read->emit();
  EXPECT_EQ(Bytes(written.begin(), written.end()), golden());
}

TEST(BenchHandshakeTest, every_other_length_is_refused) {
  Bytes longer = golden();
  longer.push_back({});
  EXPECT_FALSE(Handshake::parse(longer));
  for (std::size_t bytes = 0; bytes < Handshake::kBytes; ++bytes) {
    EXPECT_FALSE(Handshake::parse(base::Bytes(longer).first(bytes))) << bytes;
  }
}

TEST(BenchHandshakeTest, bytes_that_no_end_sends_are_refused) {
  const auto with = [](std::size_t at, std::uint8_t byte) {
    Bytes bytes = golden();
    bytes[at] = std::byte{byte};
    return Handshake::parse(bytes).has_value();
  };
  EXPECT_FALSE(with(0, 'T')) << "magic";
  EXPECT_FALSE(with(3, '2'));
  EXPECT_TRUE(with(4, 0));
  EXPECT_FALSE(with(4, 3)) << "plain datagrams go over no fabric";
  EXPECT_FALSE(with(5, 2)) << "a flag that is not known";
  EXPECT_FALSE(with(6, 1)) << "reserved";
  EXPECT_FALSE(with(7, 1));
  EXPECT_FALSE(with(9, 0)) << "no bytes";
  EXPECT_FALSE(with(11, 1)) << "one more than the most";
  EXPECT_FALSE(with(8, 1));
}

}  // namespace
}  // namespace splitnic::bench::bench_handshake_test
