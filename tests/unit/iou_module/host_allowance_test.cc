#include "iou_module/hosts/host_allowance.h"

#include <gtest/gtest.h>

#include "tests/unit/iou_module/frame_maker.h"

namespace splitnic::iou::host_allowance_test {

using namespace std::chrono_literals;
using harness::mac_number;

constexpr base::Time kStart{10s};
constexpr std::uint64_t kMiB = 1 << 20;

// Returns how many of these group frames pass at one time.
int passing(HostAllowance& allowance, int frames, base::Time now) {
  int passed = 0;
  for (int i = 0; i < frames; ++i) {
    passed +=
        allowance.meter().take(true, {.frames = 1, .bytes = 84}, now) == HostMeter::Verdict::kPass
            ? 1
            : 0;
  }
  return passed;
}

TEST(HostAllowanceTest, M_1_memory_is_the_part_of_a_queue_and_follows_the_rights) {
  HostAllowance allowance({}, 4, 64 * kMiB, nullptr);
  EXPECT_EQ(allowance.memory_account().limit(), 16 * kMiB);
  ASSERT_TRUE(allowance.memory_account().take(10 * kMiB));
  allowance.set_rights({.queues_max = 2, .memory_max = 8 * kMiB});
  EXPECT_EQ(allowance.memory_account().limit(), 4 * kMiB);
  EXPECT_EQ(allowance.memory_account().used(), 10 * kMiB) << "memory in use stays";
  EXPECT_FALSE(allowance.memory_account().take(1));
  allowance.set_rights({});
  EXPECT_EQ(allowance.memory_account().limit(), 16 * kMiB);
  allowance.memory_account().give(10 * kMiB);
}

TEST(HostAllowanceTest, M_1_a_refusal_names_the_limit_that_was_reached) {
  HostAllowance allowance({.memory_max = 3 * kMiB}, 1, 64 * kMiB, nullptr);
  EXPECT_EQ(allowance.memory_error().text(),
            "the I/O unit is short of memory, or of table entries");
  EXPECT_FALSE(allowance.memory_account().take(3 * kMiB + 1));
  EXPECT_TRUE(allowance.memory_error().text().starts_with("this host may use 3072 KiB"))
      << allowance.memory_error().text();
}

TEST(HostAllowanceTest, M_4_the_vlans_follow_the_rights) {
  HostAllowance allowance({}, 1, kMiB, nullptr);
  const VlanLimit& vlans = allowance.vlans();
  EXPECT_FALSE(vlans.is_restricted());
  allowance.set_rights({.pvid = 7});
  EXPECT_TRUE(vlans.is_restricted()) << "the reference stays valid";
  EXPECT_TRUE(vlans.may_use(7));
  EXPECT_FALSE(vlans.may_use(8));
}

TEST(HostAllowanceTest, M_3_the_limits_of_frames_follow_the_rights_and_what_is_used_stays_used) {
  HostAllowance allowance({.group_frames_per_second = 1000}, 1, kMiB, nullptr);
  EXPECT_EQ(passing(allowance, 500, kStart), 100) << "a burst of a tenth of a second";
  allowance.set_rights({.group_frames_per_second = 2000});
  EXPECT_EQ(passing(allowance, 500, kStart), 0);
  EXPECT_EQ(passing(allowance, 500, kStart + 1s), 200);
}

TEST(HostAllowanceTest, M_2_a_new_connection_shares_what_is_left_of_the_limits) {
  const auto limits = std::make_shared<HostLimits>(HostRights{}, 1);
  HostAllowance first({}, 1, kMiB, limits);
  for (std::uint32_t i = 0; i < HostLimits::kRequestsBurst; ++i) {
    EXPECT_TRUE(first.take_request(kStart)) << i;
  }
  EXPECT_FALSE(first.take_request(kStart));
  HostAllowance second({}, 1, kMiB, limits);
  EXPECT_FALSE(second.take_request(kStart));
  EXPECT_TRUE(second.take_request(kStart + 20ms));
  HostAllowance other({}, 1, kMiB, nullptr);
  EXPECT_TRUE(other.take_request(kStart)) << "without limits from before it has new ones";
}

TEST(HostAllowanceTest, H_2_a_refusal_that_is_repeated_is_not_new) {
  HostAllowance allowance({}, 1, kMiB, nullptr);
  EXPECT_TRUE(allowance.is_first_sniff_refusal());
  EXPECT_FALSE(allowance.is_first_sniff_refusal());
  EXPECT_TRUE(allowance.is_new_refusal(mac_number(1)));
  EXPECT_FALSE(allowance.is_new_refusal(mac_number(1)));
  EXPECT_TRUE(allowance.is_new_refusal(mac_number(2)));
  EXPECT_TRUE(allowance.is_new_refusal(mac_number(1)));
}

}  // namespace splitnic::iou::host_allowance_test
