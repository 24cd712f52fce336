// The memory arena, and on-demand regions over it.
#include "fabric_emul/paging/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "fabric_emul/mem/placement.h"
#include "fabric_emul/paging/on_demand.h"

namespace splitnic::fabric {
namespace arena_test {

constexpr PdId kPd{1};
constexpr Qpn kQp{2};
constexpr VirtualAddress kStart{0x40000};
constexpr std::size_t kPage = 4096;

bool is_zero(const std::byte* frame) {
  return std::all_of(frame, frame + kPage, [](std::byte b) { return b == std::byte{}; });
}

TEST(ArenaTest, frames_are_taken_once_each_and_returned_empty) {
  const auto arena = Arena::make(4, 12).value();
  std::set<std::byte*> frames;
  for (int i = 0; i < 4; ++i) {
    std::byte* const frame = arena->take();
    ASSERT_NE(frame, nullptr);
    EXPECT_TRUE(frames.insert(frame).second);
    EXPECT_TRUE(arena->is_taken(frame));
    std::memset(frame, 0x5A, kPage);
  }
  EXPECT_EQ(arena->take(), nullptr);
  EXPECT_EQ(arena->resident_bytes(), 4 * kPage);
  std::byte* const one = *frames.begin();
  EXPECT_FALSE(arena->is_taken(one + 64));
  arena->release(one);
  EXPECT_FALSE(arena->is_taken(one));
  EXPECT_EQ(arena->resident_bytes(), 3 * kPage) << "the kernel has it back";
  EXPECT_EQ(arena->free_frames(), 1U);
  EXPECT_EQ(arena->take(), one);
  EXPECT_TRUE(is_zero(one)) << "nothing of its last user";
  EXPECT_FALSE(Arena::make(0, 12));
  EXPECT_FALSE(Arena::make(std::size_t{1} << 60, 12));
}

TEST(ArenaDeathTest, a_frame_returned_twice_is_our_bug) {
  const auto arena = Arena::make(2, 12).value();
  std::byte* const frame = arena->take();
  arena->release(frame);
  EXPECT_DEATH(arena->release(frame), "is_taken");
}

class OnDemandTest : public testing::Test {
 protected:
  OnDemandTest() {
    const std::vector<std::byte*> out(3);
    handle_ = table_.regions()
                  .register_pages(kPd, {out, 12, 100, 3 * kPage - 200}, kAccessRights,
                                  {kStart, {}, &pages_, nullptr})
                  .value();
  }
  PlacementResult write(std::uint64_t offset, base::Bytes in) {
    return write_remote(table_, kPd, kQp, handle_, VirtualAddress(kStart.value + offset), in);
  }
  PlacementResult read(std::uint64_t offset, base::MutableBytes out) {
    return read_remote(table_, kPd, kQp, handle_, VirtualAddress(kStart.value + offset), out);
  }
  static std::vector<std::byte> pattern(std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
    return bytes;
  }

  std::unique_ptr<Arena> arena_ = Arena::make(4, 12).value();
  base::SeededRandom random_{1};
  Mrwt table_{4, random_};
  OnDemandPages pages_{*arena_, 3};
  MemoryHandle handle_;
};

TEST_F(OnDemandTest, S000_31_a_remote_write_to_a_page_that_is_out_brings_it_in) {
  const std::vector<std::byte> all = pattern(3 * kPage - 200);
  ASSERT_TRUE(write(0, all).ok());
  EXPECT_EQ(pages_.brought_in(), 3U) << "pages that were never in";
  ASSERT_TRUE(pages_.take_out(table_, handle_, 1));
  ASSERT_TRUE(pages_.take_out(table_, handle_, 0));
  EXPECT_EQ(arena_->free_frames(), 3U);
  EXPECT_EQ(table_.entry(handle_)->att->page(1), nullptr);
  std::byte* const other = arena_->take();  // someone else has a frame now, and writes to it
  std::memset(other, 0xEE, kPage);

  const std::vector<std::byte> in(10, std::byte{0xAB});
  ASSERT_TRUE(write(kPage, in).ok());
  EXPECT_EQ(pages_.brought_in(), 4U) << "the one page that it touches";
  std::vector<std::byte> expected = all;
  std::copy(in.begin(), in.end(), expected.begin() + kPage);
  std::vector<std::byte> out(expected.size());
  ASSERT_TRUE(read(0, out).ok());
  EXPECT_EQ(pages_.brought_in(), 5U);
  EXPECT_EQ(out, expected);
  EXPECT_EQ(other[5], std::byte{0xEE});
}

TEST_F(OnDemandTest, S000_31_a_local_gather_brings_pages_in_too) {
  const std::vector<std::byte> all = pattern(3 * kPage - 200);
  ASSERT_TRUE(write(0, all).ok());
  for (std::size_t page = 0; page < 3; ++page) {
    ASSERT_TRUE(pages_.take_out(table_, handle_, page));
  }
  const std::array pieces{Sge{kStart, static_cast<std::uint32_t>(all.size()), handle_}};
  std::vector<std::byte> out(all.size());
  ASSERT_TRUE(gather(table_, kPd, pieces, 0, out).ok());
  EXPECT_EQ(out, all);
}

TEST_F(OnDemandTest, S000_31_a_refused_access_brings_nothing_in) {
  const std::array<std::byte, 8> in{};
  EXPECT_FALSE(write(3 * kPage - 200, in).ok());
  EXPECT_FALSE(write_remote(table_, PdId{9}, kQp, handle_, kStart, in).ok());
  EXPECT_EQ(pages_.brought_in(), 0U);
}

TEST_F(OnDemandTest, without_a_free_frame_the_access_is_refused_and_works_later) {
  std::vector<std::byte*> taken;
  while (std::byte* const frame = arena_->take()) taken.push_back(frame);
  const std::array<std::byte, 8> in{std::byte{3}};
  const PlacementResult refused = write(0, in);
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(refused.failed, AccessCheck::kA);
  EXPECT_EQ(pages_.without_frame(), 1U);
  arena_->release(taken.back());
  EXPECT_TRUE(write(0, in).ok());
}

TEST_F(OnDemandTest, only_a_page_that_is_in_and_its_own_is_taken_out) {
  EXPECT_FALSE(pages_.take_out(table_, handle_, 0)) << "it is out";
  EXPECT_FALSE(pages_.take_out(table_, handle_, 3)) << "there is none";
  OnDemandPages others(*arena_, 3);
  ASSERT_TRUE(write(0, pattern(10)).ok());
  EXPECT_FALSE(others.take_out(table_, handle_, 0)) << "the region has another source";
  ASSERT_TRUE(table_.regions().deregister(handle_));
  EXPECT_FALSE(pages_.take_out(table_, handle_, 0));
}

TEST_F(OnDemandTest, S002_10_what_shares_the_table_sees_pages_move) {
  ASSERT_TRUE(write(0, pattern(20)).ok());
  const MemoryHandle other =
      table_.regions().register_shared(kPd, handle_, kRemoteRead, VirtualAddress(0x900000)).value();
  ASSERT_TRUE(pages_.take_out(table_, handle_, 0));
  std::vector<std::byte> out(20);
  ASSERT_TRUE(read_remote(table_, kPd, kQp, other, VirtualAddress(0x900000), out).ok());
  EXPECT_EQ(out, pattern(20));
  EXPECT_NE(table_.entry(handle_)->att->page(0), nullptr);
}

}  // namespace arena_test
}  // namespace splitnic::fabric
