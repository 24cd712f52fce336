// Checked copies: lists of pieces on one side, a flat buffer on the other.
#include "fabric_emul/mem/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace splitnic::fabric {
namespace placement_test {

constexpr PdId kPd{1};

class PlacementTest : public testing::Test {
 protected:
  PlacementTest() : memory_(4096) {
    for (std::size_t i = 0; i < memory_.size(); ++i)
      memory_[i] = static_cast<std::byte>(i * 31 + 5);
    before_ = memory_;
    handle_ = table_.regions().register_region(kPd, memory_, kLocalRead | kLocalWrite).value();
    start_ = table_.start_of(handle_).value;
  }
  Sge piece(std::uint64_t at, std::uint32_t length) const {
    return {VirtualAddress(start_ + at), length, handle_};
  }
  // Content of the list, byte by byte.
  std::vector<std::byte> flat(std::span<const Sge> pieces) const {
    std::vector<std::byte> bytes;
    for (const Sge& sge : pieces) {
      for (std::uint64_t i = 0; i < sge.length; ++i) {
        bytes.push_back(memory_[sge.address.value - start_ + i]);
      }
    }
    return bytes;
  }

  std::vector<std::byte> memory_;
  std::vector<std::byte> before_;
  base::SeededRandom random_{5};
  Mrwt table_{8, random_};
  MemoryHandle handle_;
  std::uint64_t start_ = 0;
};

TEST_F(PlacementTest, S000_03_gather_of_odd_pieces_at_every_offset_and_length) {
  const std::array pieces{piece(1000, 7), piece(3, 1), piece(500, 0), piece(2000, 13)};
  const std::vector<std::byte> expected = flat(pieces);
  ASSERT_EQ(total_length(pieces), 21U);
  for (std::size_t offset = 0; offset <= 21; ++offset) {
    for (std::size_t size = 0; offset + size <= 21; ++size) {
      std::vector<std::byte> out(size + 1, std::byte{0xAA});
      ASSERT_TRUE(gather(table_, kPd, pieces, offset, base::MutableBytes(out).first(size)).ok());
      EXPECT_TRUE(std::equal(out.begin(), out.end() - 1,
                             expected.begin() + static_cast<std::ptrdiff_t>(offset)));
      EXPECT_EQ(out.back(), std::byte{0xAA}) << "wrote past the range";
    }
  }
  EXPECT_EQ(memory_, before_);
}

TEST_F(PlacementTest, S000_08_scatter_fills_the_pieces_and_nothing_between) {
  const std::array pieces{piece(100, 5), piece(200, 6), piece(50, 4)};
  std::array<std::byte, 10> in{};
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(0xF0 + i);
  ASSERT_TRUE(scatter(table_, kPd, pieces, 3, in).ok());
  std::vector<std::byte> expected = before_;
  const std::array<std::size_t, 10> places{103, 104, 200, 201, 202, 203, 204, 205, 50, 51};
  for (std::size_t i = 0; i < places.size(); ++i) expected[places[i]] = in[i];
  EXPECT_EQ(memory_, expected);
}

TEST_F(PlacementTest, S002_19_a_bad_last_piece_leaves_memory_unchanged) {
  std::array pieces{piece(0, 16), piece(32, 16)};
  const std::array<std::byte, 32> in{};
  const auto expect_refused = [&](AccessCheck letter) {
    const PlacementResult result = scatter(table_, kPd, pieces, 0, in);
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(result.failed, letter);
    EXPECT_EQ(memory_, before_);
    std::array<std::byte, 32> out{};
    EXPECT_EQ(gather(table_, kPd, pieces, 0, out).failed, letter);
    EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](std::byte b) { return b == std::byte{}; }));
  };
  pieces[1] = piece(4096 - 15, 16);
  expect_refused(AccessCheck::kE);
  pieces[1] = piece(static_cast<std::uint64_t>(-1), 16);
  expect_refused(AccessCheck::kE);
  pieces[1] = {VirtualAddress(std::numeric_limits<std::uint64_t>::max() - 3), 16, handle_};
  expect_refused(AccessCheck::kE);
  pieces[1] = piece(32, 16);
  const MemoryHandle other_pd =
      table_.regions().register_region(PdId{2}, memory_, kAccessRights).value();
  pieces[1] = {table_.start_of(other_pd), 16, other_pd};
  expect_refused(AccessCheck::kC);
  const MemoryHandle remote = table_.regions().register_region(kPd, memory_, kRemoteRead).value();
  pieces[1] = {table_.start_of(remote), 16, remote};
  expect_refused(AccessCheck::kF);
  ASSERT_TRUE(table_.regions().deregister(remote));
  expect_refused(AccessCheck::kA);
}

TEST_F(PlacementTest, S002_17_scatter_needs_local_write_and_gather_local_read) {
  const MemoryHandle reads = table_.regions().register_region(kPd, memory_, kLocalRead).value();
  const MemoryHandle writes = table_.regions().register_region(kPd, memory_, kLocalWrite).value();
  const std::array from{Sge{table_.start_of(reads), 8, reads}};
  const std::array to{Sge{table_.start_of(writes), 8, writes}};
  std::array<std::byte, 8> bytes{};
  EXPECT_EQ(scatter(table_, kPd, from, 0, bytes).failed, AccessCheck::kF);
  EXPECT_FALSE(gather(table_, kPd, to, 0, bytes).ok());
  EXPECT_EQ(memory_, before_);
  EXPECT_TRUE(gather(table_, kPd, from, 0, bytes).ok());
  EXPECT_TRUE(scatter(table_, kPd, to, 0, bytes).ok());
}

TEST_F(PlacementTest, S002_13_a_window_is_no_local_piece) {
  const MemoryHandle region = table_.regions().register_region(kPd, memory_, kWindowBind).value();
  const VirtualAddress start = table_.start_of(region);
  const MemoryHandle window =
      table_.windows().bind_window(kPd, region, start, 64, kAccessRights, Qpn{}).value();
  const std::array pieces{Sge{start, 8, window}};
  std::array<std::byte, 8> bytes{};
  EXPECT_EQ(gather(table_, kPd, pieces, 0, bytes).failed, AccessCheck::kB);
}

TEST_F(PlacementTest, only_touched_pieces_are_checked_but_each_over_its_whole_extent) {
  const std::array pieces{piece(5000, 8), piece(0, 8), piece(4090, 100)};
  std::array<std::byte, 8> bytes{};
  EXPECT_TRUE(gather(table_, kPd, pieces, 8, bytes).ok());
  EXPECT_FALSE(gather(table_, kPd, pieces, 7, bytes).ok());
  const auto two = base::MutableBytes(bytes).first(2);
  EXPECT_FALSE(gather(table_, kPd, pieces, 16, two).ok())
      << "2 bytes would fit, the piece does not";
}

TEST_F(PlacementTest, S002_19_an_empty_range_touches_no_piece_whatever_its_key) {
  const MemoryHandle gone = table_.regions().register_region(kPd, memory_, kAccessRights).value();
  const VirtualAddress start = table_.start_of(gone);
  ASSERT_TRUE(table_.regions().deregister(gone));
  const std::array empty{Sge{start, 0, gone}};
  EXPECT_TRUE(gather(table_, kPd, empty, 0, {}).ok());
  EXPECT_TRUE(scatter(table_, kPd, empty, 0, {}).ok());
  const std::array long_enough{Sge{start, 8, gone}};
  EXPECT_TRUE(scatter(table_, kPd, long_enough, 0, {}).ok());
  const std::array<std::byte, 8> in{};
  EXPECT_EQ(scatter(table_, kPd, long_enough, 0, in).failed, AccessCheck::kA);
  EXPECT_FALSE(scatter(table_, kPd, long_enough, 0, in).ok());
}

TEST_F(PlacementTest, past_the_end_of_the_list_is_letter_e) {
  const std::array pieces{piece(0, 8), piece(8, 8)};
  std::array<std::byte, 17> bytes{};
  EXPECT_EQ(scatter(table_, kPd, pieces, 0, bytes).failed, AccessCheck::kE);
  EXPECT_FALSE(scatter(table_, kPd, pieces, 0, bytes).ok());
  EXPECT_FALSE(scatter(table_, kPd, pieces, 16, base::Bytes(bytes).first(1)).ok());
  EXPECT_FALSE(scatter(table_, kPd, pieces, std::numeric_limits<std::uint64_t>::max(),
                       base::Bytes(bytes).first(2))
                   .ok());
  EXPECT_FALSE(scatter(table_, kPd, {}, 0, base::Bytes(bytes).first(1)).ok());
  EXPECT_EQ(memory_, before_);
  EXPECT_TRUE(scatter(table_, kPd, {}, 0, {}).ok());
  EXPECT_TRUE(scatter(table_, kPd, pieces, 0, base::Bytes(bytes).first(16)).ok());
}

}  // namespace placement_test
}  // namespace splitnic::fabric
