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

// More than can be in flight at once does not end the process.
TEST(AnnounceSim, more_addresses_than_an_iteration_takes) {
  WorldConfig config;
  config.addresses = [] { return std::vector<lan::LocalAddress>(1000); };
  World world(config);
  ASSERT_TRUE(world.run_until(5s, [&] { return world.connected(); }));
  world.host->on_pair_down(world.host->connection()->first(), "a new connection is wanted");
  world.run(1s);
  EXPECT_GE(world.announced.size(), 64U);
  EXPECT_TRUE(world.connected());
}

}  // namespace announce_sim_test
}  // namespace splitnic::sim
