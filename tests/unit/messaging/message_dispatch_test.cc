#include "messaging/message_dispatch.h"

#include "base/random.h"

#include "tests/unit/messaging/pools/pool_support.h"

namespace splitnic::messaging::message_dispatch_test {
using namespace test;

DropReason dispatched(Side& side, const Message& message) {
  return reason(side.receive(message, kStart));
}

TEST(MessageDispatchTest, S001_09_header_checks_in_order_each_counted) {
  Side side;
  EXPECT_EQ(dispatched(side, Message(kMsgMaxControl + 4)), DropReason::kTooLong);
  EXPECT_EQ(dispatched(side, Message(11)), DropReason::kShort);
  EXPECT_EQ(dispatched(side, Message{}), DropReason::kShort);
  for (const std::uint32_t code : {0U, 10U, 0x8000U, 0xFFFFU}) {
    EXPECT_EQ(dispatched(side, words({code << 16 | 1, 0, 1})), DropReason::kFunction) << code;
  }
  EXPECT_EQ(dispatched(side, words({0x10002, 0, 1})), DropReason::kVersion);
  EXPECT_EQ(dispatched(side, words({0x10001, 0, 1})), DropReason::kShort);
  EXPECT_EQ(dispatched(side, words({0x50001, 0, 1, 0})), DropReason::kAlign);
  EXPECT_EQ(dispatched(side, words({0x50001, 0, 1})), DropReason::kContext);
  EXPECT_EQ(side.drops[DropReason::kTooLong], 1U);
  EXPECT_EQ(side.drops[DropReason::kShort], 3U);
  EXPECT_EQ(side.drops[DropReason::kFunction], 4U);
  EXPECT_EQ(side.drops[DropReason::kContext], 1U);
}

TEST(MessageDispatchTest, each_function_reaches_its_handler) {
  Side side;
  EXPECT_TRUE(side.receive(advertise(record(7, 8, 64)), kStart));
  EXPECT_TRUE(side.user.knows(PoolRef(7)));
  EXPECT_TRUE(side.receive(words({0x20001, 0, 1, 1536, 64}), kStart));
  EXPECT_EQ(side.owner.next_buffer_request()->packets, 64U);
  const auto lease = side.user.take(1);
  ASSERT_TRUE(lease);
  side.user.on_written(*lease);
  EXPECT_TRUE(side.receive(update(ElementRange{PoolRef(7), 0, 1}), kStart));
  EXPECT_EQ(side.used(PoolRef(7)).available, 8U);
  EXPECT_TRUE(side.receive(words({0x60001, 0, 0, 5, 0x68656c6c, 0x6f000000}), kStart));
  EXPECT_EQ(side.sent_data, std::vector<std::string>{"hello"});
  EXPECT_TRUE(side.receive(words({0x80001, 0, 1, 0x20004, 0}), kStart));
  EXPECT_EQ(side.requests, std::vector<CfgCode>{CfgCode::kGetLink});
  EXPECT_TRUE(side.receive(words({0x80001, 0, 1, 0x30001, 0}), kStart))
      << "the service replies to an unknown code";
  EXPECT_EQ(dispatched(side, words({0x90001, 0, 1, 0x20004, 0, 0})), DropReason::kContext);
  EXPECT_TRUE(side.receive(flush_request(kGoldenContext, 7U), kStart));
  EXPECT_EQ(hex(side.next(kStart)), hex(flush_reply(kGoldenContext)));
  EXPECT_EQ(dispatched(side, indicate(ConsumedRecord{PoolRef(7), 0, 1, 1})), DropReason::kPool);
}

TEST(MessageDispatchTest, S001_24_unreadable_requests_get_a_reply) {
  Side side;
  EXPECT_EQ(dispatched(side, words({0x80002, 0, 9, 0x20004, 0})), DropReason::kVersion);
  EXPECT_EQ(dispatched(side, words({0x80001, 0, 10, 0x20004, 1})), DropReason::kAlign);
  EXPECT_EQ(dispatched(side, words({0x80001, 0, 11})), DropReason::kShort);
  ASSERT_EQ(side.refused.size(), 3U);
  EXPECT_EQ(side.refused[0].status, CfgStatus::kVersion);
  EXPECT_EQ(side.refused[1].status, CfgStatus::kBadSize);
  EXPECT_EQ(side.refused[1].code, CfgCode::kGetLink);
  EXPECT_EQ(side.refused[2].context, TransactionContext(11));
  EXPECT_TRUE(side.requests.empty());
  // A reply of another version is dropped without a reply: two sides would reply to each other
  // indefinitely.
  EXPECT_EQ(dispatched(side, words({0x90002, 0, 9, 0x20004, 0, 0})), DropReason::kVersion);
  EXPECT_EQ(side.refused.size(), 3U);
}

TEST(MessageDispatchTest, S001_26_X_09_the_data_channel_carries_send_data_only) {
  Side side;
  MessageDispatch data(MessageDispatch::Channel::kData, kMsgMaxData, side, side.drops);
  EXPECT_TRUE(data.dispatch(words({0x60001, 0, 0, 5, 0x68656c6c, 0x6f000000}), kStart));
  EXPECT_EQ(reason(data.dispatch(advertise(record(7, 8, 64)), kStart)), DropReason::kRole);
  EXPECT_EQ(reason(data.dispatch(words({0x80002, 0, 9}), kStart)), DropReason::kRole);
  EXPECT_FALSE(side.user.knows(PoolRef(7)));
}

TEST(MessageDispatchTest, eight_errors_within_a_minute) {
  Side slow, fast;
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(fast.dispatch.errors().is_exceeded()) << i;
    (void)fast.receive(Message(11), kStart + std::chrono::seconds(8 * i));
    (void)slow.receive(Message(11), kStart + std::chrono::seconds(9 * i));
  }
  EXPECT_TRUE(fast.dispatch.errors().is_exceeded());
  EXPECT_FALSE(slow.dispatch.errors().is_exceeded());
}

// The pools of both roles, and how each is used.
std::vector<std::uint64_t> pools_of(const Side& side) {
  std::vector<std::uint64_t> all;
  side.user.visit([&](const UserPoolView& pool) {
    all.insert(all.end(), {pool.record.pool.value, pool.is_flushing ? 1U : 0U, pool.available,
                           pool.writing, pool.consumed});
  });
  side.owner.visit([&](const OwnerPoolView& pool) {
    all.insert(all.end(), {pool.record.pool.value, static_cast<std::uint64_t>(pool.state),
                           pool.posted, pool.filled, pool.released, pool.indicated});
  });
  return all;
}

// Bytes at random; of every second message all numbers are small, as those of the pools are.
Message random_message(base::SeededRandom& random) {
  Message message(random.below(80));
  for (std::byte& b : message) b = static_cast<std::byte>(random.next());
  if (message.size() >= 4 && random.below(4) != 0) {
    set_word(message, 0, static_cast<std::uint32_t>(random.below(11)) << 16 | 1);
  }
  if (random.below(2) != 0) return message;
  for (std::size_t word = 3; 4 * word + 4 <= message.size(); ++word) {
    set_word(message, word, static_cast<std::uint32_t>(random.below(6)));
  }
  return message;
}

TEST(MessageDispatchTest, P_37_random_bytes_never_do_anything_but_count) {
  base::SeededRandom random(37);
  std::uint64_t dropped = 0;
  std::uint64_t counted = 0;
  constexpr int kSides = 40;
  constexpr int kMessages = 500;
  for (int i = 0; i < kSides; ++i) {
    Side side;
    side.owner.add(memory(4, 2048, 1));
    ASSERT_TRUE(side.receive(advertise(record(1, 4, 2048, 9)), kStart));
    for (int k = 0; k < kMessages; ++k) {
      while (!side.next(kStart).empty()) {
      }
      const Message message = random_message(random);
      const std::vector<std::uint64_t> before = pools_of(side);
      if (side.receive(message, kStart)) continue;
      ++dropped;
      ASSERT_EQ(pools_of(side), before) << hex(message);
    }
    side.drops.visit([&](std::string_view, std::uint64_t n) { counted += n; });
  }
  EXPECT_GE(counted, dropped) << "every drop is counted";
  EXPECT_GT(dropped, kSides * kMessages / 2U);
}

}  // namespace splitnic::messaging::message_dispatch_test
