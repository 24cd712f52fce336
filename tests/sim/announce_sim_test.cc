// A host announces its addresses to the LAN on each new connection.
#include <gtest/gtest.h>

#include "tests/sim/sim_world.h"

namespace splitnic::sim {
namespace announce_sim_test {

using namespace std::chrono_literals;
using Frame = std::vector<std::byte>;

Frame announcement(const lan::MacAddress& mac, const lan::LocalAddress& address) {
  Frame frame(lan::kAnnounceBytesMax);
  frame.resize(lan::emit_announcement(frame, mac, address).size());
  return frame;
}

TEST(AnnounceSim, S001_25_a_host_announces_its_addresses_as_they_are_then) {
  const lan::LocalAddress ip4{.bytes = {10, 99, 0, 2}};
  const lan::LocalAddress ip6{.is_ip6 = true, .bytes = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 1}};
  std::vector<lan::LocalAddress> addresses{ip4};
  WorldConfig config;
  config.addresses = [&] { return addresses; };
  World world(config);
  const auto& announced = world.announced;
  ASSERT_TRUE(world.run_until(5s, [&] { return world.connected(); }));
  const lan::MacAddress mac = world.host->nic().mac();
  ASSERT_TRUE(world.run_until(5s, [&] { return announced.size() == 1; }));
  EXPECT_EQ(announced[0], announcement(mac, ip4));

  world.announced.clear();
  addresses.push_back(ip6);
  world.host->on_pair_down(world.host->connection()->first(), "a new connection is wanted");
  ASSERT_TRUE(world.run_until(5s, [&] { return announced.size() == 2; }));
  EXPECT_EQ(announced[0], announcement(mac, ip4));
  EXPECT_EQ(announced[1], announcement(mac, ip6));
  world.run(100ms);
  EXPECT_EQ(announced.size(), 2U) << "once";
  EXPECT_EQ(world.counter("host.tx.announced"), 3U);

  // Another process of the host too; and what it sends goes its way before and after.
  world.announced.clear();
  world.restart_host();
  ASSERT_TRUE(world.run_until(10s, [&] { return announced.size() == 2; }));
  world.mark();
  for (int i = 0; i < 100; ++i) world.send_to_lan(1000);
  EXPECT_TRUE(world.run_until(5s, [&] { return world.all_arrived(); }));
  EXPECT_EQ(world.violations(), std::vector<std::string>{});
}

// More than an iteration takes.
TEST(AnnounceSim, S001_25_each_of_many_addresses_is_announced_once) {
  std::vector<lan::LocalAddress> addresses(100);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    addresses[i].bytes = {10, 99, 0, static_cast<std::uint8_t>(i)};
  }
  WorldConfig config;
  config.addresses = [&] { return addresses; };
  World world(config);
  const auto& announced = world.announced;
  ASSERT_TRUE(world.run_until(5s, [&] { return world.connected(); }));
  world.run_until(1s, [&] { return announced.size() == addresses.size(); });
  world.run(100ms);
  EXPECT_EQ(world.counter("host.tx.announced"), addresses.size());
  ASSERT_EQ(announced.size(), addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    EXPECT_EQ(announced[i], announcement(world.host->nic().mac(), addresses[i])) << i;
  }
}

// The connection ends before it has announced all.
TEST(AnnounceSim, S001_25_a_new_connection_announces_all_of_many_addresses) {
  constexpr std::size_t kAddresses = 5000;
  WorldConfig config;
  config.addresses = [] { return std::vector<lan::LocalAddress>(kAddresses); };
  World world(config);
  ASSERT_TRUE(world.run_until(5s, [&] { return world.counter("host.tx.announced") > 0; }));
  world.host->on_pair_down(world.host->connection()->first(), "a new connection is wanted");
  const std::uint64_t before = world.counter("host.tx.announced");
  EXPECT_LT(before, kAddresses);
  EXPECT_TRUE(world.run_until(
      20s, [&] { return world.counter("host.tx.announced") >= before + kAddresses; }));
  world.run(100ms);
  EXPECT_EQ(world.counter("host.tx.announced"), before + kAddresses);
  EXPECT_TRUE(world.connected());
}

}  // namespace announce_sim_test
}  // namespace splitnic::sim
