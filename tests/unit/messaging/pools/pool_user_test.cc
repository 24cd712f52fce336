#include "messaging/pools/pool_user.h"

#include "base/random.h"
#include "tests/unit/messaging/pools/pool_support.h"

namespace splitnic::messaging::pool_user_test {
using namespace test;

struct PoolUserTest : testing::Test {
  Verdict receive(const Message& message) { return side.receive(message, kStart); }
  ElementLease take(std::uint32_t bytes = 100) {
    const auto lease = side.user.take(bytes);
    EXPECT_TRUE(lease);
    return lease.value_or(ElementLease{});
  }
  std::uint32_t available(std::uint32_t pool) { return side.used(PoolRef(pool)).available; }
  Side side;
};

TEST_F(PoolUserTest, S001_11_table_shows_exact_values_and_every_element_has_its_place) {
  ASSERT_TRUE(receive(advertise(record(7, 8, 2048, 0x2A01, 0x7F0012340000), record(9, 4, 65536))));
  EXPECT_EQ(side.used(PoolRef(7)).record, record(7, 8, 2048, 0x2A01, 0x7F0012340000));
  for (std::uint32_t i = 0; i < 8; ++i) {
    const ElementLease lease = take(256);
    EXPECT_EQ(lease.pool, PoolRef(7));
    EXPECT_EQ(lease.element, i) << "in order";
    EXPECT_EQ(lease.handle.value, 0x2A01U);
    EXPECT_EQ(lease.address.value, 0x7F0012340000U + i * 2048);
    EXPECT_EQ(lease.idata, 7U << 24 | i << 16 | 256);
  }
}

TEST_F(PoolUserTest, S001_19_X_07_pools_that_idata_cannot_name_use_the_message) {
  ASSERT_TRUE(receive(advertise(record(300, 4, 64, 1))));
  EXPECT_EQ(take(64).idata, std::nullopt) << "pool 300";
  ASSERT_TRUE(receive(advertise(record(1, 257, 128, 2))));
  EXPECT_EQ(take(128).idata, std::nullopt) << "257 elements";
  ASSERT_TRUE(receive(advertise(record(2, 4, 65537, 3))));
  EXPECT_EQ(take(65537).idata, std::nullopt) << "size 65537";
  ASSERT_TRUE(receive(advertise(record(3, 256, 65536, 4))));
  EXPECT_EQ(take(65536).idata, 3U << 24) << "256 elements of 65536 bytes just fit";
}

TEST_F(PoolUserTest, S001_20_offset_form_only_for_the_only_pool) {
  Side b(100, IdataForm::kOffsetLength);
  ASSERT_TRUE(b.receive(advertise(record(7, 64, 2048)), kStart));
  (void)b.user.take(1);
  EXPECT_EQ(b.user.take(256)->idata, 32U << 16 | 256);
  ASSERT_TRUE(b.receive(advertise(record(8, 64, 2048, 2)), kStart));
  EXPECT_EQ(b.user.take(256)->idata, std::nullopt);
}

TEST_F(PoolUserTest, takes_the_smallest_size_and_keeps_the_last_quarter_of_a_larger_one) {
  ASSERT_TRUE(receive(advertise(record(0, 2, 2048, 1), record(1, 8, 65536, 2))));
  EXPECT_EQ(take().element_bytes, 2048U);
  EXPECT_EQ(take().element_bytes, 2048U);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(take().element_bytes, 65536U);
  EXPECT_EQ(side.user.take(100), std::nullopt) << "the last two are kept";
  EXPECT_EQ(side.user.take(100), std::nullopt);
  EXPECT_EQ(side.user.counters()[PoolCounter::kWait], 1U) << "one wait, not one per try";
  EXPECT_EQ(take(2049).element_bytes, 65536U);
  EXPECT_EQ(take(65536).element_bytes, 65536U);
  EXPECT_EQ(side.user.take(2049), std::nullopt);
  EXPECT_EQ(side.user.counters()[PoolCounter::kWait], 2U);
  EXPECT_EQ(side.user.take(65537), std::nullopt) << "no size takes it";
  EXPECT_EQ(side.user.largest_element(), 65536U);
}

TEST_F(PoolUserTest, S001_14_flow_continues_only_after_an_update) {
  ASSERT_TRUE(receive(advertise(record(7, 2, 2048))));
  const ElementLease first = take(), second = take();
  side.user.on_written(first);
  side.user.on_written(second);
  EXPECT_EQ(side.user.take(1), std::nullopt);
  ASSERT_TRUE(receive(update(ElementRange{PoolRef(7), 1, 1})));
  EXPECT_EQ(take().element, 1U);
  EXPECT_EQ(side.user.take(1), std::nullopt);
}

TEST_F(PoolUserTest, S001_15_one_update_for_three_pools_frees_exactly_what_it_names) {
  ASSERT_TRUE(receive(advertise(record(0, 4, 64, 1), record(1, 4, 64, 2), record(2, 4, 64, 3))));
  for (int i = 0; i < 12; ++i) side.user.on_written(take(1));
  ASSERT_TRUE(receive(update(ElementRange{PoolRef(0), 1, 2}, ElementRange{PoolRef(1), 2, 0},
                             ElementRange{PoolRef(2), 3, 1}, ElementRange{PoolRef(2), 0, 1})));
  EXPECT_EQ(available(0), 2U);
  EXPECT_EQ(available(1), 2U);
  EXPECT_EQ(available(2), 2U);
  EXPECT_EQ(take(1).element, 3U) << "pool 2 is in use, 3 was returned before 0";
  EXPECT_EQ(take(1).element, 0U);
  EXPECT_EQ(take(1).element, 1U) << "then pool 0";
  EXPECT_EQ(side.used(PoolRef(0)).writing, 1U);
  EXPECT_EQ(side.used(PoolRef(0)).consumed, 2U);
}

TEST_F(PoolUserTest, P_40_bad_update_is_dropped_whole) {
  ASSERT_TRUE(receive(advertise(record(0, 4, 64, 1), record(1, 4, 64, 2))));
  for (int i = 0; i < 6; ++i) side.user.on_written(take(1));  // pool 0 all, pool 1 elements 0 and 1
  const auto refused = [&](ElementRange bad) {
    const Verdict v = receive(update(ElementRange{PoolRef(0), 0, 1}, bad));
    EXPECT_EQ(available(0), 0U);
    EXPECT_EQ(available(1), 2U);
    return reason(v);
  };
  EXPECT_EQ(refused({PoolRef(5), 0, 1}), DropReason::kPool);
  EXPECT_FALSE(side.control.is_broken()) << "`pool` does not close the connection";
  EXPECT_EQ(refused({PoolRef(1), 2, 1}), DropReason::kState) << "never written";
  EXPECT_TRUE(side.control.is_broken());
  EXPECT_EQ(refused({PoolRef(1), 0, 0}), DropReason::kState) << "all, but two are AVAILABLE";
  EXPECT_EQ(refused({PoolRef(1), 4, 0}), DropReason::kRange);
  EXPECT_EQ(refused({PoolRef(1), 3, 2}), DropReason::kRange);
  EXPECT_EQ(refused({PoolRef(1), 1, 0xFFFFFFFF}), DropReason::kRange);
  EXPECT_EQ(refused({PoolRef(0), 0, 0}), DropReason::kRange) << "overlaps the first record";
  EXPECT_EQ(side.drops[DropReason::kRange], 4U);
  EXPECT_EQ(side.drops[DropReason::kState], 2U);
}

TEST_F(PoolUserTest, P_40_update_that_overtakes_the_ack) {
  ASSERT_TRUE(receive(advertise(record(7, 1, 64))));
  const ElementLease first = take(1);
  ASSERT_TRUE(receive(update(ElementRange{PoolRef(7), 0, 1})));
  EXPECT_EQ(available(7), 1U) << "AVAILABLE immediately";
  const ElementLease second = take(1);
  EXPECT_NE(first.stamp, second.stamp);
  side.user.on_written(first);  // the late ACK of the first use
  EXPECT_EQ(side.used(PoolRef(7)).writing, 1U) << "the second use is not touched";
  side.user.on_written(second);
  EXPECT_EQ(side.used(PoolRef(7)).consumed, 1U);
  EXPECT_FALSE(side.control.is_broken());
}

TEST_F(PoolUserTest, cancel_gives_the_element_back) {
  ASSERT_TRUE(receive(advertise(record(7, 1, 64))));
  side.user.cancel(take(1));
  EXPECT_EQ(available(7), 1U);
  EXPECT_EQ(side.used(PoolRef(7)).writing, 0U);
}

TEST_F(PoolUserTest, P_42_advertisement_is_refused_whole) {
  ASSERT_TRUE(receive(advertise(record(7, 8, 2048, 1, 0x10000))));
  const auto refused = [&](PoolRecord bad) {
    const Verdict v = receive(advertise(record(50, 8, 2048, 5), bad));
    EXPECT_FALSE(side.user.knows(PoolRef(50))) << "no partial pool";
    return reason(v);
  };
  EXPECT_EQ(refused(record(7, 4, 64, 9)), DropReason::kState) << "in use";
  EXPECT_EQ(side.used(PoolRef(7)).record.elements, 8U) << "the old pool stays";
  EXPECT_EQ(refused(record(50, 8, 2048, 6)), DropReason::kState) << "twice in one message";
  EXPECT_EQ(refused(record(8, 0, 2048)), DropReason::kRange);
  EXPECT_EQ(refused(record(8, 1U << 20, 64, 9)), DropReason::kRange) << "2^20 elements";
  EXPECT_EQ(refused(record(8, 0xFFFFFFFF, 1, 9)), DropReason::kRange);
  EXPECT_EQ(refused(record(8, 1, 64, 1, 0x10000 + 8 * 2048 - 1)), DropReason::kRange) << "overlap";
  EXPECT_EQ(refused(record(8, 8, 2048, 5, 2048)), DropReason::kRange) << "overlap in the message";
  EXPECT_TRUE(receive(advertise(record(8, 1, 64, 1, 0x10000 + 8 * 2048)))) << "adjacent is legal";
}

TEST_F(PoolUserTest, P_42_a_peer_cannot_make_us_keep_more_than_the_limit) {
  ASSERT_TRUE(receive(advertise(record(0, 1U << 16, 1, 0))));
  ASSERT_TRUE(receive(advertise(record(2, 512, 1, 2))));
  EXPECT_EQ(reason(receive(advertise(record(9, 1, 1, 9)))), DropReason::kRange);
  ASSERT_TRUE(receive(flush_request(kGoldenContext, 2U)));
  ASSERT_FALSE(side.next(kStart).empty());
  EXPECT_TRUE(receive(advertise(record(9, 1, 1, 9)))) << "a flushed pool makes room";
}

TEST_F(PoolUserTest, M_1_a_pool_beyond_the_memory_of_the_peer_is_refused_whole) {
  base::MemoryAccount account(std::uint64_t{64} << 10);
  Side limited(100, IdataForm::kPoolElement, &account);
  const auto receive_at = [&](const Message& message) { return limited.receive(message, kStart); };
  ASSERT_TRUE(receive_at(advertise(record(1, 256, 2048, 1))));
  const std::uint64_t one = account.used();
  EXPECT_GE(one, 256 * sizeof(std::uint64_t));
  const auto refused = receive_at(advertise(record(2, 256, 2048, 2), record(3, 4096, 64, 3)));
  EXPECT_EQ(reason(refused), DropReason::kMemory);
  EXPECT_EQ(limited.drops[DropReason::kMemory], 1U);
  EXPECT_FALSE(limited.user.knows(PoolRef(2)));
  EXPECT_EQ(account.used(), one);
  ASSERT_TRUE(receive_at(advertise(record(2, 256, 2048, 2))));
  EXPECT_EQ(account.used(), 2 * one);
  // A pool that ends returns its memory, whoever ends it.
  ASSERT_TRUE(receive_at(flush_request(kGoldenContext, 1U)));
  ASSERT_FALSE(limited.next(kStart).empty());
  EXPECT_EQ(account.used(), one);
  limited.user.close_all();
  EXPECT_EQ(account.used(), 0U);
}

// Of random memory of few pools, against a comparison of each with each.
TEST_F(PoolUserTest, M_2_memory_that_overlaps_is_found_in_any_order) {
  base::SeededRandom random(5);
  struct Extent {
    std::uint32_t ref, handle;
    std::uint64_t begin, end;
  };
  std::vector<Extent> live;
  std::uint32_t accepted = 0;
  std::uint32_t refused = 0;
  for (std::uint32_t ref = 0; ref < 2000; ++ref) {
    const auto make = [&](std::uint32_t number) {
      const auto elements = static_cast<std::uint32_t>(1 + random.below(4));
      const auto handle = static_cast<std::uint32_t>(1 + random.below(3));
      const std::uint64_t begin = random.below(60) * 16;
      return Extent{number, handle, begin, begin + elements * 16};
    };
    const std::array fresh{make(2 * ref), make(2 * ref + 1)};
    const auto overlap = [](const Extent& a, const Extent& b) {
      return a.handle == b.handle && a.begin < b.end && b.begin < a.end;
    };
    bool is_free = !overlap(fresh[0], fresh[1]);
    for (const Extent& one : live) {
      is_free = is_free && !overlap(one, fresh[0]) && !overlap(one, fresh[1]);
    }
    const auto record_of = [](const Extent& e) {
      return record(e.ref, static_cast<std::uint32_t>((e.end - e.begin) / 16), 16, e.handle,
                    e.begin);
    };
    const Verdict verdict = receive(advertise(record_of(fresh[0]), record_of(fresh[1])));
    ASSERT_EQ(verdict.has_value(), is_free) << ref;
    ++(is_free ? accepted : refused);
    if (is_free) live.insert(live.end(), fresh.begin(), fresh.end());
    while (live.size() > 12) {
      const auto at = live.begin() + static_cast<std::ptrdiff_t>(random.below(live.size()));
      ASSERT_TRUE(receive(flush_request(TransactionContext(1000 + at->ref), at->ref)));
      ASSERT_FALSE(side.next(kStart).empty());
      live.erase(at);
    }
  }
  EXPECT_GT(accepted, 200U);
  EXPECT_GT(refused, 200U);
}

TEST_F(PoolUserTest, S001_17_P_41_flush_reply_waits_for_our_writes) {
  ASSERT_TRUE(receive(advertise(record(7, 4, 64, 1), record(8, 4, 64, 2))));
  const ElementLease a = take(1), b = take(1);
  ASSERT_TRUE(receive(update(ElementRange{PoolRef(7), 0, 1})));  // overtook a's ACK
  ASSERT_TRUE(receive(flush_request(kGoldenContext, 7U)));
  EXPECT_TRUE(side.next(kStart).empty());
  EXPECT_EQ(take(1).pool, PoolRef(8)) << "no element of a flushed pool is leased";
  side.user.on_written(b);
  EXPECT_TRUE(side.next(kStart).empty()) << "a is still to be acknowledged";
  side.user.on_written(a);
  EXPECT_EQ(hex(side.next(kStart)), hex(flush_reply(kGoldenContext)));
  EXPECT_FALSE(side.user.knows(PoolRef(7)));
  EXPECT_TRUE(side.next(kStart).empty());
}

TEST_F(PoolUserTest, S001_16_P_41_flush_twice_and_of_unknown_pools_gets_a_reply) {
  ASSERT_TRUE(receive(advertise(record(7, 4, 64))));
  const ElementLease lease = take(1);
  const TransactionContext second(kGoldenContext.value + 1);
  ASSERT_TRUE(receive(flush_request(kGoldenContext, 7U)));
  ASSERT_TRUE(receive(flush_request(second, 7U)));
  ASSERT_TRUE(receive(flush_request(second, 7U)));  // repeated: one reply
  side.user.on_written(lease);
  EXPECT_EQ(hex(side.next(kStart)), hex(flush_reply(kGoldenContext)));
  EXPECT_EQ(hex(side.next(kStart)), hex(flush_reply(second)));
  EXPECT_TRUE(side.next(kStart).empty());
  ASSERT_TRUE(receive(flush_request(second, 7U)));
  EXPECT_EQ(side.drops[DropReason::kPool], 1U);
  EXPECT_EQ(hex(side.next(kStart)), hex(flush_reply(second)));
}

TEST_F(PoolUserTest, P_40_update_of_a_pool_that_its_owner_flushes) {
  ASSERT_TRUE(receive(advertise(record(7, 4, 64))));
  (void)take(1);
  ASSERT_TRUE(receive(flush_request(kGoldenContext, 7U)));
  EXPECT_EQ(reason(receive(update(ElementRange{PoolRef(7), 0, 1}))), DropReason::kState);
  EXPECT_TRUE(side.control.is_broken());
}

TEST_F(PoolUserTest, S001_17_our_flush_request_waits_for_our_writes) {
  ASSERT_TRUE(receive(advertise(record(7, 4, 64, 1), record(8, 4, 64, 2))));
  const ElementLease lease = take(1);
  side.user.request_flush(std::array{PoolRef(7)});
  EXPECT_TRUE(side.next(kStart).empty());
  side.user.on_written(lease);
  const Message request = side.next(kStart);
  const auto view = BufferPoolFlushRequest::parse(request);
  ASSERT_TRUE(view);
  EXPECT_TRUE(names_receivers_pools(view->context()));
  EXPECT_EQ((*view)[0].pool, PoolRef(7));
  // An Update that crossed the request: skipped for this pool only, and no reason to close.
  const ElementLease other = take(1);
  ASSERT_EQ(other.pool, PoolRef(8));
  ASSERT_TRUE(receive(update(ElementRange{PoolRef(7), 0, 1}, ElementRange{PoolRef(8), 0, 1})));
  EXPECT_EQ(available(8), 4U);
  EXPECT_FALSE(side.control.is_broken());
  EXPECT_TRUE(side.user.knows(PoolRef(7)));
  ASSERT_TRUE(receive(flush_reply(view->context())));
  EXPECT_FALSE(side.user.knows(PoolRef(7)));
  EXPECT_EQ(reason(receive(flush_reply(view->context()))), DropReason::kContext);
}

TEST_F(PoolUserTest, S001_17_our_flush_without_a_reply) {
  ASSERT_TRUE(receive(advertise(record(7, 4, 64))));
  side.user.request_flush(std::array{PoolRef(7)});
  ASSERT_FALSE(side.next(kStart).empty());
  EXPECT_EQ(side.user.deadline(), kStart + std::chrono::seconds(1));
  side.user.on_time(side.user.deadline());
  EXPECT_FALSE(side.user.knows(PoolRef(7)));
  EXPECT_EQ(side.user.counters()[PoolCounter::kFlushTimeout], 1U);
}

TEST_F(PoolUserTest, S001_13_get_asks_and_does_not_wait) {
  ASSERT_TRUE(side.user.request_more(1536, 64));
  const Message message = side.next(kStart);
  const auto get = BufferRecvPoolGet::parse(message);
  ASSERT_TRUE(get);
  EXPECT_EQ(get->packet_bytes, 1536U);
  EXPECT_EQ(get->packets, 64U);
  EXPECT_NE(get->context, kUnsolicited);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(side.user.request_more(1, 1));
  EXPECT_FALSE(side.user.request_more(1, 1));
}

TEST_F(PoolUserTest, P_41_leases_of_an_earlier_connection_are_void) {
  ASSERT_TRUE(receive(advertise(record(7, 4, 64))));
  const ElementLease old = take(1);
  side.control.close_all();
  ASSERT_TRUE(receive(advertise(record(7, 4, 64))));
  side.user.on_written(old);
  side.user.cancel(old);
  EXPECT_EQ(available(7), 4U);
  const ElementLease lease = take(1);
  ASSERT_TRUE(receive(flush_request(kGoldenContext, 7U)));
  side.user.on_written(old);
  EXPECT_TRUE(side.next(kStart).empty()) << "only its own lease counts";
  side.user.on_written(lease);
  EXPECT_FALSE(side.next(kStart).empty());
}

}  // namespace splitnic::messaging::pool_user_test
