// RDMA between regions made of pages that lie anywhere, or are out when the cells come.
#include <gtest/gtest.h>

#include "fabric_emul/paging/on_demand.h"
#include "tests/support/adapter_pair.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::paged_memory_test {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPages = 3;
constexpr std::uint64_t kFirst = 1003;  // so that cells span pages
constexpr std::uint64_t kLength = kPages * kPage - 2000;
constexpr VirtualAddress kStart{0x5000'0000};

// An on-demand region of one side, none of its pages in.
struct Paged {
  explicit Paged(End& side) : adapter(*side.adapter) {
    const std::vector<std::byte*> out(kPages);
    handle = adapter.memory()
                 .regions()
                 .register_pages(side.pd, {out, 12, kFirst, kLength}, kAccessRights,
                                 {kStart, {}, &pages, nullptr})
                 .value();
  }
  void take_out() {
    for (std::size_t page = 0; page < kPages; ++page) {
      ASSERT_TRUE(pages.take_out(adapter.memory(), handle, page));
    }
    ASSERT_EQ(arena->free_frames(), kPages);
  }
  std::byte at(std::uint64_t offset) const {
    const Att& att = *adapter.memory().entry(handle)->att;
    return att.page((kFirst + offset) / kPage)[(kFirst + offset) % kPage];
  }

  Adapter& adapter;
  std::unique_ptr<Arena> arena = Arena::make(kPages, 12).value();
  OnDemandPages pages{*arena, kPages};
  MemoryHandle handle;
};

TEST(PagedMemoryTest, S000_31_a_write_to_pages_that_are_out_completes) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Paged to(pair.a());
  for (const std::size_t fill : {1U, 2U}) {
    Memory& from = pair.b().memory(kLength, fill);
    pair.b().sent.clear();
    ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, kStart, to.handle));
    ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
    EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
    EXPECT_EQ(to.pages.brought_in(), kPages * fill) << "each page once";
    for (std::uint64_t i = 0; i < kLength; ++i) ASSERT_EQ(to.at(i), from.bytes[i]) << i;
    to.take_out();
  }
}

TEST(PagedMemoryTest, S002_09_a_write_from_pages_that_lie_anywhere) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Paged from(pair.b());
  Memory& content = pair.a().memory(kLength, 7);
  ASSERT_TRUE(write_remote(pair.b().adapter->memory(), pair.b().pd, qp.b, from.handle, kStart,
                           content.bytes)
                  .ok());
  from.take_out();
  Memory& to = pair.a().memory(kLength);
  const Sge all{kStart, static_cast<std::uint32_t>(kLength), from.handle};
  ASSERT_TRUE(pair.b().post_write(qp.b, {all}, to.start, to.handle));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_TRUE(std::ranges::equal(to.bytes, content.bytes));
}

TEST(PagedMemoryTest, S000_31_a_read_of_pages_that_are_out) {
  AdapterPair pair;
  const QpPair qp = pair.connect(reading());
  Paged from(pair.a());
  Memory& content = pair.a().memory(kLength, 7);
  ASSERT_TRUE(write_remote(pair.a().adapter->memory(), pair.a().pd, qp.a, from.handle, kStart,
                           content.bytes)
                  .ok());
  from.take_out();
  Memory& to = pair.b().memory(kLength);
  const Memory named{.bytes = {}, .handle = from.handle, .start = kStart};
  ASSERT_TRUE(post_read(pair.b(), qp.b, {to.sge()}, named));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(to.bytes, content.bytes);
}

// The first page ends 3093 bytes behind the start: one word lies over its end.
TEST(PagedMemoryTest, M_08_a_word_over_two_pages_is_refused) {
  AdapterPair pair;
  const QpPair qp = pair.connect(reading());
  Paged there(pair.a());
  Memory& old = pair.b().memory(8, 1);
  const auto add_at = [&](std::uint64_t offset) {
    pair.b().sent.clear();
    EXPECT_TRUE(post_fetch(pair.b(), qp.b, old, {FetchOp::kFetchAdd, 5, 0},
                           VirtualAddress(kStart.value + offset), there.handle));
    EXPECT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
    return pair.b().sent[0].status;
  };
  EXPECT_EQ(add_at(3080), WcStatus::kSuccess);
  EXPECT_EQ(there.at(3080), std::byte{5});
  EXPECT_EQ(add_at(3088), WcStatus::kRemoteOperational);
  for (std::uint64_t i = 3088; i < 3093; ++i) EXPECT_EQ(there.at(i), std::byte{0});
}

}  // namespace splitnic::fabric::testing::paged_memory_test
