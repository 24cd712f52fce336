#include "fabric_emul/verbs/qp_table.h"

#include <gtest/gtest.h>

#include <set>

namespace splitnic::fabric::qp_table_test {

using namespace std::chrono_literals;

struct Table {
  explicit Table(std::size_t max) : memory(1, random), table(max, random) {}
  std::optional<Qpn> make(base::Time now) {
    const auto qpn = table.pick(now);
    if (!qpn) return qpn;
    QpContext context{.mrwt = memory, .counters = counters, .send_cq = cq, .recv_cq = cq};
    context.qpn = *qpn;
    QpLimits limits;
    limits.send.depth = limits.receive.depth = 1;
    table.insert(*qpn, std::make_unique<Qp>(context, limits));
    return qpn;
  }
  base::SeededRandom random{5};
  Mrwt memory;
  base::Counters<TransportCounter> counters;
  CompletionQueue cq{1};
  QpTable table;
};

TEST(QpTableTest, S000_01_a_limit_and_room_again) {
  Table t(3);
  const base::Time now{};
  const auto first = t.make(now);
  EXPECT_TRUE(t.make(now));
  EXPECT_TRUE(t.make(now));
  EXPECT_FALSE(t.make(now));
  t.table.erase(*first, now);
  EXPECT_EQ(t.table.find(*first), nullptr);
  EXPECT_TRUE(t.make(now));
}

TEST(QpTableTest, S000_01_each_number_leads_to_its_queue_pair) {
  Table t(3);
  const base::Time now{};
  EXPECT_EQ(t.table.find(Qpn(0)), nullptr);
  const Qpn one = *t.make(now), other = *t.make(now);
  for (int round = 0; round < 2; ++round) {  // also the number of the call before
    ASSERT_NE(t.table.find(one), nullptr);
    EXPECT_EQ(t.table.find(one)->qpn(), one);
    EXPECT_EQ(t.table.find(other)->qpn(), other);
    EXPECT_EQ(t.table.find(Qpn(0)), nullptr);
  }
  ASSERT_NE(t.table.find(one), nullptr);
  t.table.erase(one, now);
  EXPECT_EQ(t.table.find(one), nullptr);
  EXPECT_EQ(t.table.find(other)->qpn(), other);
}

TEST(QpTableTest, X_46_a_number_rests_for_a_minute) {
  // The same draws, so that only the rest keeps a number from being reused.
  Table t(10);
  const base::Time start{};
  const Qpn qpn = *t.make(start);
  t.table.erase(qpn, start);
  t.random = base::SeededRandom(5);
  Mrwt same(1, t.random);  // draws what the first table drew
  EXPECT_NE(*t.make(start + 59s), qpn);
  t.random = base::SeededRandom(5);
  Mrwt again(1, t.random);
  EXPECT_EQ(*t.make(start + 60s), qpn);
}

TEST(QpTableTest, X_46_numbers_are_random_and_none_is_reserved) {
  Table t(2000);
  std::set<std::uint32_t> seen;
  std::uint32_t high_bits = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::uint32_t value = t.make(base::Time{})->value;
    EXPECT_GT(value, 15U);
    EXPECT_LT(value, 1U << 24);
    seen.insert(value);
    high_bits += value >> 23;
  }
  EXPECT_EQ(seen.size(), 2000U);
  EXPECT_NEAR(high_bits, 1000, 120);
}

}  // namespace splitnic::fabric::qp_table_test
