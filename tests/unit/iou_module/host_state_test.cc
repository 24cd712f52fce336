#include "iou_module/hosts/host_state.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::host_state_test {

using namespace harness;

constexpr std::array kStates{HostState::kAttached, HostState::kClosing, HostState::kFailed,
                             HostState::kClosed};

TEST(HostStateTest, these_are_all_the_edges) {
  using enum HostState;
  const std::set<std::pair<HostState, HostState>> expected{
      {kAttached, kClosing}, {kAttached, kFailed}, {kClosing, kFailed}, {kFailed, kClosed}};
  for (const HostState from : kStates) {
    for (const HostState to : kStates) {
      EXPECT_EQ(is_host_edge(from, to), expected.contains({from, to}))
          << static_cast<int>(from) << " to " << static_cast<int>(to);
    }
  }
}

struct HostStateUnitTest : ::testing::Test {
  HostStateUnitTest() { EXPECT_TRUE(unit.attach(peer, mac_number(1))); }
  AttachedHost& host() { return *unit.unit->hosts().at(0); }

  UnitHarness unit;
  TestHost& peer = unit.add_host();
};

TEST_F(HostStateUnitTest, a_host_that_fails_is_closed_once_and_hears_nothing_more) {
  EXPECT_EQ(host().life().state(), HostState::kAttached);
  EXPECT_TRUE(host().wants(mac_number(1)));
  host().fail();
  EXPECT_EQ(host().life().state(), HostState::kFailed);
  EXPECT_FALSE(host().wants(mac_number(1)));
  EXPECT_FALSE(host().rx().is_heard());
  host().fail();
  EXPECT_EQ(host().life().state(), HostState::kFailed);
  host().close(unit.clock.now());
  EXPECT_EQ(host().life().state(), HostState::kClosed);
  host().close(unit.clock.now());
  host().fail();
  host().begin_close();
  EXPECT_EQ(host().life().state(), HostState::kClosed);
  unit.run(1ms);
  EXPECT_TRUE(unit.unit->hosts().empty());
}

TEST_F(HostStateUnitTest, a_host_that_closes_is_still_heard_and_may_fail) {
  host().begin_close();
  EXPECT_EQ(host().life().state(), HostState::kClosing);
  EXPECT_TRUE(host().rx().is_heard());
  host().begin_close();
  EXPECT_EQ(host().life().state(), HostState::kClosing);
  host().fail();
  EXPECT_EQ(host().life().state(), HostState::kFailed);
}

using HostStateDeathTest = HostStateUnitTest;
TEST_F(HostStateDeathTest, a_host_that_has_not_failed_is_not_closed) {
  EXPECT_DEATH(host().close(unit.clock.now()), "");
}

}  // namespace splitnic::iou::host_state_test
