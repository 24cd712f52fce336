// Translation: the three forms, page sizes, odd ends, sharing, and windows on a region's table.
#include "fabric_emul/mem/att.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "fabric_emul/mem/mrwt.h"
#include "fabric_emul/mem/placement.h"
#include "tests/unit/fabric_emul/mem/frames.h"

namespace splitnic::fabric {
namespace att_test {

using namespace frames;

constexpr PdId kPd{7};
constexpr PdId kOtherPd{8};
constexpr Qpn kQp{0x10};
constexpr VirtualAddress kStart{0x00007F0012340123};
constexpr std::uint8_t kAll = kAccessRights | kWindowBind;

constexpr VirtualAddress operator+(VirtualAddress a, std::uint64_t n) {
  return VirtualAddress(a.value + n);
}

class AttTest : public testing::Test {
 protected:
  AccessResult at(MemoryHandle handle, VirtualAddress address, std::uint64_t length = 1) {
    return table_.access(handle, address, length, AccessKind::kRemoteRead, kPd, kQp);
  }
  base::Result<MemoryHandle> add(std::span<std::byte* const> pages, std::uint8_t log2,
                                 std::uint64_t first, std::uint64_t length,
                                 const PagedOptions& options = {kStart, {}, nullptr, nullptr}) {
    return table_.regions().register_pages(kPd, {pages, log2, first, length}, kAll, options);
  }

  base::SeededRandom random_{42};
  Mrwt table_{16, random_};
  std::atomic<std::uint32_t> word_{0};
};

TEST_F(AttTest, S002_07_one_region_in_three_forms_has_the_same_physical_addresses) {
  constexpr std::size_t kPages = 300;
  constexpr std::uint64_t kLength = kPages * kFrameOverheadBytes - 100;
  std::vector<std::byte*> pages;
  for (std::size_t i = 0; i < kPages; ++i) pages.push_back(far_page(i, 12));
  std::array<MemoryHandle, 3> forms;
  for (std::uint8_t form = 0; form < 3; ++form) {
    const auto control = static_cast<AttControl>(form);
    forms[form] = add(pages, 12, 77, kLength, {kStart, control, nullptr, nullptr}).value();
    EXPECT_EQ(table_.entry(forms[form])->att_control, control);
  }
  EXPECT_EQ(table_.entry(forms[0])->att, nullptr) << "direct: no table";
  EXPECT_EQ(table_.entry(forms[1])->att->att_page_count(), 1U);
  EXPECT_EQ(table_.entry(forms[2])->att->att_page_count(), 2U);
  for (std::uint64_t offset = 0; offset < kLength; offset += 61) {
    for (const MemoryHandle handle : forms) {
      ASSERT_EQ(at(handle, kStart + offset).at, far_page(0, 12) + 77 + offset) << offset;
    }
  }
  for (const MemoryHandle handle : forms) {
    EXPECT_EQ(at(handle, kStart, kLength).run, kLength) << "consecutive pages are one run";
  }
}

TEST_F(AttTest, S002_07_more_pages_than_a_form_holds_take_the_next_form_or_are_refused) {
  std::vector<std::byte*> pages;
  for (std::size_t i = 0; i < 513; ++i) pages.push_back(far_page(7 * i, 12));
  const auto first = std::span(pages).first(512);
  const MemoryHandle small = add(first, 12, 0, 512 * kFrameOverheadBytes).value();
  EXPECT_EQ(table_.entry(small)->att_control, AttControl::kFirstOrder);
  const MemoryHandle large = add(pages, 12, 0, 513 * kFrameOverheadBytes).value();
  EXPECT_EQ(table_.entry(large)->att_control, AttControl::kSecondOrder);
  EXPECT_EQ(table_.entry(large)->att->att_page_count(), 3U);
  EXPECT_EQ(at(large, kStart + 511 * kFrameOverheadBytes).at, pages[511]);
  EXPECT_EQ(at(large, kStart + 512 * kFrameOverheadBytes).at, pages[512]);
  EXPECT_FALSE(add(pages, 12, 0, 513 * kFrameOverheadBytes,
                   {kStart, AttControl::kFirstOrder, nullptr, nullptr}));
  EXPECT_FALSE(
      add(first, 12, 0, 512 * kFrameOverheadBytes, {kStart, AttControl::kDirect, nullptr, nullptr}))
      << "direct: the pages do not follow each other";
  pages.resize(kSecondOrderPagesMax + 1, pages[0]);
  EXPECT_FALSE(add(pages, 12, 0, pages.size() * kFrameOverheadBytes));
  pages.pop_back();
  EXPECT_TRUE(add(pages, 12, 0, pages.size() * kFrameOverheadBytes));
  EXPECT_EQ(table_.regions().atts().count(), 3U);
}

TEST_F(AttTest, S002_08_each_page_size_at_its_borders) {
  for (const std::uint8_t log2 : std::array<std::uint8_t, 6>{12, 13, 16, 20, 24, 28}) {
    SCOPED_TRACE(testing::Message() << "page size 2^" << int{log2});
    const std::uint64_t page = std::uint64_t{1} << log2;
    const std::array pages{far_page(5, log2), far_page(1, log2), far_page(9, log2)};
    const MemoryHandle handle = add(pages, log2, 0, 3 * page).value();
    EXPECT_EQ(table_.entry(handle)->page_log2, log2);
    for (std::uint64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(at(handle, kStart + i * page).at, pages[i]);
      EXPECT_EQ(at(handle, kStart + i * page + 1).at, pages[i] + 1);
      EXPECT_EQ(at(handle, kStart + ((i + 1) * page - 1)).at, pages[i] + page - 1);
      EXPECT_EQ(at(handle, kStart + i * page, 3 * page - i * page).run, page) << "one page per run";
    }
    EXPECT_EQ(at(handle, kStart + 3 * page).failed, AccessCheck::kE);
    ASSERT_TRUE(table_.regions().deregister(handle));
  }
  const std::array pages{far_page(5, 29)};
  EXPECT_FALSE(add(pages, 11, 0, 2048));
  EXPECT_FALSE(add(pages, 29, 0, 2048));
  EXPECT_TRUE(add(pages, 28, 0, 2048));
}

TEST_F(AttTest, S002_09_a_region_of_10001_bytes_at_an_odd_offset) {
  const Frames memory(8);
  const std::vector<std::byte*> pages = memory.pages({5, 2, 6});
  const MemoryHandle handle = add(pages, 12, 1235, 10001).value();
  const auto expected = [&](std::uint64_t offset) {
    return pages[(1235 + offset) / kFrameOverheadBytes] + (1235 + offset) % kFrameOverheadBytes;
  };
  for (std::uint64_t offset = 0; offset < 10001; ++offset) {
    ASSERT_EQ(at(handle, kStart + offset).at, expected(offset)) << offset;
  }
  EXPECT_EQ(at(handle, kStart + 10001).failed, AccessCheck::kE);
  EXPECT_FALSE(at(handle, kStart + 10001).ok());
  EXPECT_FALSE(at(handle, kStart, 10002).ok());
  EXPECT_TRUE(at(handle, kStart, 10001).ok());

  std::vector<std::byte> out(10001);
  ASSERT_TRUE(read_remote(table_, kPd, kQp, handle, kStart, out).ok());
  for (std::uint64_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], *expected(i)) << i;
  out.resize(10002);
  EXPECT_EQ(read_remote(table_, kPd, kQp, handle, kStart, out).failed, AccessCheck::kE);
}

TEST_F(AttTest, S002_09_what_the_pages_do_not_hold_is_refused) {
  const Frames memory(3);
  const std::vector<std::byte*> pages = memory.pages({2, 0});
  EXPECT_TRUE(add(pages, 12, 100, 2 * kFrameOverheadBytes - 100)) << "to the last byte";
  EXPECT_TRUE(add(pages, 12, 100, kFrameOverheadBytes - 100 + 1)) << "one byte of the last page";
  EXPECT_FALSE(add(pages, 12, 100, kFrameOverheadBytes - 100)) << "the last page has no byte";
  EXPECT_FALSE(add(pages, 12, 100, 2 * kFrameOverheadBytes - 99)) << "a byte too many";
  EXPECT_FALSE(add(pages, 12, kFrameOverheadBytes, kFrameOverheadBytes))
      << "the first page has no byte";
  EXPECT_FALSE(add(pages, 12, 0, 0));
  EXPECT_FALSE(add({}, 12, 0, 1));
  const std::array askew{pages[0], pages[1] + 64};
  EXPECT_FALSE(add(askew, 12, 0, 2 * kFrameOverheadBytes));
  const std::array out{pages[0], static_cast<std::byte*>(nullptr)};
  EXPECT_FALSE(add(out, 12, 0, 2 * kFrameOverheadBytes)) << "pinned, and a page is out";
  EXPECT_EQ(table_.live_count(), 2U);
  EXPECT_EQ(table_.regions().atts().count(), 2U);
}

TEST_F(AttTest, S002_10_shared_memory_has_one_table_that_ends_with_the_last_region) {
  const Frames memory(4);
  const std::vector<std::byte*> pages = memory.pages({3, 0, 2});
  const MemoryHandle one = add(pages, 12, 10, 3 * kFrameOverheadBytes - 10).value();
  ASSERT_EQ(table_.regions().atts().count(), 1U);
  const VirtualAddress elsewhere(0x5000);
  const MemoryHandle two =
      table_.regions().register_shared(kOtherPd, one, kRemoteRead, elsewhere).value();
  EXPECT_EQ(table_.regions().atts().count(), 1U) << "no second table";
  EXPECT_EQ(table_.live_count(), 2U) << "a separate entry";
  EXPECT_NE(one, two);
  const auto of_two = [&](std::uint64_t offset, AccessKind kind) {
    return table_.access(two, elsewhere + offset, 1, kind, kOtherPd, kQp);
  };
  EXPECT_EQ(of_two(5000, AccessKind::kRemoteRead).at, at(one, kStart + 5000).at);
  EXPECT_EQ(of_two(5000, AccessKind::kRemoteWrite).failed, AccessCheck::kF) << "its own rights";
  EXPECT_EQ(at(two, elsewhere).failed, AccessCheck::kC) << "its own domain";
  ASSERT_TRUE(table_.regions().deregister(one));
  EXPECT_FALSE(at(one, kStart).ok());
  EXPECT_EQ(of_two(5000, AccessKind::kRemoteRead).at, pages[1] + 5010 - kFrameOverheadBytes);
  EXPECT_EQ(table_.regions().atts().count(), 1U);
  ASSERT_TRUE(table_.regions().deregister(two));
  EXPECT_EQ(table_.regions().atts().count(), 0U);
}

TEST_F(AttTest, S002_10_a_span_is_shared_and_a_window_or_a_dead_region_is_not) {
  std::array<std::byte, 100> span{};
  const MemoryHandle one = table_.regions().register_region(kPd, span, kAll, kStart).value();
  const MemoryHandle window =
      table_.windows().bind_window(kPd, one, kStart, 8, kRemoteRead, kQp).value();
  EXPECT_FALSE(table_.regions().register_shared(kPd, window, kRemoteRead, kStart));
  const MemoryHandle two = table_.regions().register_shared(kPd, one, kRemoteRead).value();
  EXPECT_EQ(at(two, table_.start_of(two) + 9, 91).at, span.data() + 9);
  ASSERT_TRUE(table_.regions().deregister(two));
  EXPECT_FALSE(table_.regions().register_shared(kPd, two, kRemoteRead, kStart));
}

TEST_F(AttTest, S002_11_a_window_uses_the_table_of_its_region) {
  const Frames memory(6);
  const std::vector<std::byte*> pages = memory.pages({4, 1, 5, 0});
  const MemoryHandle region = add(pages, 12, 1000, 3 * kFrameOverheadBytes).value();
  const MemoryHandle window =
      table_.windows().bind_window(kPd, region, kStart + 3000, 6000, kRemoteRead, kQp).value();
  EXPECT_EQ(table_.regions().atts().count(), 1U) << "binding makes no table";
  EXPECT_EQ(table_.entry(window)->att, table_.entry(region)->att);
  for (std::uint64_t offset = 3000; offset < 9000; ++offset) {
    const AccessResult through = at(window, kStart + offset);
    ASSERT_TRUE(through.ok());
    ASSERT_EQ(through.at, at(region, kStart + offset).at);
  }
  EXPECT_FALSE(at(window, kStart + 2999).ok());
  EXPECT_FALSE(at(window, kStart + 9000).ok());
  ASSERT_TRUE(table_.windows().unbind(window));
  EXPECT_EQ(table_.regions().atts().count(), 1U);
}

TEST_F(AttTest, X_23_a_region_is_pinned_on_demand_or_quiescable_and_only_one) {
  struct Nothing final : PageSource {
    std::byte* bring_in(std::size_t) noexcept override { return nullptr; }
  } source;
  const Frames memory(2);
  const std::vector<std::byte*> pages = memory.pages({1, 0});
  const std::uint64_t length = 2 * kFrameOverheadBytes;
  EXPECT_FALSE(add(pages, 12, 0, length, {kStart, {}, &source, &word_}));
  const MemoryHandle pinned = add(pages, 12, 0, length).value();
  const MemoryHandle on_demand = add(pages, 12, 0, length, {kStart, {}, &source, nullptr}).value();
  const MemoryHandle quiescable = add(pages, 12, 0, length, {kStart, {}, nullptr, &word_}).value();
  EXPECT_EQ(table_.entry(pinned)->attribute, RegionAttribute::kPinned);
  EXPECT_EQ(table_.entry(on_demand)->attribute, RegionAttribute::kOnDemand);
  EXPECT_EQ(table_.entry(quiescable)->attribute, RegionAttribute::kQuiescable);
  EXPECT_EQ(table_.entry(quiescable)->current_io, &word_);
  EXPECT_FALSE(table_.regions().set_page(pinned, 0, nullptr)) << "pinned pages stay";
  EXPECT_TRUE(table_.regions().set_page(on_demand, 0, nullptr));
  EXPECT_FALSE(table_.regions().set_page(quiescable, 0, nullptr)) << "not while it is valid";
  EXPECT_FALSE(table_.regions().set_page(on_demand, 2, nullptr)) << "no such page";
  EXPECT_FALSE(table_.regions().set_page(on_demand, 1, pages[0] + 1)) << "not aligned";
  EXPECT_FALSE(table_.regions().register_shared(kPd, quiescable, kAll, kStart));
  EXPECT_FALSE(add(pages, 12, 0, length, {kStart, AttControl::kDirect, nullptr, &word_}));
  ASSERT_TRUE(table_.set_valid(quiescable, false));
  ASSERT_TRUE(table_.regions().set_page(quiescable, 0, nullptr));
  ASSERT_TRUE(table_.set_valid(quiescable, true));
  EXPECT_EQ(at(quiescable, kStart).failed, AccessCheck::kA) << "valid too soon: the page is out";
  EXPECT_FALSE(at(quiescable, kStart).ok());
}

}  // namespace att_test
}  // namespace splitnic::fabric
