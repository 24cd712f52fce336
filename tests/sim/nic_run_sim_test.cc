// Requests of the user about the remote NIC, over the queues of a host. [S001-25]
#include "host_module/nic_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/sim_world.h"

namespace splitnic::sim {
namespace nic_run_sim {

using namespace std::chrono_literals;
using control::Posted;
using ::testing::HasSubstr;

// The reply to `vlan add 10` of a host whose queue 1 is as given.
control::Reply add_vlan(Posted second_queue) {
  World world({.seed = 3});
  EXPECT_TRUE(world.run_until(2s, [&] { return world.connected(); }));
  const auto request = control::parse_nic_request("vlan-add", "10");
  EXPECT_TRUE(request) << request.error().text();
  std::optional<control::Reply> reply;
  host::NicRun::start(
      *request, {"nic0", "1", "unit", false}, *world.host,
      [&](std::size_t, const host::NicRun::WithHost&) { return second_queue; },
      [&](const control::Reply& got) { reply = got; });
  EXPECT_TRUE(world.run_until(2s, [&] { return reply.has_value(); }));
  return reply.value_or(control::Reply{});
}

TEST(NicRunSim, a_host_without_more_queues_has_done_it) {
  EXPECT_EQ(add_vlan(Posted::kNoQueue).status, control::ReplyStatus::kOk);
}

TEST(NicRunSim, a_queue_that_is_left_out_is_reported) {
  const control::Reply reply = add_vlan(Posted::kBusy);
  EXPECT_EQ(reply.status, control::ReplyStatus::kFailed);
  EXPECT_THAT(reply.text, HasSubstr("queue 1 is busy or stopping"));
}

}  // namespace nic_run_sim
}  // namespace splitnic::sim
