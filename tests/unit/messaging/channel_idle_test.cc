// Memory of idle pools is returned to the operating system, and is taken again by the next write,
// under the same keys.
#include <gtest/gtest.h>

#include "tests/support/channel_fixture.h"
#include "tests/support/resident.h"

namespace splitnic::messaging::harness::channel_idle_test {

using splitnic::support::resident;

class ChannelIdleTest : public ::testing::Test {
 protected:
  explicit ChannelIdleTest(PairConfig config = {}) : harness_({.unit = std::move(config)}) {}
  void SetUp() override { ASSERT_TRUE(harness_.connect()); }
  std::size_t held() {
    std::size_t bytes = 0;
    for (const auto& memory : harness_.unit().pair->TEST_pool_memory()) bytes += resident(memory);
    return bytes;
  }
  std::size_t size() {
    std::size_t bytes = 0;
    for (const auto& memory : harness_.unit().pair->TEST_pool_memory()) bytes += memory.size();
    return bytes;
  }
  // Every element is written to, each with `bytes`.
  void push(std::size_t frames, std::size_t bytes) {
    for (std::size_t i = 0; i < frames; ++i) harness_.host().queue(bytes);
  }
  bool all_arrived() {
    return harness_.run_until([&] {
      return harness_.host().queued() == 0 && harness_.unit().taken == harness_.host().made() &&
             harness_.unit().held.empty();
    });
  }
  ChannelFixture harness_;
};

TEST_F(ChannelIdleTest, X_23_pools_cost_nothing_before_they_are_written_to) {
  EXPECT_EQ(held(), 0U);
}

TEST_F(ChannelIdleTest, X_23_four_fifths_go_back_and_the_next_frames_arrive) {
  const auto before = harness_.unit().pair->pools();
  push(1100, 2000);
  push(70, 60'000);
  ASSERT_TRUE(all_arrived());
  ASSERT_GT(held(), size() * 9 / 10);
  const std::size_t given = harness_.unit().pair->release_idle(8);
  EXPECT_GE(given, size() * 8 / 10);
  EXPECT_LE(held(), size() * 2 / 10);
  EXPECT_GT(held(), 0U) << "the first elements of each pool stay";

  push(1100, 2000);
  push(70, 60'000);
  ASSERT_TRUE(all_arrived());
  EXPECT_EQ(harness_.unit().wrong, std::vector<std::string>{});
  EXPECT_TRUE(harness_.unit().downs.empty());
  const auto after = harness_.unit().pair->pools();
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i].handle, before[i].handle);
    EXPECT_EQ(after[i].address, before[i].address);
  }
}

TEST_F(ChannelIdleTest, X_23_what_was_not_read_yet_stays) {
  harness_.unit().holds = true;
  push(40, 2000);
  push(5, 60'000);
  ASSERT_TRUE(harness_.run_until([&] { return harness_.unit().held.size() == 45; }));
  std::vector<std::vector<std::byte>> frames;
  for (const auto& frame : harness_.unit().held) {
    frames.emplace_back(frame.bytes.begin(), frame.bytes.end());
  }
  EXPECT_GT(harness_.unit().pair->release_idle(0), 0U);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto& now = harness_.unit().held[i].bytes;
    ASSERT_TRUE(std::equal(now.begin(), now.end(), frames[i].begin())) << i;
  }
}

// The first cells of a frame are in its element, which is still posted.
TEST_F(ChannelIdleTest, X_23_nothing_goes_back_while_a_frame_is_arriving) {
  push(1, 60'000);
  std::size_t seen = 0;
  harness_.unit().faults.drop_received([&](base::Bytes) { return ++seen > 10; });
  harness_.run_for(std::chrono::milliseconds(1));
  ASSERT_EQ(harness_.unit().taken, 0U);
  ASSERT_GT(held(), 0U);
  EXPECT_EQ(harness_.unit().pair->release_idle(0), 0U);
  harness_.unit().faults.drop_received({});
  ASSERT_TRUE(all_arrived());
  EXPECT_EQ(harness_.unit().wrong, std::vector<std::string>{});
  EXPECT_GT(harness_.unit().pair->release_idle(0), 0U);
}

class ChannelIdleByMessage : public ChannelIdleTest {
 protected:
  static PairConfig without_idata() {
    PairConfig config;
    config.idata_form.reset();
    return config;
  }
  ChannelIdleByMessage() : ChannelIdleTest(without_idata()) {}
};

// The frame has arrived, and the message that indicates it has not.
TEST_F(ChannelIdleByMessage, X_23_nothing_goes_back_before_a_write_is_indicated) {
  harness_.host().polls = true;
  push(1, 2000);
  harness_.unit().polls = false;  // the adapter receives the cells, the pair does not poll
  harness_.run_for(std::chrono::milliseconds(5));
  ASSERT_GT(held(), 0U);
  EXPECT_EQ(harness_.unit().pair->release_idle(0), 0U);
  harness_.unit().polls = true;
  ASSERT_TRUE(all_arrived());
  EXPECT_EQ(harness_.unit().wrong, std::vector<std::string>{});
  EXPECT_GT(harness_.unit().pair->release_idle(0), 0U);
}

}  // namespace splitnic::messaging::harness::channel_idle_test
