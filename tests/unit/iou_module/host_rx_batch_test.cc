#include "iou_module/hosts/host_rx_batch.h"

#include <gtest/gtest.h>

#include <vector>

namespace splitnic::iou::host_rx_batch_test {

// Frames of 1, 2, 3, ... bytes.
struct Source {
  explicit Source(std::size_t frames) : left(frames), memory(1024) {}

  std::size_t unreceived() const { return left; }
  std::size_t receive(std::span<messaging::ReceivedFrame> out) {
    for (messaging::ReceivedFrame& frame : out) {
      frame.bytes = base::MutableBytes(memory).first(++given);
    }
    left -= out.size();
    ++calls;
    return out.size();
  }

  std::size_t left;
  std::size_t given = 0;
  int calls = 0;
  std::vector<std::byte> memory;
};

TEST(HostRxBatchTest, receives_a_batch_only_when_the_last_one_is_taken) {
  Source source(100);
  HostRxBatch batch;
  EXPECT_TRUE(batch.empty());
  EXPECT_FALSE(batch.refill(source)) << "no iteration has begun";
  batch.begin_iteration();
  ASSERT_TRUE(batch.refill(source));
  EXPECT_EQ(batch.size(), HostRxBatch::kFramesMax);
  EXPECT_TRUE(batch.refill(source));
  EXPECT_EQ(source.calls, 1);
  for (std::size_t i = 1; i <= HostRxBatch::kFramesMax; ++i) {
    EXPECT_EQ(batch.frame(0).size(), i);
    batch.set_next_verdict({.is_for_lan = true});
    EXPECT_EQ(batch.take().bytes.size(), i);
  }
  EXPECT_TRUE(batch.empty());
  ASSERT_TRUE(batch.refill(source));
  EXPECT_EQ(batch.size(), 100 - HostRxBatch::kFramesMax);
  EXPECT_FALSE(batch.is_checked(0)) << "a new frame has no verdict";
}

TEST(HostRxBatchTest, an_iteration_has_a_bound) {
  Source source(SIZE_MAX);
  HostRxBatch batch;
  batch.begin_iteration();
  unsigned batches = 0;
  for (; batch.refill(source); ++batches) {
    source.given = 0;
    while (!batch.empty()) {
      batch.set_next_verdict({});
      batch.take();
    }
  }
  EXPECT_EQ(batches, HostRxBatch::kBatchesMax);
  batch.begin_iteration();
  EXPECT_TRUE(batch.refill(source));
}

TEST(HostRxBatchTest, a_verdict_stays_with_its_frame) {
  Source source(4);
  HostRxBatch batch;
  batch.begin_iteration();
  ASSERT_TRUE(batch.refill(source));
  batch.set_next_verdict({.is_for_lan = true, .vlan_tag = 7});
  batch.set_next_verdict({.is_for_lan = false});
  batch.set_next_verdict({.is_for_lan = true});
  EXPECT_TRUE(batch.is_checked(2));
  EXPECT_FALSE(batch.is_checked(3));
  EXPECT_EQ(batch.verdict(0).vlan_tag, 7U);
  EXPECT_EQ(batch.not_for_lan(), 1U);
  EXPECT_EQ(batch.bytes(), 1U + 2 + 3 + 4);
  EXPECT_EQ(batch.take().bytes.size(), 1U);
  EXPECT_FALSE(batch.verdict(0).is_for_lan);
  EXPECT_TRUE(batch.verdict(1).is_for_lan);
  EXPECT_FALSE(batch.is_checked(2));
  EXPECT_EQ(batch.take().bytes.size(), 2U);
  EXPECT_EQ(batch.not_for_lan(), 0U) << "it was taken";
  EXPECT_EQ(batch.bytes(), 3U + 4);
}

}  // namespace splitnic::iou::host_rx_batch_test
