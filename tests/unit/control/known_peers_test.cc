// The hosts that a unit knows, as `splitnic peers` prints them.
#include "control/report/known_peers.h"

#include <gtest/gtest.h>

namespace splitnic::control {
namespace known_peers_test {

KnownPeers example() {
  KnownPeer office{"office", "AQID"};
  office.state = "up";
  office.address = "192.0.2.1:40000";
  office.handshake_seconds = 7;
  office.rx_bytes = 100;
  office.tx_bytes = 2000;
  office.queues = 1;
  office.memory_bytes = 9 << 20;
  office.rights = "sniff";
  KnownPeer container{"container", ""};
  container.user = 1000;
  container.rights = "default";
  return {office, container};
}

TEST(KnownPeersTest, json_golden) {
  EXPECT_EQ(known_peers_json(example()),
            R"({"peers":[{"name":"office","key":"AQID","state":"up","address":"192.0.2.1:40000",)"
            R"("last_handshake_seconds":7,"rx_bytes":100,"tx_bytes":2000,"queues":1,)"
            R"("memory_bytes":9437184,"rights":"sniff"},)"
            R"({"name":"container","uid":1000,"state":"absent","address":"","rx_bytes":0,)"
            R"("tx_bytes":0,"queues":0,"memory_bytes":0,"rights":"default"}]})"
            "\n");
  EXPECT_EQ(known_peers_json({}), "{\"peers\":[]}\n");
}

TEST(KnownPeersTest, text_golden) {
  EXPECT_EQ(
      known_peers_text(example()),
      "HOST       STATE   ADDRESS          HANDSHAKE  RX   TX    MEMORY  RIGHTS   KEY OR USER\n"
      "office     up      192.0.2.1:40000  7 s ago    100  2000  9216K   sniff    AQID\n"
      "container  absent  -                -          0    0     -       default  uid 1000\n");
  EXPECT_EQ(known_peers_text({}), "no host is known\n");
}

TEST(KnownPeersTest, a_host_with_a_key_is_one_also_where_its_name_is_not_known) {
  KnownPeers all = example();
  KnownPeers second = example();
  second[0] = {"", "AQID"};
  second[0].handshake_seconds = 3;
  add_queue(all, second);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "office");
  EXPECT_EQ(all[0].state, "up");
  EXPECT_EQ(all[0].handshake_seconds, 3U);
  // Hosts of one user are not one.
  KnownPeers others = {{"a", ""}, {"b", ""}};
  others[0].user = others[1].user = 0;
  add_queue(all, others);
  EXPECT_EQ(all.size(), 4U);
}

TEST(KnownPeersTest, M_1_another_queue_adds_bytes_queues_and_memory) {
  KnownPeers all = example();
  KnownPeers second = example();
  second[0].handshake_seconds = 3;
  second[1].handshake_seconds = 9;
  second[1].queues = 1;
  second.push_back({"stranger", ""});
  add_queue(all, second);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].rx_bytes, 200U);
  EXPECT_EQ(all[0].tx_bytes, 4000U);
  EXPECT_EQ(all[0].queues, 2U);
  EXPECT_EQ(all[0].memory_bytes, 18U << 20);
  EXPECT_EQ(all[0].handshake_seconds, 3U);
  EXPECT_EQ(all[1].handshake_seconds, 9U);
  EXPECT_EQ(all[1].queues, 1U);
  EXPECT_EQ(all[1].state, "absent") << "of queue 0";
  EXPECT_EQ(all[2].name, "stranger");
}

}  // namespace known_peers_test
}  // namespace splitnic::control
