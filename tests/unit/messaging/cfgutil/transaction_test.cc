// Open requests and kept replies.
#include <gtest/gtest.h>

#include "messaging/cfgutil/reply_cache.h"
#include "messaging/cfgutil/transaction_table.h"
#include "tests/unit/messaging/pools/pool_support.h"

namespace splitnic::messaging::transaction_test {
using namespace test;
using std::chrono::milliseconds;

TEST(TransactionTableTest, S001_24_a_request_is_repeated_with_the_same_context_three_times) {
  TransactionTable table;
  const Message request = words({0x80001, 0, 7, 0x20005, 0});
  table.open(TransactionContext(7), request);
  for (int i = 0; i < 3; ++i) {
    const base::Time due = kStart + milliseconds(500 * i);
    if (i != 0) {
      EXPECT_EQ(table.deadline(), due);
    }
    EXPECT_TRUE(table.next_message(due - milliseconds(i == 0 ? 0 : 1)).empty() == (i != 0));
    if (i != 0) {
      EXPECT_EQ(hex(table.next_message(due)), hex(request));
    }
    EXPECT_TRUE(table.next_message(due).empty());
    EXPECT_FALSE(table.next_failed(due));
  }
  const base::Time end = kStart + milliseconds(1500);
  EXPECT_EQ(table.deadline(), end);
  EXPECT_TRUE(table.next_message(end).empty());
  EXPECT_EQ(table.next_failed(end), TransactionContext(7));
  EXPECT_EQ(table.next_failed(end), std::nullopt);
  EXPECT_EQ(table.size(), 0U);
}

TEST(TransactionTableTest, S001_10_replies_match_by_context_in_any_order) {
  TransactionTable table;
  for (std::uint64_t i = 1; i <= 8; ++i) table.open(TransactionContext(i), Message(20));
  EXPECT_TRUE(table.full()) << "at most 8 are open";
  for (const std::uint64_t i : {3U, 8U, 1U}) EXPECT_TRUE(table.close(TransactionContext(i)));
  EXPECT_FALSE(table.close(TransactionContext(3))) << "late or repeated";
  EXPECT_FALSE(table.close(TransactionContext(99))) << "invented";
  EXPECT_EQ(table.size(), 5U);
}

TEST(ReplyCacheTest, S001_24_a_repeated_request_is_not_done_twice) {
  ReplyCache cache;
  const TransactionContext context(7);
  EXPECT_EQ(cache.begin(context), ReplyCache::Seen::kNew);
  EXPECT_EQ(cache.begin(context), ReplyCache::Seen::kWorking);
  EXPECT_TRUE(cache.reply(context).empty());
  const Message reply = words({0x90001, 0, 7, 0x20005, 0, 0});
  cache.store(context, reply);
  EXPECT_EQ(cache.begin(context), ReplyCache::Seen::kReplied);
  EXPECT_EQ(hex(cache.reply(context)), hex(reply));
  cache.clear();
  EXPECT_EQ(cache.begin(context), ReplyCache::Seen::kNew);
}

TEST(ReplyCacheTest, S001_24_the_last_eight_are_kept) {
  ReplyCache cache;
  for (std::uint64_t i = 1; i <= 9; ++i) {
    ASSERT_EQ(cache.begin(TransactionContext(i)), ReplyCache::Seen::kNew);
    cache.store(TransactionContext(i), Message(24));
  }
  for (std::uint64_t i = 2; i <= 9; ++i) {
    EXPECT_EQ(cache.begin(TransactionContext(i)), ReplyCache::Seen::kReplied) << i;
  }
  EXPECT_EQ(cache.begin(TransactionContext(1)), ReplyCache::Seen::kNew) << "the oldest is gone";
}

TEST(ReplyCacheTest, eight_at_work_leave_no_room_and_context_zero_is_never_kept) {
  ReplyCache cache;
  for (std::uint64_t i = 1; i <= 8; ++i) (void)cache.begin(TransactionContext(i));
  EXPECT_EQ(cache.begin(TransactionContext(9)), ReplyCache::Seen::kBusy);
  EXPECT_EQ(cache.begin(kUnsolicited), ReplyCache::Seen::kNew);
  cache.store(kUnsolicited, Message(24));
  EXPECT_EQ(cache.begin(kUnsolicited), ReplyCache::Seen::kNew);
  EXPECT_EQ(cache.begin(TransactionContext(1)), ReplyCache::Seen::kWorking);
}

}  // namespace splitnic::messaging::transaction_test
