// Rates from two samples of counters.
#include "control/report/traffic_rates.h"

#include <gtest/gtest.h>

namespace splitnic::control::traffic_rates_test {

TEST(TrafficRatesTest, B_09_a_host_has_the_rates_of_its_interface) {
  const CounterValues before{{"tap.rx.frames", 100},    {"tap.tx.frames", 50},
                             {"tap.rx.bytes", 1000},    {"tap.tx.bytes", 9000},
                             {"tap.rx.drop.kernel", 2}, {"host.tx.drop.too_long", 7},
                             {"host.rx.frames", 3}};
  const CounterValues now{{"tap.rx.frames", 300},    {"tap.tx.frames", 50},
                          {"tap.rx.bytes", 251000},  {"tap.tx.bytes", 9000},
                          {"tap.rx.drop.kernel", 6}, {"host.tx.drop.too_long", 8},
                          {"host.rx.frames", 9}};
  const TrafficRates rates = traffic_rates(before, now, 2);
  ASSERT_EQ(rates.rows.size(), 1U);
  const TrafficRow& tap = rates.rows.front();
  EXPECT_EQ(tap.name, "tap");
  EXPECT_EQ(tap.in_frames, 100);
  EXPECT_EQ(tap.in_bits, 1e6);
  EXPECT_EQ(tap.out_frames, 0);
  EXPECT_EQ(tap.out_bits, 0);
  EXPECT_EQ(tap.drops, 2);
  EXPECT_EQ(rates.drops, 2.5);
  const std::string text = rates_text(rates);
  EXPECT_NE(text.find("tap   1.00 Mbit/s  100.0  0 bit/s  0.0    2.0"), std::string::npos) << text;
  EXPECT_NE(text.find("all   -            -      -        -      2.5"), std::string::npos) << text;
  EXPECT_EQ(
      with_rates("{\"role\":\"host\"}\n", rates),
      "{\"role\":\"host\",\"rates\":{\"seconds\":2E0,\"rows\":[{\"name\":\"tap\",\"in_frames\":"
      "1E2,\"out_frames\":0E0,\"drops\":2E0,\"in_bits\":1E6,\"out_bits\":0E0}],\"drops\":"
      "2.5E0}}\n");
  EXPECT_EQ(with_rates("no object", rates), "no object");
}

TEST(TrafficRatesTest, B_09_a_unit_has_rows_for_its_nics_and_its_hosts) {
  const CounterValues now{{"iou.hosts.ups", 1},
                          {"lan.port.rx.frames", 10},
                          {"lan1.port.rx.frames", 20},
                          {"lan.rx.drop.no_host", 4},
                          {"lan1.port.tx.drop.blocked", 1},
                          {"iou.from_host.drop.spoof", 3},
                          {"host.a.b.iou.from_host.frames", 30},
                          {"host.a.b.iou.to_host.frames", 40},
                          {"host.a.b.iou.from_host.ethernet_bytes", 125},
                          {"host.a.b.iou.from_host.drop.spoof", 3}};
  const TrafficRates rates = traffic_rates({}, now, 1);
  ASSERT_EQ(rates.rows.size(), 3U);
  EXPECT_EQ(rates.rows[0].name, "host a.b");
  EXPECT_EQ(rates.rows[0].in_frames, 30);
  EXPECT_EQ(rates.rows[0].out_frames, 40);
  EXPECT_EQ(rates.rows[0].in_bits, 1000);
  EXPECT_EQ(rates.rows[0].drops, 3);
  EXPECT_EQ(rates.rows[1].name, "lan");
  EXPECT_EQ(rates.rows[1].drops, 4);
  EXPECT_EQ(rates.rows[2].name, "lan1");
  EXPECT_EQ(rates.rows[2].in_frames, 20);
  EXPECT_EQ(rates.rows[2].drops, 1);
  EXPECT_EQ(rates.drops, 8) << "what a host has is counted once";
}

TEST(TrafficRatesTest, B_09_a_switch_has_cells_of_its_ports) {
  const TrafficRates rates = traffic_rates(
      {}, {{"switch.port1.rx.cell", 5}, {"switch.port12.rx.cell", 6}, {"switch.rx.cell", 11}}, 1);
  ASSERT_EQ(rates.rows.size(), 2U);
  EXPECT_EQ(rates.rows[0].name, "port 1");
  EXPECT_EQ(rates.rows[1].in_frames, 6);
  EXPECT_FALSE(rates.rows[1].in_bits);
}

TEST(TrafficRatesTest, B_15_a_program_that_was_started_again_counts_from_0) {
  EXPECT_EQ(change_of({{"x", 10}}, "x", 12), 2U);
  EXPECT_EQ(change_of({{"x", 10}}, "x", 3), 3U);
  EXPECT_EQ(change_of({}, "x", 3), 3U);
}

}  // namespace splitnic::control::traffic_rates_test
