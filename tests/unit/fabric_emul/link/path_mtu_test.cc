// MCP and stride of a path: bounds, probes that find less, and when that is forgotten.
#include "fabric_emul/link/path_mtu.h"

#include <gtest/gtest.h>

namespace splitnic::fabric::path_mtu_test {

using namespace std::chrono_literals;

constexpr std::size_t kBatch = 65000;
constexpr base::Time kStart{1000s};

PortConfig config_of(LinkProfile profile, std::uint16_t mcp_wanted = 0) {
  PortConfig config;
  config.profile = profile;
  config.mcp_wanted = mcp_wanted;
  return config;
}

// Only datagrams of up to `passes` bytes get a reply. Returns true if that was found.
bool probe(PathMtu& path, std::size_t passes, base::Time& now) {
  base::SeededRandom random(1);
  path.on_sent(1436, now);
  while (path.deadline() != base::kNever) {
    now = path.deadline();
    for (const PathProbe::Probe& sent : path.on_time(now, random)) {
      if (sent.datagram_bytes <= passes) path.on_reply(sent.nonce);
    }
    if (path.take_narrowed(now)) return true;
  }
  return false;
}

TEST(PathMtuTest, S000_39_mcp_follows_from_the_datagram) {
  const PathMtu path{config_of(LinkProfile::kSpeed)};
  EXPECT_EQ(path.offer(1472, kBatch), 1364);
  EXPECT_EQ(path.offer(1473, kBatch), 1364) << "a multiple of 4";
  EXPECT_EQ(path.offer(1476, kBatch), 1368);
  EXPECT_EQ(path.offer(65507, 100000), 64928) << "the longest stride is 65000";
  EXPECT_EQ(path.offer(65507, 9000), 8928) << "one batch holds it";
  EXPECT_EQ(path.offer(36 + 72 + 3, kBatch), kMcpMin);
  EXPECT_EQ(path.offer(0, kBatch), kMcpMin);
}

TEST(PathMtuTest, a_wanted_mcp_is_an_upper_bound) {
  const PathMtu path{config_of(LinkProfile::kSpeed, 1003)};
  EXPECT_EQ(path.offer(1472, kBatch), 1000);
  EXPECT_EQ(path.offer(1000, kBatch), 892);
  EXPECT_EQ(PathMtu{config_of(LinkProfile::kSpeed, 3)}.offer(1472, kBatch), kMcpMin);
}

TEST(PathMtuTest, the_full_profile_offers_256_unless_asked) {
  EXPECT_EQ(PathMtu{config_of(LinkProfile::kFull)}.offer(1472, kBatch), 256);
  EXPECT_EQ(PathMtu{config_of(LinkProfile::kFull)}.offer(300, kBatch), 192);
  EXPECT_EQ(PathMtu{config_of(LinkProfile::kFull, 512)}.offer(1472, kBatch), 512);
}

TEST(PathMtuTest, full_stride_is_the_datagram_s_until_probes_find_less) {
  PathMtu path{config_of(LinkProfile::kFull)};
  path.set_mcp(256);
  path.set_probed(1436);
  EXPECT_EQ(path.full_stride(1472, kBatch, 128), 1436U);
  EXPECT_EQ(path.full_stride(65507, 9000, 128), 9000U);
  EXPECT_EQ(path.full_stride(1472, kBatch, 4000), 4016U) << "a flit always fits";
  base::Time now = kStart;
  ASSERT_TRUE(probe(path, 1300, now));
  EXPECT_EQ(path.full_stride(1472, kBatch, 128), 1196U);
  EXPECT_EQ(path.offer(1472, kBatch), 256);
  path.forget();
  EXPECT_EQ(path.full_stride(1472, kBatch, 128), 1436U);
}

TEST(PathMtuTest, L_33_a_result_of_probes_bounds_the_offer_until_it_expires) {
  PathMtu path{config_of(LinkProfile::kSpeed)};
  path.set_mcp(1364);
  EXPECT_EQ(path.stride(), 1436U);
  base::Time now = kStart;
  EXPECT_FALSE(probe(path, 1436, now));
  EXPECT_EQ(path.offer(1472, kBatch), 1364);
  ASSERT_TRUE(probe(path, 1200, now));
  EXPECT_EQ(path.offer(1472, kBatch), 1196 - 72);
  path.expire(now + 10min);
  EXPECT_EQ(path.offer(1472, kBatch), 1196 - 72);
  path.expire(now + 10min + 1ns);
  EXPECT_EQ(path.offer(1472, kBatch), 1364);
  ASSERT_TRUE(probe(path, 600, now));
  EXPECT_EQ(path.offer(1472, kBatch), 492 - 72);
  path.forget();
  EXPECT_EQ(path.offer(1472, kBatch), 1364);
}

}  // namespace splitnic::fabric::path_mtu_test
