// Verbs over memory that is not pinned: 12 cases with on-demand regions. All pages of both sides
// are out before each transfer.
#include <gtest/gtest.h>

#include "fabric_emul/paging/on_demand.h"
#include "fabric_emul/paging/prefetch.h"
#include "tests/support/adapter_pair.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::verbs_paging_test {

constexpr std::size_t kPages = 6;

// An on-demand region of one side: all its pages are out, with the bytes of `seed`.
struct Paged {
  Paged(End& side, std::size_t seed, std::uint8_t page_log2 = 12)
      : end(side), log2(page_log2), arena(Arena::make(kPages, page_log2).value()) {
    const std::vector<std::byte*> out(kPages);
    length = (kPages << log2) - 300;
    handle = table()
                 .regions()
                 .register_pages(end.pd, {out, log2, 100, length}, kAccessRights,
                                 {VirtualAddress(0x7000'0000), {}, &source, nullptr})
                 .value();
    start = table().start_of(handle);
    content.resize(length);
    for (std::size_t i = 0; i < length; ++i) content[i] = static_cast<std::byte>(i * 5 + seed);
    EXPECT_TRUE(write_remote(table(), end.pd, Qpn{}, handle, start, content).ok());
    take_all_out();
  }
  Mrwt& table() { return end.adapter->memory(); }
  void take_all_out() {
    for (std::size_t i = 0; i < kPages; ++i) {
      static_cast<void>(source.take_out(table(), handle, i));
    }
    EXPECT_EQ(arena->free_frames(), kPages);
    brought_before = source.brought_in();
  }
  std::uint64_t brought_in() const { return source.brought_in() - brought_before; }
  std::vector<std::byte> bytes() {
    std::vector<std::byte> got(length);
    EXPECT_TRUE(read_remote(table(), end.pd, Qpn{}, handle, start, got).ok());
    return got;
  }
  Sge sge(std::size_t offset = 0, std::size_t count = SIZE_MAX) const {
    return {VirtualAddress(start.value + offset),
            static_cast<std::uint32_t>(std::min(count, length - offset)), handle};
  }
  Memory named() const { return Memory{.bytes = {}, .handle = handle, .start = start}; }

  End& end;
  std::uint8_t log2;
  std::size_t length = 0;
  std::unique_ptr<Arena> arena;
  OnDemandPages source{*arena, kPages};
  MemoryHandle handle;
  VirtualAddress start;
  std::vector<std::byte> content;
  std::uint64_t brought_before = 0;
};

class VerbsPaging : public ::testing::Test {
 protected:
  WcStatus outcome() {
    EXPECT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
    return pair_.b().sent.empty() ? WcStatus::kCount_ : pair_.b().sent[0].status;
  }
  AdapterPair pair_;
  QpPair qp_ = pair_.connect(reading());
  Paged to_{pair_.a(), 1};
  Paged from_{pair_.b(), 2};
};

TEST_F(VerbsPaging, pg_01_rc_traffic) {
  ASSERT_TRUE(pair_.a().post_recv(qp_.a, {to_.sge()}));
  ASSERT_TRUE(pair_.b().post_send(qp_.b, {from_.sge()}));
  EXPECT_EQ(outcome(), WcStatus::kSuccess);
  EXPECT_EQ(from_.brought_in(), kPages);
  EXPECT_EQ(to_.brought_in(), kPages);
  EXPECT_EQ(to_.bytes(), from_.content);
}

// One message from a pinned and an on-demand region, into one of each.
TEST_F(VerbsPaging, pg_02_rc_mixed_mr) {
  Memory& pinned = pair_.b().memory(3000, 7);
  Memory& pinned_to = pair_.a().memory(5000);
  ASSERT_TRUE(pair_.a().post_recv(qp_.a, {pinned_to.sge(), to_.sge(0, 6000)}));
  ASSERT_TRUE(pair_.b().post_send(qp_.b, {from_.sge(0, 8000), pinned.sge()}));
  EXPECT_EQ(outcome(), WcStatus::kSuccess);
  std::vector<std::byte> whole(from_.content.begin(), from_.content.begin() + 8000);
  whole.insert(whole.end(), pinned.bytes.begin(), pinned.bytes.end());
  std::vector<std::byte> got = pinned_to.bytes;
  const auto paged = to_.bytes();
  got.insert(got.end(), paged.begin(), paged.begin() + 6000);
  EXPECT_EQ(got, whole);
}

TEST_F(VerbsPaging, pg_03_rc_atomic_cas) {
  std::uint64_t word = 0;
  std::memcpy(&word, to_.content.data() + 4, sizeof(word));
  Memory& old = pair_.b().memory(8);
  // The region begins 100 bytes into a page at an address that is a multiple of 8.
  std::memcpy(&word, to_.content.data() + 8, sizeof(word));
  ASSERT_TRUE(post_fetch(pair_.b(), qp_.b, old, {FetchOp::kCompareSwap, word, 77},
                         VirtualAddress(to_.start.value + 8), to_.handle));
  EXPECT_EQ(outcome(), WcStatus::kSuccess);
  EXPECT_EQ(word_of(old), word);
  EXPECT_EQ(to_.bytes()[8], std::byte{77});
}

TEST_F(VerbsPaging, pg_04_rc_atomic_faa) {
  std::uint64_t word = 0;
  std::memcpy(&word, to_.content.data() + 16, sizeof(word));
  Memory& old = pair_.b().memory(8);
  for (std::uint64_t i = 0; i < 3; ++i) {
    to_.take_all_out();
    pair_.b().sent.clear();
    ASSERT_TRUE(post_fetch(pair_.b(), qp_.b, old, {FetchOp::kFetchAdd, 1, 0},
                           VirtualAddress(to_.start.value + 16), to_.handle));
    EXPECT_EQ(outcome(), WcStatus::kSuccess);
    EXPECT_EQ(word_of(old), word + i);
    EXPECT_EQ(to_.brought_in(), 1U);
  }
}

TEST_F(VerbsPaging, pg_05_rc_rdma_read) {
  ASSERT_TRUE(post_read(pair_.b(), qp_.b, {from_.sge()}, to_.named()));
  EXPECT_EQ(outcome(), WcStatus::kSuccess);
  EXPECT_EQ(from_.bytes(), to_.content);
}

TEST_F(VerbsPaging, pg_06_rc_rdma_write) {
  ASSERT_TRUE(pair_.b().post_write(qp_.b, {from_.sge()}, to_.start, to_.handle));
  EXPECT_EQ(outcome(), WcStatus::kSuccess);
  EXPECT_EQ(to_.bytes(), from_.content);
}

TEST_F(VerbsPaging, pg_07_ud_traffic) {
  const QpPair ud = pair_.connect({.common = {.mcp = 1024}, .service = Service::kUd});
  ASSERT_TRUE(pair_.a().post_recv(ud.a, {to_.sge(0, 1024)}));
  SendWr wr;
  const Sge piece = from_.sge(3500, 1000);  // over two pages
  wr.gather = {&piece, 1};
  wr.destination_lid = pair_.b().link().remote_lid();
  wr.destination_qpn = ud.a;
  ASSERT_TRUE(pair_.b().adapter->post_send(ud.b, wr));
  ASSERT_TRUE(pair_.run_until([&] { return !pair_.a().received.empty(); }));
  EXPECT_EQ(pair_.a().received[0].status, WcStatus::kSuccess);
  const auto got = to_.bytes();
  EXPECT_TRUE(std::equal(got.begin(), got.begin() + 1000, from_.content.begin() + 3500));
}

TEST_F(VerbsPaging, pg_08_huge_pages) {
  Paged to(pair_.a(), 3, 21);  // 2 MiB each
  Paged from(pair_.b(), 4, 21);
  ASSERT_TRUE(pair_.b().post_write(qp_.b, {from.sge()}, to.start, to.handle));
  EXPECT_EQ(outcome(), WcStatus::kSuccess);
  EXPECT_EQ(to.brought_in(), kPages);
  EXPECT_TRUE(to.bytes() == from.content);
}

// Small pages on one side, large ones on the other.
TEST_F(VerbsPaging, pg_09_huge_and_small_pages) {
  Paged from(pair_.b(), 4, 16);
  const std::size_t bytes = to_.length;
  ASSERT_TRUE(pair_.b().post_write(qp_.b, {from.sge(60'000, bytes)}, to_.start, to_.handle));
  EXPECT_EQ(outcome(), WcStatus::kSuccess);
  const auto got = to_.bytes();
  EXPECT_TRUE(std::equal(got.begin(), got.end(), from.content.begin() + 60'000));
  EXPECT_EQ(from.brought_in(), 2U);
}

TEST_F(VerbsPaging, pg_10_sync_prefetch) {
  Prefetcher advice(to_.table());
  const PdId pd = pair_.a().pd;
  EXPECT_EQ(advice.count_out(pd, to_.handle, to_.start, to_.length).value(), kPages);
  EXPECT_EQ(advice.bring_in(pd, to_.handle, to_.start, to_.length).value(), kPages);
  EXPECT_EQ(to_.brought_in(), kPages);
  EXPECT_EQ(advice.bring_in(pd, to_.handle, to_.start, to_.length).value(), 0U);
  ASSERT_TRUE(pair_.b().post_write(qp_.b, {from_.sge()}, to_.start, to_.handle));
  EXPECT_EQ(outcome(), WcStatus::kSuccess);
  EXPECT_EQ(to_.brought_in(), kPages) << "the transfer found them in";
  // Refused: another domain, nothing, beyond the end, a handle of nothing.
  EXPECT_FALSE(advice.bring_in(PdId(pd.value + 7), to_.handle, to_.start, 1));
  EXPECT_FALSE(advice.bring_in(pd, to_.handle, to_.start, 0));
  EXPECT_FALSE(advice.bring_in(pd, to_.handle, to_.start, to_.length + 1));
  EXPECT_FALSE(advice.bring_in(pd, to_.handle, VirtualAddress(UINT64_MAX), 2));
  EXPECT_FALSE(advice.bring_in(pd, MemoryHandle(1), to_.start, 1));
}

TEST_F(VerbsPaging, pg_11_async_prefetch) {
  Prefetcher advice(to_.table());
  const PdId pd = pair_.a().pd;
  ASSERT_TRUE(advice.ask(pd, to_.handle, to_.start, 5000));
  ASSERT_TRUE(advice.ask(pd, to_.handle, to_.sge(12'000).address, 5000));
  EXPECT_EQ(to_.brought_in(), 0U);
  EXPECT_EQ(advice.run(1), 1U);
  EXPECT_EQ(to_.brought_in(), 1U);
  EXPECT_EQ(advice.run(100), 4U) << "two pages of the first range, three of the second";
  EXPECT_TRUE(advice.is_idle());
  ASSERT_TRUE(pair_.b().post_write(qp_.b, {from_.sge()}, to_.start, to_.handle));
  EXPECT_EQ(outcome(), WcStatus::kSuccess);
  EXPECT_EQ(to_.bytes(), from_.content);
  // A region that ends before it is reached is skipped.
  to_.take_all_out();
  ASSERT_TRUE(advice.ask(pd, to_.handle, to_.start, to_.length));
  ASSERT_TRUE(to_.table().regions().deregister(to_.handle));
  EXPECT_EQ(advice.run(100), 0U);
  EXPECT_TRUE(advice.is_idle());
}

TEST_F(VerbsPaging, pg_12_prefetch_no_page_fault) {
  Prefetcher advice(to_.table());
  const PdId pd = pair_.a().pd;
  EXPECT_EQ(advice.count_out(pd, to_.handle, to_.start, to_.length).value(), kPages);
  EXPECT_EQ(to_.brought_in(), 0U) << "asking brings nothing in";
  Memory& pinned = pair_.a().memory(64);
  EXPECT_EQ(advice.count_out(pd, pinned.handle, pinned.start, 64).value(), 0U);
  // Without a frame the advice fails, and what was brought in stays in.
  std::vector<std::byte*> taken;
  while (to_.arena->free_frames() > 2) taken.push_back(to_.arena->take());
  EXPECT_FALSE(advice.bring_in(pd, to_.handle, to_.start, to_.length));
  EXPECT_EQ(advice.count_out(pd, to_.handle, to_.start, to_.length).value(), kPages - 2);
}

}  // namespace splitnic::fabric::testing::verbs_paging_test
