// The private data of `splitnic bench`: golden bytes, every truncation, every refused value.
#include "tools/bench/bench_handshake.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace splitnic::bench::bench_handshake_test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint8_t kRc = 0, kUc = 1, kRd = 2, kUd = 3, kRaw = 4, kStream = 5;
constexpr std::size_t kServiceAt = 6, kCountAt = 7, kBytesAt = 8;

// A read over RC.
Bytes golden() {
  constexpr std::array<std::uint8_t, Handshake::kFixedBytes> kBytes = {
      'S',  'N',  'B',  '2',  2,    1,    kRc,  0,    0,    0x10, 0,    0,
      0x0A, 0x0B, 0x0C, 0x0D, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18};
  Bytes out;
  for (const std::uint8_t byte : kBytes) out.push_back(std::byte{byte});
  return out;
}

// A Send over RD, between as many queue pairs as there are numbers.
Bytes golden_rd(const std::vector<std::uint32_t>& numbers) {
  Bytes out = golden();
  out[4] = std::byte{1};
  out[5] = std::byte{0};
  out[kServiceAt] = std::byte{kRd};
  out[kCountAt] = static_cast<std::byte>(numbers.size());
  for (const std::uint32_t number : numbers) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
      out.push_back(static_cast<std::byte>(number >> shift & 0xFF));
    }
  }
  return out;
}

// A FetchOp over RC, of one word.
Bytes golden_word() {
  Bytes out = golden();
  out[4] = std::byte{3};
  out[5] = std::byte{0};
  out[kBytesAt + 1] = std::byte{0};
  out[kBytesAt + 3] = std::byte{8};
  return out;
}

TEST(BenchHandshakeTest, golden_bytes_both_ways) {
  const auto read = Handshake::parse(golden());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->op, Op::kRead);
  EXPECT_EQ(read->service, fabric::Service::kRc);
  EXPECT_TRUE(read->goes_back_n);
  EXPECT_TRUE(read->queue_pairs.empty());
  EXPECT_EQ(read->bytes, kSizeMax);
  EXPECT_EQ(read->handle, 0x0A0B0C0DU);
  EXPECT_EQ(read->start, 0x1112131415161718U);
  const auto written = read->emit();
  EXPECT_EQ(Bytes(written.begin(), written.end()), golden());
}

TEST(BenchHandshakeTest, S000_12_queue_pairs_of_rd_both_ways) {
  const Bytes bytes = golden_rd({0x10, 0xABCDEF, 0xFFFFFF});
  const auto read = Handshake::parse(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->op, Op::kSend);
  EXPECT_EQ(read->service, fabric::Service::kRd);
  const std::vector<fabric::Qpn> wanted{fabric::Qpn(0x10), fabric::Qpn(0xABCDEF),
                                        fabric::Qpn(0xFFFFFF)};
  EXPECT_EQ(read->queue_pairs, wanted);
  EXPECT_EQ(read->emit(), bytes);
  for (std::size_t count = 0; count < bytes.size(); ++count) {
    EXPECT_FALSE(Handshake::parse(base::Bytes(bytes).first(count))) << count;
  }
}

TEST(BenchHandshakeTest, S000_12_numbers_that_no_end_has_are_refused) {
  std::vector<std::uint32_t> most;
  for (std::uint32_t i = 0; i < kQueuePairsMax; ++i) most.push_back(16 + i);
  EXPECT_TRUE(Handshake::parse(golden_rd(most)));
  most.push_back(9);
  EXPECT_FALSE(Handshake::parse(golden_rd(most))) << "one too many";
  EXPECT_FALSE(Handshake::parse(golden_rd({}))) << "RD without a queue pair";
  EXPECT_FALSE(Handshake::parse(golden_rd({16, 0}))) << "number 0 is none";
  EXPECT_FALSE(Handshake::parse(golden_rd({16, 0x1000000}))) << "more than 24 bits";
  EXPECT_FALSE(Handshake::parse(golden_rd({16, 17, 16}))) << "one is there twice";
  Bytes other = golden_rd({16});
  other[kServiceAt] = std::byte{kUd};
  EXPECT_FALSE(Handshake::parse(other)) << "UD has no list";
}

TEST(BenchHandshakeTest, S004_02_an_operation_that_the_service_lacks_is_refused) {
  for (std::uint8_t service = 0; service < 16; ++service) {
    for (std::uint8_t op = 0; op < 4; ++op) {
      if (service == kRd) continue;
      Bytes bytes = golden_word();
      bytes[4] = std::byte{op};
      bytes[kServiceAt] = std::byte{service};
      const bool has_it = service == kRc || (service == kStream && op < 3) ||
                          ((service == kUc || service == kUd) && op < 2);
      EXPECT_EQ(Handshake::parse(bytes).has_value(), has_it) << int{service} << " " << int{op};
    }
  }
}

TEST(BenchHandshakeTest, S000_05_a_fetch_op_has_the_length_of_its_word) {
  const auto read = Handshake::parse(golden_word());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->op, Op::kFetchOp);
  EXPECT_EQ(read->bytes, kFetchOpBytes);
  EXPECT_EQ(read->emit(), golden_word());
  for (const std::uint8_t bytes : std::array<std::uint8_t, 4>{1, 7, 9, 16}) {
    Bytes other = golden_word();
    other[kBytesAt + 3] = std::byte{bytes};
    EXPECT_FALSE(Handshake::parse(other)) << int{bytes};
  }
}

TEST(BenchHandshakeTest, each_part_of_a_run_distinguishes_it) {
  const Handshake mine = *Handshake::parse(golden_rd({16, 17}));
  EXPECT_TRUE(mine.is_of_run(*Handshake::parse(golden_rd({20, 21}))));
  EXPECT_FALSE(mine.is_of_run(*Handshake::parse(golden_rd({20}))));
  EXPECT_FALSE(mine.is_of_run(*Handshake::parse(golden())));
  Handshake other = mine;
  other.bytes = 1;
  EXPECT_FALSE(mine.is_of_run(other));
}

TEST(BenchHandshakeTest, every_other_length_is_refused) {
  Bytes longer = golden();
  longer.push_back({});
  EXPECT_FALSE(Handshake::parse(longer));
  for (std::size_t bytes = 0; bytes < Handshake::kFixedBytes; ++bytes) {
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
  EXPECT_FALSE(with(3, '1')) << "an earlier version";
  EXPECT_TRUE(with(4, 0));
  EXPECT_FALSE(with(4, 4)) << "plain datagrams go over no fabric";
  EXPECT_FALSE(with(5, 2)) << "a flag that is not known";
  EXPECT_FALSE(with(kServiceAt, kRaw)) << "a service that is not measured";
  EXPECT_FALSE(with(kCountAt, 1)) << "a list without its numbers";
  EXPECT_FALSE(with(kBytesAt + 1, 0)) << "no bytes";
  EXPECT_FALSE(with(kBytesAt + 3, 1)) << "one more than the most";
  EXPECT_FALSE(with(kBytesAt, 1));
  Bytes write = golden();
  write[4] = std::byte{0};
  write[kServiceAt] = std::byte{kUc};
  EXPECT_FALSE(Handshake::parse(write)) << "go-back-N is of RC";
}

}  // namespace
}  // namespace splitnic::bench::bench_handshake_test
