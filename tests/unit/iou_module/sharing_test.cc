// The unit notifies a LAN port whether several hosts share it [S001-08].
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness::sharing_test {
namespace {

using Calls = std::vector<bool>;

TEST(SharingTest,
     S001_08_the_port_is_notified_when_the_second_host_comes_and_when_one_alone_is_left) {
  UnitHarness harness;
  TestHost& first = harness.add_host();
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  EXPECT_EQ(harness.lan().shared_calls, Calls()) << "alone, as it begins";
  TestHost& second = harness.add_host();
  ASSERT_TRUE(harness.attach(second, mac_number(2)));
  EXPECT_EQ(harness.lan().shared_calls, Calls({true}));
  TestHost& third = harness.add_host();
  ASSERT_TRUE(harness.attach(third, mac_number(3)));
  first.end();
  harness.run(5ms);
  EXPECT_EQ(harness.lan().shared_calls, Calls({true})) << "two are left";
  third.end();
  harness.run(5ms);
  EXPECT_EQ(harness.lan().shared_calls, Calls({true, false}));
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  EXPECT_EQ(harness.lan().shared_calls, Calls({true, false, true}));
}

TEST(SharingTest, S001_08_hosts_of_another_nic_do_not_share_the_port) {
  UnitHarness harness({.nics = 2});
  ASSERT_TRUE(harness.attach(harness.add_host({.nic = 0}), mac_number(1)));
  ASSERT_TRUE(harness.attach(harness.add_host({.nic = 1}), mac_number(2)));
  EXPECT_EQ(harness.lan(0).shared_calls, Calls());
  EXPECT_EQ(harness.lan(1).shared_calls, Calls());
  ASSERT_TRUE(harness.attach(harness.add_host({.nic = 1}), mac_number(3)));
  EXPECT_EQ(harness.lan(0).shared_calls, Calls());
  EXPECT_EQ(harness.lan(1).shared_calls, Calls({true}));
}

TEST(SharingTest, S001_08_a_host_that_reconnects_does_not_share_the_port_with_itself) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  harness.run(Iou::kAttachInterval);
  ASSERT_TRUE(harness.connect(host));
  harness.run(Iou::kAttachInterval);
  host.start();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  EXPECT_EQ(harness.lan().shared_calls, Calls());
}

TEST(SharingTest, S001_08_the_port_is_alone_again_when_the_unit_has_stopped) {
  TwoHosts harness;
  harness.unit->stop(harness.clock.now());
  EXPECT_EQ(harness.lan().shared_calls, Calls({true, false}));
}

}  // namespace
}  // namespace splitnic::iou::harness::sharing_test
