#include "control/report/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstdio>
#include <string>

#include "control/report/json.h"
#include "control/report/ping_json.h"

namespace splitnic::control {
namespace snapshot_test {

Snapshot example() {
  Snapshot s;
  s.role = "iou";
  s.name = "lab-iou";
  s.state = "up";
  s.peers = {{"h1", "192.0.2.1:40000", "up", "rdma", "02:00:00:00:00:01"}};
  s.pools = {{0, 256, 2048, 200, "h1", "own", {{"POSTED", 200}, {"FILLED", 56}}}};
  s.channels = {{"h1", 0, 2, 3, "RC", "RTS"}};
  s.links = {{"192.0.2.1:40000", "ACTIVE", 1408, 1, "on"}};
  s.lan = {{"packet:eth1", "up", 1500, "02:00:00:00:00:aa"}};
  s.counters = {{"lan.rx.frames", 7}, {"fabric.cell.drop.crc", 1}, {"lan.rx.frames", 3}};
  return s;
}

TEST(SnapshotTest, show_json_golden) {
  EXPECT_EQ(
      show_json(example()),
      R"({"role":"iou","name":"lab-iou","state":"up",)"
      R"("peers":[{"name":"h1","address":"192.0.2.1:40000","state":"up","mode":"rdma","mac":"02:00:00:00:00:01"}],)"
      R"("pools":[{"ref":0,"elements":256,"size":2048,"available":200,"peer":"h1","side":"own","states":{"POSTED":200,"FILLED":56}}],)"
      R"("lan":[{"port":"packet:eth1","link":"up","mtu":1500,"mac":"02:00:00:00:00:aa"}],)"
      R"("channels":[{"peer":"h1","channel":0,"qpn":2,"peer_qpn":3,"service":"RC","state":"RTS"}],)"
      R"("links":[{"address":"192.0.2.1:40000","state":"ACTIVE","cell_bytes":1408,"lanes":1,)"
      R"("payload_crc":"on"}]})"
      "\n");
}

TEST(SnapshotTest, a_round_trip_is_shown_once_it_is_known) {
  Snapshot s = example();
  EXPECT_EQ(show_json(s).find("round_trip_ns"), std::string::npos);
  s.channels[0].round_trip = std::chrono::nanoseconds(45100);
  EXPECT_NE(show_json(s).find(R"("state":"RTS","round_trip_ns":45100})"), std::string::npos);
  EXPECT_NE(show_text(s).find("RTS    45.1 us\n"), std::string::npos) << show_text(s);
}

TEST(SnapshotTest, S001_49_versions_of_both_ends) {
  Snapshot s = example();
  EXPECT_EQ(show_text(s).find("PROGRAM"), std::string::npos);
  s.program = "splitnic-iou 0.1.0";
  s.peers[0].program = "splitnic-host 0.2.0";
  EXPECT_NE(show_json(s).find(R"("program":"splitnic-host 0.2.0")"), std::string::npos);
  EXPECT_NE(show_json(s).find(R"("program":"splitnic-iou 0.1.0")"), std::string::npos);
  EXPECT_NE(show_text(s).find("runs splitnic-iou 0.1.0\n"), std::string::npos) << show_text(s);
  EXPECT_NE(show_text(s).find("splitnic-host 0.2.0\n"), std::string::npos) << show_text(s);
}

TEST(SnapshotTest, what_encrypts_records_is_shown_with_keys) {
  Snapshot s = example();
  EXPECT_EQ(show_text(s).find("keyed"), std::string::npos);
  s.aead = "OpenSSL";
  EXPECT_NE(show_json(s).find(R"("aead":"OpenSSL")"), std::string::npos);
  EXPECT_NE(show_text(s).find("links are keyed, by OpenSSL\n"), std::string::npos) << show_text(s);
}

// An example with what --verbose adds.
Snapshot verbose_example() {
  Snapshot s = example();
  s.details = {{"process", std::uint64_t{7}}};
  s.peers[0].last_error = "nothing heard";
  s.peers[0].next_attempt = std::chrono::seconds(2);
  s.peers[0].details = {{"mtu", std::uint64_t{9000}}, {"rights", std::string("default")}};
  s.peers[0].memory_bytes = 1 << 20;
  s.peers[0].memory_bytes_max = 64 << 20;
  s.peers[0].counters = {{"iou.to_host.frames", 5}};
  s.links[0].details = {{"datagram_bytes", std::uint64_t{1436}}, {"narrowed", false}};
  s.pools[0].frames = 12;
  s.counters.emplace_back("lan.rx.drop.vlan", 0);
  return s;
}

TEST(SnapshotTest, verbose_has_a_block_per_peer_and_the_counters_in_use) {
  const std::string text = show_text(verbose_example());
  for (const char* part :
       {"  process: 7\n", "\npeer h1:\n  address: 192.0.2.1:40000\n  state: up\n",
        "  last error: nothing heard\n  next attempt in: 2.0 s\n", "  mtu: 9000\n",
        "  memory: 1.0 MiB\n  memory at most: 64.0 MiB\n", "  iou.to_host.frames: 5\n",
        "STATES                FRAMES\n", "POSTED=200 FILLED=56  12\n",
        "PAYLOAD CRC  DATAGRAM  NARROWED\n", "on           1.4 KiB   no\n",
        "\nCOUNTER               VALUE\nfabric.cell.drop.crc  1\nlan.rx.frames         10\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
  }
  EXPECT_EQ(text.find("lan.rx.drop.vlan"), std::string::npos) << "it is 0";
  EXPECT_EQ(text.find("PEER  ADDRESS"), std::string::npos) << "the block replaces the table";
}

TEST(SnapshotTest, verbose_adds_keys_to_the_json) {
  const std::string json = show_json(verbose_example());
  for (
      const char* part :
      {R"("memory_bytes":1048576,"memory_bytes_max":67108864,"details":{"mtu":9000,"rights":"default"},)",
       R"("counters":{"iou.to_host.frames":5}})",
       R"("payload_crc":"on","details":{"datagram_bytes":1436,"narrowed":false}})",
       R"("details":{"process":7},"counters":{"fabric.cell.drop.crc":1,"lan.rx.frames":10}})"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " is not in " << json;
  }
  for (const char* part : {"details", "counters", "memory_bytes"}) {
    EXPECT_EQ(show_json(example()).find(part), std::string::npos) << part;
  }
}

TEST(SnapshotTest, memory_and_counters_of_a_peer_are_sums_over_queues) {
  Snapshot all = verbose_example();
  set_queue(all, 0);
  Snapshot second = verbose_example();
  set_queue(second, 1);
  add_queue(all, second);
  EXPECT_EQ(all.peers[0].memory_bytes, 2U << 20);
  EXPECT_EQ(all.peers[0].memory_bytes_max, 128U << 20);
  EXPECT_EQ(all.peers[0].counters.at("iou.to_host.frames"), 10U);
}

TEST(SnapshotTest, queues_are_shown_where_there_are_several) {
  Snapshot s = example();
  s.pools[0].queue = 1;
  s.channels[0].queue = 1;
  const std::string json = show_json(s);
  EXPECT_NE(json.find(R"("side":"own","queue":1,"states")"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("channel":0,"queue":1,"qpn":2)"), std::string::npos) << json;
  const std::string text = show_text(s);
  EXPECT_NE(text.find("0 of queue 1  own"), std::string::npos) << text;
  EXPECT_NE(text.find("0 of queue 1  h1"), std::string::npos) << text;
}

TEST(SnapshotTest, snapshots_of_queues_are_put_together) {
  Snapshot all = example();
  Snapshot second = example();
  second.peers.push_back({"h2", "192.0.2.2:40000", "up", "rdma", ""});
  Snapshot third = example();
  third.peers[0].state = "connecting";
  set_queue(all, 0);
  set_queue(second, 1);
  set_queue(third, 2);
  add_queue(all, second);
  add_queue(all, third);
  ASSERT_EQ(all.peers.size(), 1U) << "peers are those of queue 0";
  EXPECT_EQ(all.peers[0].queues, 2U) << "that of queue 2 is not up";
  EXPECT_EQ(all.lan.size(), 1U);
  ASSERT_EQ(all.links.size(), 3U);
  ASSERT_EQ(all.pools.size(), 3U);
  ASSERT_EQ(all.channels.size(), 3U);
  for (std::uint64_t queue = 0; queue < 3; ++queue) {
    EXPECT_EQ(all.links[queue].queue, queue);
    EXPECT_EQ(all.pools[queue].queue, queue);
    EXPECT_EQ(all.channels[queue].queue, queue);
  }
  EXPECT_EQ(merged_counters(all).at("lan.rx.frames"), 30U);

  const std::string json = show_json(all);
  EXPECT_NE(json.find(R"("mac":"02:00:00:00:00:01","queues":2})"), std::string::npos) << json;
  EXPECT_NE(json.find(R"({"address":"192.0.2.1:40000","queue":2,"state":"ACTIVE")"),
            std::string::npos)
      << json;
  const std::string text = show_text(all);
  EXPECT_NE(text.find("MAC                QUEUES\n"), std::string::npos) << text;
  EXPECT_NE(text.find("02:00:00:00:00:01  2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("192.0.2.1:40000 of queue 1  ACTIVE"), std::string::npos) << text;
}

TEST(SnapshotTest, show_json_of_nothing_has_every_key) {
  Snapshot s;
  s.role = "host";
  s.name = "n";
  s.state = "connecting";
  EXPECT_EQ(show_json(s),
            R"({"role":"host","name":"n","state":"connecting","peers":[],"pools":[],"lan":[],)"
            R"("channels":[],"links":[]})"
            "\n");
}

TEST(SnapshotTest, stats_json_is_flat_sorted_and_sums_one_name) {
  EXPECT_EQ(stats_json(example()), "{\"fabric.cell.drop.crc\":1,\"lan.rx.frames\":10}\n");
  EXPECT_EQ(stats_json(Snapshot{}), "{}\n");
  EXPECT_EQ(stats_text(example()), "fabric.cell.drop.crc 1\nlan.rx.frames 10\n");
}

TEST(SnapshotTest, largest_number_is_exact) {
  Snapshot s;
  s.counters = {{"x", 18446744073709551615ULL}};
  EXPECT_EQ(stats_json(s), "{\"x\":18446744073709551615}\n");
}

TEST(SnapshotTest, show_text_has_aligned_tables) {
  EXPECT_EQ(show_text(example()),
            "iou lab-iou: up\n"
            "\n"
            "PEER  ADDRESS          STATE  MODE  MAC\n"
            "h1    192.0.2.1:40000  up     rdma  02:00:00:00:00:01\n"
            "\n"
            "LAN          LINK  MTU   MAC\n"
            "packet:eth1  up    1500  02:00:00:00:00:aa\n"
            "\n"
            "POOL  SIDE  PEER  ELEMENTS  SIZE  AVAILABLE  STATES\n"
            "0     own   h1    256       2048  200        POSTED=200 FILLED=56\n"
            "\n"
            "CHANNEL  PEER  QP  PEER QP  SERVICE  STATE  ROUND TRIP\n"
            "0        h1    2   3        RC       RTS    -\n"
            "\n"
            "LINK             STATE   CELL  LANES  PAYLOAD CRC\n"
            "192.0.2.1:40000  ACTIVE  1408  1      on\n");
}

TEST(SnapshotTest, B_22_since_when_and_why_not) {
  Snapshot s = example();
  s.listen = {"udp://0.0.0.0:7471"};
  s.peers[0].since = std::chrono::minutes(125);
  s.peers[0].last_heard = std::chrono::milliseconds(240);
  s.peers.push_back({"", "udp://192.0.2.8:7471", "down", "rdma", ""});
  s.peers[1].since = std::chrono::seconds(61);
  s.peers[1].last_error = "refused: full";
  s.peers[1].next_attempt = std::chrono::milliseconds(350);
  s.lan[0].speed_mbps = 2500;
  s.lan[0].is_full_duplex = false;
  const std::string text = show_text(s);
  EXPECT_THAT(text,
              ::testing::StartsWith(
                  "iou lab-iou: up\n"
                  "listens at udp://0.0.0.0:7471\n"
                  "\n"
                  "PEER  ADDRESS               STATE  SINCE      HEARD  MODE  MAC\n"
                  "h1    192.0.2.1:40000       up     2 h 5 min  0.2 s  rdma  02:00:00:00:00:01\n"
                  "-     udp://192.0.2.8:7471  down   1 min 1 s  -      rdma  -\n"
                  "\n"
                  "udp://192.0.2.8:7471: refused: full; next attempt in 0.3 s\n"
                  "\n"
                  "LAN          LINK  MTU   MAC                SPEED\n"
                  "packet:eth1  up    1500  02:00:00:00:00:aa  2500 Mbit/s half duplex\n"))
      << text;
  const std::string json = show_json(s);
  EXPECT_THAT(json, ::testing::HasSubstr(R"("since_seconds":7500,"last_heard_milliseconds":240})"));
  EXPECT_THAT(
      json,
      ::testing::HasSubstr(
          R"("since_seconds":61,"last_error":"refused: full","next_attempt_milliseconds":350})"));
  EXPECT_THAT(json, ::testing::HasSubstr(R"("speed_mbps":2500,"duplex":"half")"));
  EXPECT_THAT(json, ::testing::HasSubstr(R"("listen":["udp://0.0.0.0:7471"])"));
}

Snapshot of_hosts(int hosts) {
  Snapshot s = example();
  for (int i = 1; i < hosts; ++i) {
    s.peers.push_back(s.peers[0]);
    s.peers.back().name = "h" + std::to_string(i + 1);
    s.links.push_back(s.links[0]);
    for (int k = 0; k < 10; ++k) s.pools.push_back(s.pools[0]);
    for (int k = 0; k < 2; ++k) s.channels.push_back(s.channels[0]);
  }
  return s;
}

struct Shown {
  std::string text, json;
  double best_ms = 1e9;  // of ten rounds: other work on the machine makes any of them longer
};

Shown show(const Snapshot& s) {
  Shown out;
  for (int round = 0; round < 10; ++round) {
    const auto began = std::chrono::steady_clock::now();
    out.text = show_text(s);
    out.json = show_json(s);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    out.best_ms = std::min(out.best_ms, took.count());
  }
  return out;
}

// The largest unit, with the pools of each host: each host adds as much as the others.
TEST(SnapshotTest, B_09_a_unit_of_64_hosts_is_shown_at_once) {
  const Shown few = show(of_hosts(8));
  const Shown all = show(of_hosts(64));
  std::printf("show of 64 hosts: text and JSON, %zu bytes, in %.2f ms; of 8 hosts in %.2f ms\n",
              all.text.size() + all.json.size(), all.best_ms, few.best_ms);
  EXPECT_LT(all.best_ms, 3 * 8 * few.best_ms);
  const auto shown = boost::json::parse(all.json);
  EXPECT_EQ(shown.at("peers").as_array().size(), 64U);
  EXPECT_EQ(shown.at("pools").as_array().size(), 1U + 63U * 10U);
  EXPECT_EQ(shown.at("channels").as_array().size(), 1U + 63U * 2U);
  EXPECT_EQ(shown.at("links").as_array().size(), 64U);
  for (int i = 1; i <= 64; ++i) {
    EXPECT_THAT(all.text, ::testing::HasSubstr("\nh" + std::to_string(i) + " "));
  }
}

TEST(SnapshotTest, the_key_of_a_keyed_peer_is_shown) {
  Snapshot s = example();
  s.peers[0].key = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
  const std::string text = show_text(s);
  EXPECT_NE(text.find("MAC                KEY\n"), std::string::npos) << text;
  EXPECT_NE(text.find("02:00:00:00:00:01  " + s.peers[0].key + "\n"), std::string::npos) << text;
  const std::string json = show_json(s);
  EXPECT_NE(json.find(R"("keyed":true,"key":")" + s.peers[0].key + '"'), std::string::npos) << json;
}

TEST(SnapshotTest, a_peer_cannot_reach_the_terminal) {
  Snapshot s = example();
  s.peers[0].name = "\x1b[2Jevil\n";
  const std::string text = show_text(s);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("?[2Jevil?"), std::string::npos);
}

// The text as it stands in the output, with its quotes.
std::string json_text(std::string_view text) {
  return boost::json::serialize(boost::json::value(json_string(text)));
}

TEST(JsonTest, strings_are_escaped) {
  EXPECT_EQ(json_text("a\"b\\c\nd\re\tf\x01g/"), R"("a\"b\\c\nd\re\tf\u0001g/")");
  EXPECT_EQ(json_text(std::string("nul\0x", 5)), R"("nul\u0000x")");
  EXPECT_EQ(json_text("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"")
      << "UTF-8 passes";
}

TEST(JsonTest, bytes_that_are_not_utf8_are_replaced) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(json_text("a\xFF"
                      "b"),
            "\"a" + r + "b\"");
  EXPECT_EQ(json_text("\xC3"), "\"" + r + "\"") << "cut short";
  EXPECT_EQ(json_text("\xC0\xAF"), "\"" + r + r + "\"") << "overlong";
  EXPECT_EQ(json_text("\xE0\x80\x80"), "\"" + r + r + r + "\"") << "overlong";
  EXPECT_EQ(json_text("\xED\xA0\x80"), "\"" + r + r + r + "\"") << "surrogate";
  EXPECT_EQ(json_text("\xF4\x90\x80\x80"), "\"" + r + r + r + r + "\"") << "beyond";
}

TEST(PingTextTest, min_median_max) {
  using std::chrono::microseconds;
  PingResult result;
  result.sent = 4;
  EXPECT_EQ(ping_text(result), "4 sent, 0 replied\n");
  result.round_trips = {microseconds(300), microseconds(100), microseconds(200)};
  EXPECT_EQ(ping_text(result), "4 sent, 3 replied, min 100.0 us, median 200.0 us, max 300.0 us\n");
  result.round_trips = {microseconds(300), std::chrono::nanoseconds(100500), microseconds(200),
                        microseconds(400)};
  EXPECT_EQ(ping_text(result), "4 sent, 4 replied, min 100.5 us, median 200.0 us, max 400.0 us\n");
}

TEST(PingTextTest, B_18_as_JSON_and_back) {
  using std::chrono::microseconds;
  PingResult result;
  result.sent = 4;
  EXPECT_EQ(ping_json(result), "{\"sent\":4,\"replied\":0,\"round_trip_ns\":[]}\n");
  result.round_trips = {microseconds(300), microseconds(100), microseconds(200)};
  EXPECT_EQ(ping_json(result),
            "{\"sent\":4,\"replied\":3,\"min_ns\":100000,\"median_ns\":200000,\"max_ns\":300000,"
            "\"round_trip_ns\":[300000,100000,200000]}\n");
  const auto parsed = parse_ping_json(ping_json(result));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->sent, 4U);
  EXPECT_EQ(parsed->round_trips, result.round_trips);
  for (const char* other : {"", "4 sent, 0 replied\n", "[]", "{\"sent\":4}",
                            "{\"sent\":4,\"round_trip_ns\":[\"x\"]}"}) {
    EXPECT_FALSE(parse_ping_json(other)) << other;
  }
}

}  // namespace snapshot_test
}  // namespace splitnic::control
