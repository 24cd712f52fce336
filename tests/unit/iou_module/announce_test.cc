// Tests which hosts the unit requests to ANNOUNCE, and when.
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness {
namespace {

TEST(AnnounceTest, S001_25_a_host_is_asked_once_a_session_when_it_starts) {
  UnitHarness harness({.nics = 2});
  TestHost& host = harness.add_host();
  TestHost& other = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  ASSERT_TRUE(harness.attach(other, mac_number(2)));
  harness.run(100ms);
  EXPECT_EQ(host.announces, 1U) << "it may come from another unit";

  ASSERT_TRUE(harness.connect(host));
  harness.run(100ms);
  EXPECT_EQ(host.announces, 1U) << "its frames would be dropped";
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(harness.start(host));
    harness.run(100ms);
    EXPECT_EQ(host.announces, 2U);
  }

  host.nic = 1;
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  harness.run(100ms);
  EXPECT_EQ(host.announces, 3U) << "it is on another NIC";

  host.start();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  harness.run(100ms);
  EXPECT_EQ(host.announces, 4U) << "another process of it";
  EXPECT_EQ(other.announces, 1U);
}

}  // namespace
}  // namespace splitnic::iou::harness
