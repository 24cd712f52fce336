// The MAC table under many addresses, age and several hosts.
#include "lan_bridge/mac_table.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace splitnic::lan::mac_table_test {

using Outcome = MacTable::Outcome;
using std::chrono::seconds;

const base::Time kStart{seconds(1000)};

MacAddress mac(std::uint64_t n) {
  return {0x02,
          static_cast<std::uint8_t>(n >> 32),
          static_cast<std::uint8_t>(n >> 24),
          static_cast<std::uint8_t>(n >> 16),
          static_cast<std::uint8_t>(n >> 8),
          static_cast<std::uint8_t>(n)};
}

TEST(MacTableTest, learns_ages_and_forgets) {
  MacTable table(64, seconds(300), 1);
  EXPECT_EQ(table.learn(mac(1), 3, kStart), Outcome::kLearned);
  EXPECT_EQ(table.learn(mac(1), 3, kStart + seconds(100)), Outcome::kKnown);
  EXPECT_EQ(table.find(mac(1), kStart + seconds(399)), HostSlot{3});
  EXPECT_EQ(table.find(mac(1), kStart + seconds(400)), std::nullopt);
  EXPECT_EQ(table.find(mac(2), kStart), std::nullopt);
  table.learn(mac(5), 1, kStart);
  table.forget(mac(5));
  EXPECT_EQ(table.find(mac(5), kStart), std::nullopt);
}

TEST(MacTableTest, an_address_may_move_unless_pinned) {
  MacTable table(64, seconds(300), 1);
  table.learn(mac(1), 3, kStart);
  EXPECT_EQ(table.learn(mac(1), 4, kStart), Outcome::kReassigned);
  EXPECT_EQ(table.find(mac(1), kStart), HostSlot{4});
  table.pin(mac(2), 3, kStart);
  EXPECT_EQ(table.learn(mac(2), 4, kStart), Outcome::kRefused);
  EXPECT_EQ(table.find(mac(2), kStart + seconds(9999)), HostSlot{3});
  table.forget(mac(2));
  EXPECT_EQ(table.find(mac(2), kStart), std::nullopt);
  EXPECT_EQ(table.learn({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, 1, kStart), Outcome::kRefused);
}

TEST(MacTableTest, an_address_was_last_seen_when_it_was_learned_last) {
  MacTable table(64, seconds(300), 1);
  EXPECT_EQ(table.last_seen(mac(1), kStart), std::nullopt);
  table.learn(mac(1), 3, kStart);
  table.learn(mac(1), 3, kStart + seconds(100));
  EXPECT_EQ(table.last_seen(mac(1), kStart + seconds(399)), kStart + seconds(100));
  EXPECT_EQ(table.last_seen(mac(1), kStart + seconds(400)), std::nullopt);
}

TEST(MacTableTest, L_35_a_million_addresses_of_one_host_push_out_no_other_hosts) {
  MacTable table(4096, seconds(300), 77);
  std::uint64_t kept = 0;
  for (std::uint64_t n = 0; n < 256; ++n) {
    kept += table.learn(mac(n), 1, kStart) == Outcome::kLearned ? 1U : 0U;
  }
  EXPECT_EQ(kept, 256U);
  table.pin(mac(500), 1, kStart);
  base::SeededRandom random(4);
  for (int i = 0; i < 1'000'000; ++i) table.learn(mac(1000 + random.below(1ULL << 39)), 2, kStart);
  EXPECT_LE(table.size(), table.capacity());
  for (std::uint64_t n = 0; n < 256; ++n) ASSERT_EQ(table.find(mac(n), kStart), HostSlot{1});
  EXPECT_EQ(table.pin(mac(600), 1, kStart), Outcome::kLearned);
}

}  // namespace splitnic::lan::mac_table_test
