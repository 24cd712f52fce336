#include "messaging/pools/pool_owner.h"

#include "tests/unit/messaging/pools/pool_support.h"

namespace splitnic::messaging::pool_owner_test {
using namespace test;
using std::chrono::microseconds;

constexpr std::uint32_t idata(std::uint32_t pool, std::uint32_t element, std::uint32_t bytes) {
  return *PoolElementIdata::encode(PoolRef(pool), element, bytes);
}

struct PoolOwnerTest : testing::Test {
  // Pools 0.. of 8 elements of 2048 bytes, advertised.
  void advertise_pools(std::uint32_t n, std::uint32_t elements = 8) {
    for (std::uint32_t i = 0; i < n; ++i) side.owner.add(memory(elements, 2048, i + 1));
    while (!side.next(kStart).empty()) {
    }
  }
  void fill_and_release(std::uint32_t pool, std::uint32_t element, base::Time now) {
    ASSERT_TRUE(written(side.owner, idata(pool, element, 100), 100, now));
    side.owner.release(PoolRef(pool), element, 1, now);
  }
  Side side;
};

TEST_F(PoolOwnerTest, S001_11_default_pools_are_split_for_idata_and_advertised_at_once) {
  std::uint32_t handle = 1;
  for (const PoolSpec spec : kDefaultPools) {
    for (const PoolSpec part : split(spec)) {
      side.owner.add(memory(part.count, part.size, handle++));
    }
  }
  const Message message = side.next(kStart);
  const auto view = BufferRecvPool::parse(message);
  ASSERT_TRUE(view);
  ASSERT_EQ(view->size(), 5U);
  for (std::uint32_t i = 0; i < 5; ++i) {
    const PoolRecord expected = i < 4 ? record(i, 256, 2048, i + 1, std::uint64_t{i + 1} << 40)
                                      : record(i, 64, 65536, i + 1, std::uint64_t{i + 1} << 40);
    EXPECT_EQ((*view)[i], expected);
    EXPECT_TRUE(PoolElementIdata::suits(expected.pool, expected.elements, expected.element_bytes));
  }
  EXPECT_TRUE(side.next(kStart).empty());
  EXPECT_EQ(split({257, 100}), (std::vector<PoolSpec>{{256, 100}, {1, 100}}));
}

TEST_F(PoolOwnerTest, S001_11_more_pools_than_a_message_holds) {
  advertise_pools(0);
  for (std::uint32_t i = 0; i < 130; ++i) side.owner.add(memory(1, 2048, i + 1));
  Message message = side.next(kStart);
  EXPECT_EQ(BufferRecvPool::parse(message)->size(), 127U);
  message = side.next(kStart);
  EXPECT_EQ(BufferRecvPool::parse(message)->size(), 3U);
  EXPECT_TRUE(side.next(kStart).empty());
}

TEST_F(PoolOwnerTest, S001_13_a_pool_that_grants_a_get_copies_its_context) {
  Message get(20);
  BufferRecvPoolGet{kGoldenContext, 1536, 64}.emit(get);
  ASSERT_TRUE(side.receive(get, kStart));
  BufferRecvPoolGet{kGoldenContext, 1536, 128}.emit(get);  // replaces the first
  ASSERT_TRUE(side.receive(get, kStart));
  const auto buffer_request = side.owner.next_buffer_request();
  ASSERT_TRUE(buffer_request);
  EXPECT_EQ(buffer_request->packets, 128U);
  EXPECT_FALSE(side.owner.next_buffer_request());
  EXPECT_TRUE(side.next(kStart).empty()) << "there is no reply";

  side.owner.add(memory(128, 2048, 1), buffer_request->context);
  side.owner.add(memory(8, 2048, 2));
  const Message first = side.next(kStart), second = side.next(kStart);
  EXPECT_EQ(BufferRecvPool::parse(first)->context(), kGoldenContext);
  EXPECT_EQ(BufferRecvPool::parse(first)->size(), 1U);
  EXPECT_EQ(BufferRecvPool::parse(second)->context(), kUnsolicited);
}

TEST_F(PoolOwnerTest, S001_13_at_most_eight_gets_are_kept) {
  Message get(20);
  const auto ask = [&](std::uint64_t context, std::uint32_t packets) {
    BufferRecvPoolGet{TransactionContext(context), 1536, packets}.emit(get);
    return side.receive(get, kStart);
  };
  for (std::uint64_t context = 1; context <= 8; ++context) EXPECT_TRUE(ask(context, 16));
  EXPECT_EQ(reason(ask(9, 16)), DropReason::kState);
  EXPECT_TRUE(ask(1, 32)) << "it replaces the first";
  EXPECT_EQ(side.drops[DropReason::kState], 1U);
  for (std::uint64_t context = 1; context <= 8; ++context) {
    const auto kept = side.owner.next_buffer_request();
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->context, TransactionContext(context));
    EXPECT_EQ(kept->packets, context == 1 ? 32U : 16U);
  }
  EXPECT_FALSE(side.owner.next_buffer_request());
  EXPECT_TRUE(ask(9, 16)) << "there is room again";
}

TEST_F(PoolOwnerTest, S001_19_idata_names_the_element_and_its_address) {
  advertise_pools(1);
  const auto filled = written(side.owner, idata(0, 5, 256), 256, kStart);
  ASSERT_TRUE(filled);
  EXPECT_EQ(*filled, (FilledElement{PoolRef(0), 5, 1, 256,
                                    fabric::VirtualAddress((std::uint64_t{1} << 40) + 5 * 2048)}));
  EXPECT_EQ(side.owned(PoolRef(0)).filled, 1U);
  EXPECT_EQ(side.owned(PoolRef(0)).posted, 7U);
}

TEST_F(PoolOwnerTest, P_38_P_39_bad_idata_changes_nothing) {
  advertise_pools(1);
  ASSERT_TRUE(written(side.owner, idata(0, 5, 256), 256, kStart));
  const auto refused = [&](std::uint32_t code, std::uint32_t bytes) {
    return written(side.owner, code, bytes, kStart).error();
  };
  EXPECT_EQ(refused(idata(1, 0, 1), 1), DropReason::kPool) << "never advertised";
  EXPECT_EQ(refused(idata(0, 8, 1), 1), DropReason::kRange) << "outside the pool";
  EXPECT_EQ(refused(idata(0, 0, 2049), 2049), DropReason::kRange) << "more than the element";
  EXPECT_EQ(refused(idata(0, 0, 100), 99), DropReason::kRange) << "not what was written";
  EXPECT_EQ(refused(idata(0, 5, 256), 256), DropReason::kState) << "filled twice";
  EXPECT_EQ(side.owned(PoolRef(0)).filled, 1U);
  EXPECT_EQ(side.owned(PoolRef(0)).posted, 7U);
  side.owner.release(PoolRef(0), 5, 1, kStart);
  EXPECT_EQ(refused(idata(0, 5, 256), 256), DropReason::kState) << "not returned yet";
}

TEST_F(PoolOwnerTest, S001_20_offset_form_decodes_to_the_same_element) {
  Side b(100, IdataForm::kOffsetLength);
  b.owner.add(memory(64, 2048, 1));
  ASSERT_FALSE(b.next(kStart).empty());
  const auto filled = written(b.owner, *OffsetLengthIdata::encode(5 * 2048, 256), 256, kStart,
                              IdataForm::kOffsetLength);
  ASSERT_TRUE(filled);
  EXPECT_EQ(filled->element, 5U);
  EXPECT_EQ(filled->bytes, 256U);
  EXPECT_EQ(written(b.owner, *OffsetLengthIdata::encode(6 * 2048 + 64, 1), 1, kStart,
                    IdataForm::kOffsetLength)
                .error(),
            DropReason::kRange);
  EXPECT_EQ(written(b.owner, *OffsetLengthIdata::encode(64 * 2048, 1), 1, kStart,
                    IdataForm::kOffsetLength)
                .error(),
            DropReason::kRange);
}

TEST_F(PoolOwnerTest, S001_21_indication_by_message) {
  side.owner.add_as(PoolRef(300), memory(4, 70000, 1));
  ASSERT_FALSE(side.next(kStart).empty());
  ASSERT_TRUE(side.receive(indicate(ConsumedRecord{PoolRef(300), 2, 1, 70000}), kStart));
  ASSERT_EQ(side.filled.size(), 1U);
  EXPECT_EQ(side.filled[0].bytes, 70000U);
  EXPECT_EQ(side.filled[0].address.value, (std::uint64_t{1} << 40) + 140000);
}

TEST_F(PoolOwnerTest, P_38_P_39_bad_indicate_is_dropped_whole) {
  advertise_pools(2);
  const auto refused = [&](ConsumedRecord bad) {
    const Verdict v = side.receive(indicate(ConsumedRecord{PoolRef(0), 0, 2, 4000}, bad), kStart);
    EXPECT_EQ(side.owned(PoolRef(0)).posted, 8U);
    EXPECT_EQ(side.owned(PoolRef(1)).posted, 8U);
    EXPECT_TRUE(side.filled.empty());
    return reason(v);
  };
  EXPECT_EQ(refused({PoolRef(2), 0, 1, 1}), DropReason::kPool);
  EXPECT_EQ(refused({PoolRef(1), 8, 1, 1}), DropReason::kRange);
  EXPECT_EQ(refused({PoolRef(1), 7, 2, 4000}), DropReason::kRange);
  EXPECT_EQ(refused({PoolRef(1), 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}), DropReason::kRange);
  EXPECT_EQ(refused({PoolRef(1), 0, 1, 2049}), DropReason::kRange) << "longer than posted";
  EXPECT_EQ(refused({PoolRef(0), 1, 1, 1}), DropReason::kState) << "named twice";
  EXPECT_EQ(side.drops[DropReason::kState], 1U);
  EXPECT_EQ(side.drops[DropReason::kRange], 4U);
  ASSERT_TRUE(side.receive(indicate(ConsumedRecord{PoolRef(0), 0, 2, 4000}), kStart));
  EXPECT_EQ(reason(side.receive(indicate(ConsumedRecord{PoolRef(0), 0, 2, 4000}), kStart)),
            DropReason::kState);
  EXPECT_EQ(side.filled.size(), 1U) << "the first wins";
}

TEST_F(PoolOwnerTest, S001_14_no_update_while_the_peer_has_half) {
  advertise_pools(1);
  for (std::uint32_t i = 0; i < 4; ++i) fill_and_release(0, i, kStart);
  EXPECT_EQ(side.owner.deadline(), base::kNever);
  EXPECT_TRUE(side.next(after(microseconds(1'000'000))).empty());
}

TEST_F(PoolOwnerTest, S001_14_update_at_once_when_half_is_released) {
  advertise_pools(1);
  for (std::uint32_t i = 0; i < 5; ++i) fill_and_release(0, i, kStart);
  EXPECT_LE(side.owner.deadline(), kStart);
  EXPECT_EQ(hex(side.next(kStart)), hex(update(ElementRange{PoolRef(0), 0, 5})));
  EXPECT_EQ(side.owned(PoolRef(0)).posted, 8U);
  EXPECT_TRUE(side.next(kStart).empty());
}

TEST_F(PoolOwnerTest, S001_14_update_by_timer_when_less_is_released) {
  advertise_pools(2);
  for (std::uint32_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(written(side.owner, idata(0, i, 1), 1, kStart));
  }
  side.owner.release(PoolRef(0), 2, 1, after(microseconds(10)));
  side.owner.release(PoolRef(0), 0, 1, after(microseconds(20)));
  EXPECT_EQ(side.owner.deadline(), after(microseconds(110)));
  EXPECT_TRUE(side.next(after(microseconds(109))).empty());
  EXPECT_EQ(hex(side.next(after(microseconds(110)))),
            hex(update(ElementRange{PoolRef(0), 2, 1}, ElementRange{PoolRef(0), 0, 1})))
      << "held elements 1, 3 and 4 are not named";
}

TEST_F(PoolOwnerTest, S001_14_the_timer_starts_when_the_peer_falls_below_half) {
  advertise_pools(2);
  for (std::uint32_t i = 0; i < 3; ++i) fill_and_release(0, i, kStart);
  EXPECT_EQ(side.owner.deadline(), base::kNever);
  ASSERT_TRUE(written(side.owner, idata(0, 3, 1), 1, kStart));
  ASSERT_TRUE(written(side.owner, idata(0, 4, 1), 1, after(microseconds(50))));
  EXPECT_EQ(side.owner.deadline(), after(microseconds(150)));
}

TEST_F(PoolOwnerTest, S001_14_update_at_once_when_the_peer_has_none_left) {
  advertise_pools(2);
  side.owner.add(memory(8, 65536, 9));  // another size does not help
  ASSERT_FALSE(side.next(kStart).empty());
  for (std::uint32_t i = 0; i < 15; ++i) {
    ASSERT_TRUE(written(side.owner, idata(i / 8, i % 8, 1), 1, kStart));
  }
  side.owner.release(PoolRef(0), 3, 1, kStart);
  EXPECT_EQ(side.owner.deadline(), after(microseconds(100)));
  ASSERT_TRUE(written(side.owner, idata(1, 7, 1), 1, after(microseconds(5))));
  EXPECT_LE(side.owner.deadline(), after(microseconds(5)));
  EXPECT_EQ(hex(side.next(after(microseconds(5)))), hex(update(ElementRange{PoolRef(0), 3, 1})));
}

TEST_F(PoolOwnerTest, S001_15_one_update_for_three_pools) {
  advertise_pools(3);
  for (std::uint32_t pool = 0; pool < 3; ++pool) {
    for (std::uint32_t i = 0; i < 5; ++i) fill_and_release(pool, i, kStart);
  }
  EXPECT_EQ(hex(side.next(kStart)),
            hex(update(ElementRange{PoolRef(0), 0, 5}, ElementRange{PoolRef(1), 0, 5},
                       ElementRange{PoolRef(2), 0, 5})));
}

TEST_F(PoolOwnerTest, S001_15_more_ranges_than_a_message_holds) {
  side.owner.add_as(PoolRef(1000), memory(1000, 64, 1));
  ASSERT_FALSE(side.next(kStart).empty());
  for (std::uint32_t i = 0; i < 1000; i += 2) {  // every other element: no ranges merge
    ASSERT_TRUE(side.receive(indicate(ConsumedRecord{PoolRef(1000), i, 1, 1}), kStart));
  }
  ASSERT_TRUE(side.receive(indicate(ConsumedRecord{PoolRef(1000), 999, 1, 1}), kStart));
  for (std::uint32_t i = 0; i < 1000; i += 2) side.owner.release(PoolRef(1000), i, 1, kStart);
  std::size_t ranges = 0;
  for (Message m = side.next(kStart); !m.empty(); m = side.next(kStart)) {
    ranges += BufferRecvPoolUpdate::parse(m)->size();
  }
  EXPECT_EQ(ranges, 500U);
  EXPECT_EQ(side.owned(PoolRef(1000)).posted, 999U);
}

TEST_F(PoolOwnerTest, S001_10_S001_16_three_flushes_get_replies_in_any_order) {
  advertise_pools(3);
  std::vector<TransactionContext> contexts;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::array ref{PoolRef(i)};
    side.owner.request_flush(ref);
    const Message request = side.next(kStart);
    const auto view = BufferPoolFlushRequest::parse(request);
    ASSERT_TRUE(view);
    EXPECT_EQ((*view)[0].pool, PoolRef(i));
    EXPECT_FALSE(names_receivers_pools(view->context()));
    contexts.push_back(view->context());
  }
  for (const std::uint32_t i : {2U, 0U, 1U}) {
    EXPECT_EQ(side.owned(PoolRef(i)).state, PoolState::kFlushing);
    ASSERT_TRUE(side.receive(flush_reply(contexts[i]), kStart));
    const auto closed = side.owner.next_closed();
    ASSERT_TRUE(closed);
    EXPECT_EQ(closed->pool, PoolRef(i));
    EXPECT_FALSE(closed->is_timed_out);
  }
  EXPECT_EQ(reason(side.receive(flush_reply(contexts[0]), kStart)), DropReason::kContext);
  EXPECT_FALSE(side.owner.next_closed()) << "P-41: freed once";
}

TEST_F(PoolOwnerTest, S001_16_ten_pools_in_one_flush) {
  advertise_pools(10);
  side.owner.request_flush_all();
  const Message request = side.next(kStart);
  EXPECT_EQ(BufferPoolFlushRequest::parse(request)->size(), 10U);
  EXPECT_EQ(request.size(), 12U + 40);
}

TEST_F(PoolOwnerTest, S001_17_flush_without_a_reply_ends_after_a_second) {
  advertise_pools(1);
  side.owner.request_flush_all();
  ASSERT_FALSE(side.next(kStart).empty());
  EXPECT_EQ(side.owner.deadline(), kStart + std::chrono::seconds(1));
  side.owner.on_time(kStart + std::chrono::milliseconds(999));
  EXPECT_FALSE(side.owner.next_closed());
  side.owner.on_time(kStart + std::chrono::seconds(1));
  const auto closed = side.owner.next_closed();
  ASSERT_TRUE(closed);
  EXPECT_TRUE(closed->is_timed_out);
  EXPECT_EQ(written(side.owner, idata(0, 0, 1), 1, kStart).error(), DropReason::kPool);
}

TEST_F(PoolOwnerTest, S001_17_data_in_flight_is_taken_while_flushing) {
  advertise_pools(1);
  side.owner.request_flush_all();
  const Message request = side.next(kStart);
  ASSERT_TRUE(written(side.owner, idata(0, 0, 1), 1, kStart));
  ASSERT_TRUE(side.receive(flush_reply(BufferPoolFlushRequest::parse(request)->context()), kStart));
  EXPECT_TRUE(side.owner.next_closed());
  EXPECT_TRUE(side.owner.in_use(fabric::MemoryHandle(1))) << "a reader holds element 0";
  side.owner.release(PoolRef(0), 0, 1, kStart);
  EXPECT_FALSE(side.owner.in_use(fabric::MemoryHandle(1)));
}

TEST_F(PoolOwnerTest, S001_17_the_initiator_flushes) {
  advertise_pools(2);
  const TransactionContext context = for_receivers_pools(kGoldenContext);
  ASSERT_TRUE(side.receive(flush_request(context, 1U, 77U), kStart));
  EXPECT_EQ(side.drops[DropReason::kPool], 1U) << "unknown 77 is counted and gets a reply";
  EXPECT_EQ(hex(side.next(kStart)), hex(flush_reply(context)));
  EXPECT_EQ(side.owner.next_closed()->pool, PoolRef(1));
  EXPECT_TRUE(side.owner.knows(PoolRef(0)));
  EXPECT_FALSE(side.owner.knows(PoolRef(1)));
  // Once more: it gets a reply nevertheless.
  ASSERT_TRUE(side.receive(flush_request(context, 1U), kStart));
  EXPECT_EQ(hex(side.next(kStart)), hex(flush_reply(context)));
  EXPECT_FALSE(side.owner.next_closed());
}

TEST_F(PoolOwnerTest, P_41_close_all_ends_every_pool_once) {
  advertise_pools(3);
  side.owner.request_flush(std::array{PoolRef(1)});
  ASSERT_FALSE(side.next(kStart).empty());
  ASSERT_TRUE(written(side.owner, idata(2, 0, 1), 1, kStart));
  side.owner.close_all();
  int closed = 0;
  while (side.owner.next_closed()) ++closed;
  EXPECT_EQ(closed, 3);
  EXPECT_EQ(side.owner.deadline(), base::kNever);
  side.owner.release(PoolRef(2), 0, 1, kStart);
  EXPECT_FALSE(side.owner.in_use(fabric::MemoryHandle(3)));
  EXPECT_TRUE(side.next(kStart).empty());
}

TEST_F(PoolOwnerTest, a_reference_is_not_used_again_at_once) {
  advertise_pools(1);
  side.owner.close_all();
  EXPECT_EQ(side.owner.add(memory(8, 2048, 5)), PoolRef(1));
  EXPECT_EQ(side.owner.add(memory(257, 2048, 6)), PoolRef(256)) << "cannot be named by idata";
}

}  // namespace splitnic::messaging::pool_owner_test
