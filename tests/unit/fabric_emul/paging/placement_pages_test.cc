// Checked copies to and from regions made of pages, and the remote side of a write or read.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "fabric_emul/mem/placement.h"
#include "fabric_emul/paging/arena.h"
#include "fabric_emul/paging/on_demand.h"
#include "tests/unit/fabric_emul/mem/frames.h"

namespace splitnic::fabric {
namespace placement_pages_test {

using namespace frames;

constexpr PdId kPd{1};
constexpr Qpn kQp{9};
constexpr VirtualAddress kStart{0x10007};
constexpr std::uint64_t kFirst = 3000;
constexpr std::uint64_t kLength = 11000;

class PlacementPagesTest : public testing::Test {
 protected:
  PlacementPagesTest() : before_(memory_.copy()) {
    handle_ = table_.regions()
                  .register_pages(kPd, {pages_, 12, kFirst, kLength}, kAccessRights,
                                  {kStart, {}, nullptr, nullptr})
                  .value();
  }
  // Returns the place of byte `offset` of the region among all frames.
  static std::size_t place(std::uint64_t offset) {
    static constexpr std::array<std::size_t, 4> kOrder{4, 1, 2, 0};
    return kOrder[(kFirst + offset) / kFrameOverheadBytes] * kFrameOverheadBytes +
           (kFirst + offset) % kFrameOverheadBytes;
  }
  Sge piece(std::uint64_t offset, std::uint32_t length) const {
    return {VirtualAddress(kStart.value + offset), length, handle_};
  }

  Frames memory_{5};
  std::vector<std::byte> before_;
  std::vector<std::byte*> pages_ = memory_.pages({4, 1, 2, 0});
  base::SeededRandom random_{5};
  Mrwt table_{8, random_};
  MemoryHandle handle_;
};

TEST_F(PlacementPagesTest, S002_09_pieces_that_span_pages_are_gathered_and_scattered) {
  const std::array pieces{piece(1000, 200), piece(9000, 2000), piece(0, 6000)};
  std::vector<std::size_t> places;
  for (const Sge& sge : pieces) {
    for (std::uint64_t i = 0; i < sge.length; ++i) {
      places.push_back(place(sge.address.value - kStart.value + i));
    }
  }
  std::vector<std::byte> out(8000);
  ASSERT_TRUE(gather(table_, kPd, pieces, 150, out).ok());
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], before_[places[150 + i]]) << i;

  const std::array distinct{piece(0, 1200), piece(1300, 9000)};
  std::vector<std::byte> in(10000, std::byte{0xE1});
  std::vector<std::byte> expected = before_;
  for (std::uint64_t i = 100; i < 10100; ++i) {
    expected[place(i < 1200 ? i : i + 100)] = std::byte{0xE1};
  }
  ASSERT_TRUE(scatter(table_, kPd, distinct, 100, in).ok());
  EXPECT_EQ(memory_.copy(), expected);
}

TEST_F(PlacementPagesTest, S002_19_a_refused_piece_leaves_every_page_unchanged) {
  const std::vector<std::byte> in(6000);
  const std::array pieces{piece(0, 5000), piece(kLength - 999, 1000)};
  EXPECT_EQ(scatter(table_, kPd, pieces, 0, in).failed, AccessCheck::kE);
  EXPECT_EQ(
      write_remote(table_, kPd, kQp, handle_, VirtualAddress(kStart.value + kLength - 5999), in)
          .failed,
      AccessCheck::kE);
  EXPECT_EQ(memory_.copy(), before_);
}

TEST_F(PlacementPagesTest, S002_09_a_remote_write_and_read_span_pages) {
  std::vector<std::byte> in(9000);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i * 11 + 3);
  std::vector<std::byte> expected = before_;
  for (std::size_t i = 0; i < in.size(); ++i) expected[place(500 + i)] = in[i];
  const VirtualAddress address(kStart.value + 500);
  ASSERT_TRUE(write_remote(table_, kPd, kQp, handle_, address, in).ok());
  EXPECT_EQ(memory_.copy(), expected);
  std::vector<std::byte> out(in.size());
  ASSERT_TRUE(read_remote(table_, kPd, kQp, handle_, address, out).ok());
  EXPECT_EQ(out, in);
}

TEST_F(PlacementPagesTest, S002_17_remote_copies_need_their_right_and_a_length_of_0_is_checked) {
  std::array<std::byte, 100> span{};
  const MemoryHandle reads =
      table_.regions().register_region(kPd, span, kRemoteRead, kStart).value();
  const MemoryHandle writes =
      table_.regions().register_region(kPd, span, kRemoteWrite, kStart).value();
  std::array<std::byte, 100> bytes;
  bytes.fill(std::byte{7});
  EXPECT_EQ(write_remote(table_, kPd, kQp, reads, kStart, bytes).failed, AccessCheck::kF);
  EXPECT_EQ(read_remote(table_, kPd, kQp, writes, kStart, bytes).failed, AccessCheck::kF);
  EXPECT_FALSE(write_remote(table_, kPd, kQp, reads, kStart, {}).ok());
  EXPECT_TRUE(std::ranges::all_of(span, [](std::byte b) { return b == std::byte{}; }));
  EXPECT_TRUE(read_remote(table_, kPd, kQp, reads, VirtualAddress(kStart.value + 100), {}).ok());
  EXPECT_TRUE(write_remote(table_, kPd, kQp, writes, kStart, bytes).ok());
  EXPECT_EQ(span, bytes);
}

// A region of two pages, and one frame: the second page cannot come in once the first one has.
class OneFrameTest : public testing::Test {
 protected:
  static constexpr std::size_t kBefore = 100;  // bytes of a range that lie before the second page
  static VirtualAddress at(std::uint64_t offset) { return VirtualAddress(0x10000 + offset); }
  // Content of the first page; it is brought in if it is out.
  std::vector<std::byte> first_page() {
    std::vector<std::byte> out(kFrameOverheadBytes);
    EXPECT_TRUE(read_remote(table_, kPd, kQp, handle_, at(0), out).ok());
    return out;
  }

  base::SeededRandom random_{3};
  Mrwt table_{8, random_};
  std::unique_ptr<Arena> arena_ = Arena::make(1, 12).value();
  OnDemandPages source_{*arena_, 2};
  std::vector<std::byte*> out_ = std::vector<std::byte*>(2);
  MemoryHandle handle_ = table_.regions()
                             .register_pages(kPd, {out_, 12, 0, 2 * kFrameOverheadBytes},
                                             kAccessRights, {at(0), {}, &source_, nullptr})
                             .value();
  const VirtualAddress across_ = at(kFrameOverheadBytes - kBefore);
};

TEST_F(OneFrameTest, S002_19_a_remote_copy_without_a_frame_changes_no_byte) {
  const std::vector<std::byte> in(200, std::byte{0x5A});
  EXPECT_EQ(write_remote(table_, kPd, kQp, handle_, across_, in).failed, AccessCheck::kA);
  EXPECT_EQ(first_page(), std::vector<std::byte>(kFrameOverheadBytes));
  EXPECT_FALSE(write_remote(table_, kPd, kQp, handle_, across_, in).ok()) << "now it is in";
  EXPECT_EQ(first_page(), std::vector<std::byte>(kFrameOverheadBytes));
  std::vector<std::byte> out = in;
  EXPECT_FALSE(read_remote(table_, kPd, kQp, handle_, across_, out).ok());
  EXPECT_EQ(out, in);
  EXPECT_TRUE(
      write_remote(table_, kPd, kQp, handle_, across_, base::Bytes(in).first(kBefore)).ok());
}

TEST_F(OneFrameTest, S002_19_a_list_without_a_frame_changes_no_byte) {
  const std::array pieces{Sge{at(0), 300, handle_}, Sge{across_, 200, handle_}};
  for (const std::size_t pieces_used : {std::size_t{1}, std::size_t{2}}) {
    const auto list = std::span(pieces).last(pieces_used);
    const std::vector<std::byte> in(total_length(list), std::byte{0x5A});
    EXPECT_EQ(scatter(table_, kPd, list, 0, in).failed, AccessCheck::kA);
    EXPECT_EQ(first_page(), std::vector<std::byte>(kFrameOverheadBytes));
    std::vector<std::byte> out = in;
    EXPECT_FALSE(gather(table_, kPd, list, 0, out).ok());
    EXPECT_EQ(out, in);
    EXPECT_TRUE(gather(table_, kPd, list, 0, std::span(out).first(kBefore)).ok())
        << "what is not touched need not be in";
  }
}

}  // namespace placement_pages_test
}  // namespace splitnic::fabric
