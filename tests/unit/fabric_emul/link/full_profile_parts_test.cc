// The parts of a link of the full profile: flit credits and retry.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>

#include "fabric_emul/link/full_profile/flit_credit.h"
#include "fabric_emul/link/full_profile/link_retry.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric::full_profile_parts_test {

using namespace std::chrono_literals;

TEST(FlitCreditTest, S000_43_limits_are_absolute_and_wrap) {
  CreditGate gate;
  CreditGrant grant;
  grant.start(100);
  gate.start(100);
  for (std::uint32_t i = 0; i < (1U << 24) / 50 + 100; ++i) {
    ASSERT_TRUE(gate.may_send(100));
    ASSERT_FALSE(gate.may_send(101));
    gate.consume(50);
    grant.release(50);
    const std::uint32_t old = grant.limit() - 50;
    ASSERT_TRUE(gate.on_limit(grant.limit()));
    ASSERT_TRUE(gate.on_limit(grant.limit()));  // repeated
    ASSERT_FALSE(gate.on_limit(old & kCreditMask));
  }
  EXPECT_EQ(blocks_of(1), 1U);
  EXPECT_EQ(blocks_of(64), 1U);
  EXPECT_EQ(blocks_of(65), 2U);
}

TEST(RetrySenderTest, S000_44_an_ack_of_a_flit_never_sent_acknowledges_nothing) {
  RetrySender sender(16, 128, 1ms, 10ms, 16);
  sender.start(Lsn(5));
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(sender.room());
    sender.push({}, {}, 128);  // LSN 5, 6, 7
  }
  for (const std::uint32_t lsn : {8U, 9U, 15U}) EXPECT_FALSE(sender.on_ack({}, Lsn(lsn))) << lsn;
  EXPECT_FALSE(sender.on_lnak({}, Lsn(8)));
  EXPECT_FALSE(sender.empty());
  EXPECT_TRUE(sender.on_ack({}, Lsn(7)));
  EXPECT_TRUE(sender.empty());
}

// A peer that waits for a processor does not get all flits with each time-out.
TEST(RetrySenderTest, S000_44_P_LINK_27_a_second_time_out_repeats_the_oldest_flit_only) {
  RetrySender sender(64, 128, 1ms, 1ms, 900);
  sender.start(Lsn(1));
  base::Time now{};
  for (int i = 0; i < 40; ++i) {
    static_cast<void>(sender.room());
    sender.push(now, {}, 128);
  }
  const auto resend_all = [&] {
    std::size_t count = 0;
    for (; sender.has_resend(); ++count) sender.resend(now);
    return count;
  };
  const auto time_out = [&] {
    now = sender.deadline();
    sender.on_time(now);
    return resend_all();
  };
  EXPECT_EQ(time_out(), 32U);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(time_out(), 1U);
    ASSERT_TRUE(sender.full());
  }
  // Something was acknowledged: what is behind it follows.
  EXPECT_TRUE(sender.on_ack(now, Lsn(1)));
  EXPECT_EQ(resend_all(), 33U);
  // And so after LNAK.
  static_cast<void>(time_out());
  EXPECT_EQ(time_out(), 1U);
  EXPECT_TRUE(sender.on_lnak(now, Lsn(1)));
  EXPECT_EQ(resend_all(), 32U);
  EXPECT_FALSE(sender.is_dead());
  EXPECT_TRUE(sender.on_ack(now, Lsn(40)));
  EXPECT_TRUE(sender.empty());
  EXPECT_FALSE(sender.full());
}

}  // namespace splitnic::fabric::full_profile_parts_test
