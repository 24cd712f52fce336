// I/O that touches two quiescable regions of one consumer: it counts in both, or in none.
#include "fabric_emul/paging/io_consumer.h"

#include <gtest/gtest.h>

#include <array>

namespace splitnic::fabric {
namespace io_consumer_test {

using namespace std::chrono_literals;
using State = SwapArbitrator::State;
using Ids = std::vector<std::uint64_t>;

class IoConsumerTest : public testing::Test, private IoIssuer {
 protected:
  static constexpr std::size_t kFrames = 2;  // a page for each region

  IoConsumerTest() : one_(make(words_[0])), two_(make(words_[1])) {}
  MemoryHandle make(std::atomic<std::uint32_t>& word) {
    const std::vector<std::byte*> pages{arena_->take()};
    const MemoryHandle region =
        table_.regions()
            .register_pages(PdId(1), {pages, 12, 0, 4096}, kAccessRights, {{}, {}, nullptr, &word})
            .value();
    consumer_.add_region(region, word);
    EXPECT_TRUE(arbitrator_.adopt(region, consumer_));
    return region;
  }
  void issue(std::uint64_t id) override { issued_.push_back(id); }
  bool goes_out(MemoryHandle region) {
    return arbitrator_.request(region, base::Time{}, 1s).has_value();
  }
  // One message and its status in the first region, one RDMA read in the second.
  base::Status submit_both(std::uint64_t id) {
    return consumer_.submit(std::array{RegionIo{one_, {.channel = 2, .memory = 0}},
                                       RegionIo{two_, {.channel = 0, .memory = 1}}},
                            id);
  }

  base::SeededRandom random_{3};
  std::unique_ptr<Arena> arena_ = Arena::make(kFrames, 12).value();
  Mrwt table_{8, random_};
  SwapArbitrator arbitrator_{table_, *arena_};
  IoConsumer consumer_{arbitrator_, *this, 2};
  std::array<std::atomic<std::uint32_t>, 2> words_{};
  Ids issued_;
  MemoryHandle one_, two_;
};

TEST_F(IoConsumerTest, X_44_an_io_counts_in_each_region_once_per_operation) {
  ASSERT_TRUE(submit_both(1));
  EXPECT_EQ(issued_, Ids{1});
  ASSERT_EQ(words_[0], 2U);
  ASSERT_EQ(words_[1], 1U);
  EXPECT_EQ(consumer_.outstanding(), 3U);
  ASSERT_TRUE(goes_out(one_));
  ASSERT_TRUE(goes_out(two_));
  ASSERT_TRUE(consumer_.finish(two_));
  EXPECT_EQ(arbitrator_.state(two_), State::kOut) << "nothing is left on this one";
  ASSERT_TRUE(consumer_.finish(one_));
  EXPECT_EQ(arbitrator_.state(one_), State::kQuiescing);
  ASSERT_TRUE(consumer_.finish(one_));
  EXPECT_EQ(arbitrator_.state(one_), State::kOut);
}

TEST_F(IoConsumerTest, X_44_none_is_counted_while_one_region_is_quiescing) {
  ASSERT_TRUE(consumer_.submit(two_, 1, {.channel = 1, .memory = 0}));
  ASSERT_TRUE(goes_out(two_));
  ASSERT_EQ(arbitrator_.state(two_), State::kQuiescing);
  ASSERT_TRUE(submit_both(2));
  ASSERT_EQ(issued_, Ids{1});
  EXPECT_EQ(words_[0], 0U);
  EXPECT_EQ(words_[1], CurrentIo::kQuiesce | 1U);
  EXPECT_EQ(consumer_.queued(), 1U);
  ASSERT_TRUE(consumer_.submit(one_, 3, {.channel = 1, .memory = 0}));
  EXPECT_EQ(issued_, Ids{1}) << "in order";
  EXPECT_FALSE(submit_both(4)) << "the queue has a bound";
  ASSERT_TRUE(consumer_.finish(two_));
  EXPECT_EQ(arbitrator_.state(two_), State::kOut);
  EXPECT_EQ(arbitrator_.bring_back(), 1U) << "its interest was noted";
  EXPECT_EQ(issued_, (Ids{1, 2, 3}));
  EXPECT_EQ(words_[0], 3U);
  EXPECT_EQ(words_[1], 1U);
}

// The first comes in, and goes out again before the second has frames.
TEST_F(IoConsumerTest, X_44_all_regions_must_be_in_at_a_time) {
  ASSERT_TRUE(goes_out(one_));
  ASSERT_TRUE(goes_out(two_));
  std::byte* const taken = arena_->take();
  ASSERT_TRUE(submit_both(1));
  EXPECT_EQ(arbitrator_.state(one_), State::kIn);
  EXPECT_EQ(arbitrator_.state(two_), State::kOut) << "one frame is not two";
  ASSERT_TRUE(goes_out(one_));
  EXPECT_EQ(arbitrator_.state(one_), State::kOut) << "no I/O holds it";
  EXPECT_EQ(arbitrator_.bring_back(), 1U);
  EXPECT_EQ(arbitrator_.state(two_), State::kIn);
  EXPECT_TRUE(issued_.empty());
  arena_->release(taken);
  EXPECT_EQ(arbitrator_.bring_back(), 1U) << "the first is wanted once more";
  EXPECT_EQ(issued_, Ids{1});
  EXPECT_EQ(words_[0], 2U);
  EXPECT_EQ(words_[1], 1U);
}

// A consumer may write to its words what it likes: it hurts itself only.
TEST_F(IoConsumerTest, a_bit_that_the_arbitrator_did_not_set_stops_its_requests_only) {
  words_[0] = CurrentIo::kQuiesce;
  words_[1] = CurrentIo::kQuiesce;
  EXPECT_TRUE(submit_both(1));
  EXPECT_TRUE(issued_.empty());
  EXPECT_EQ(consumer_.queued(), 1U);
  EXPECT_EQ(arbitrator_.state(one_), State::kIn);
}

TEST_F(IoConsumerTest, S004_09_the_frame_of_a_region_that_was_deregistered_is_adopted_once_more) {
  const std::vector<std::byte*> pages{table_.entry(one_)->att->page(0)};
  ASSERT_TRUE(table_.regions().deregister(one_));
  std::atomic<std::uint32_t> word{0};
  const MemoryHandle next =
      table_.regions()
          .register_pages(PdId(1), {pages, 12, 0, 4096}, kAccessRights, {{}, {}, nullptr, &word})
          .value();
  EXPECT_TRUE(arbitrator_.adopt(next, consumer_));
  EXPECT_FALSE(goes_out(one_));
  EXPECT_TRUE(goes_out(next));
}

TEST_F(IoConsumerTest, a_request_that_is_refused_is_not_queued) {
  ASSERT_TRUE(goes_out(one_));
  ASSERT_TRUE(table_.regions().deregister(one_));
  EXPECT_FALSE(consumer_.submit(one_, 1, {.channel = 1, .memory = 0}));
  EXPECT_EQ(consumer_.queued(), 0U);
  EXPECT_TRUE(consumer_.submit(two_, 2, {.channel = 1, .memory = 0}));
  EXPECT_EQ(issued_, Ids{2});
}

TEST_F(IoConsumerTest, a_region_that_was_not_added_is_refused) {
  const MemoryHandle unknown(one_.value ^ two_.value ^ 0xFFFF);
  EXPECT_FALSE(consumer_.submit(std::array{RegionIo{one_, {.channel = 1, .memory = 0}},
                                           RegionIo{unknown, {.channel = 1, .memory = 0}}},
                                1));
  EXPECT_FALSE(consumer_.finish(unknown));
  EXPECT_EQ(words_[0], 0U);
  EXPECT_TRUE(issued_.empty());
}

}  // namespace io_consumer_test
}  // namespace splitnic::fabric
