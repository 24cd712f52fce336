// What the unit tells a LAN port of how many hosts share it [S001-08].
#include "tests/unit/iou_module/unit_bench.h"

namespace splitnic::iou::bench::sharing_test {
namespace {

using Told = std::vector<bool>;

TEST(SharingTest, S001_08_the_port_is_told_when_the_second_host_comes_and_when_one_alone_is_left) {
  UnitBench bench;
  TestHost& first = bench.add_host();
  ASSERT_TRUE(bench.attach(first, mac_number(1)));
  EXPECT_EQ(bench.lan().told_shared, Told()) << "alone, as it begins";
  TestHost& second = bench.add_host();
  ASSERT_TRUE(bench.attach(second, mac_number(2)));
  EXPECT_EQ(bench.lan().told_shared, Told({true}));
  TestHost& third = bench.add_host();
  ASSERT_TRUE(bench.attach(third, mac_number(3)));
  first.end();
  bench.run(5ms);
  EXPECT_EQ(bench.lan().told_shared, Told({true})) << "two are left";
  third.end();
  bench.run(5ms);
  EXPECT_EQ(bench.lan().told_shared, Told({true, false}));
  ASSERT_TRUE(bench.attach(first, mac_number(1)));
  EXPECT_EQ(bench.lan().told_shared, Told({true, false, true}));
}

TEST(SharingTest, S001_08_hosts_of_another_nic_do_not_share_the_port) {
  UnitBench bench({.nics = 2});
  ASSERT_TRUE(bench.attach(bench.add_host({.nic = 0}), mac_number(1)));
  ASSERT_TRUE(bench.attach(bench.add_host({.nic = 1}), mac_number(2)));
  EXPECT_EQ(bench.lan(0).told_shared, Told());
  EXPECT_EQ(bench.lan(1).told_shared, Told());
  ASSERT_TRUE(bench.attach(bench.add_host({.nic = 1}), mac_number(3)));
  EXPECT_EQ(bench.lan(0).told_shared, Told());
  EXPECT_EQ(bench.lan(1).told_shared, Told({true}));
}

TEST(SharingTest, S001_08_a_host_that_connects_anew_does_not_share_the_port_with_itself) {
  UnitBench bench;
  TestHost& host = bench.add_host();
  ASSERT_TRUE(bench.attach(host, mac_number(1)));
  bench.run(Iou::kSessionEvery);
  ASSERT_TRUE(bench.connect(host));
  bench.run(Iou::kSessionEvery);
  host.start();
  ASSERT_TRUE(bench.attach(host, mac_number(1)));
  EXPECT_EQ(bench.lan().told_shared, Told());
}

TEST(SharingTest, S001_08_the_port_is_alone_again_when_the_unit_has_stopped) {
  TwoHosts bench;
  bench.unit->stop(bench.clock.now());
  EXPECT_EQ(bench.lan().told_shared, Told({true, false}));
}

}  // namespace
}  // namespace splitnic::iou::bench::sharing_test
