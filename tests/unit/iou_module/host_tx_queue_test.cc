#include "iou_module/hosts/host_tx_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/iou_module/frame_maker.h"
#include "tests/unit/lan_bridge/frame_builder.h"

namespace splitnic::iou::host_tx_queue_test {

using harness::Frame;
using harness::frame_of;
using harness::kPeer;
using harness::mac_number;

constexpr std::size_t kElement = 2048;
constexpr std::size_t kFramesMax = 8;

struct HostTxQueueTest : ::testing::Test {
  HostTxQueueTest() { EXPECT_TRUE(queue.allocate(std::size_t{1} << 18)); }

  // Puts a frame into the ring, as a reader of the LAN does.
  base::Bytes read(const Frame& frame) {
    const base::MutableBytes room = queue.ring().reserve(frame.size());
    EXPECT_FALSE(room.empty());
    std::ranges::copy(frame, room.begin());
    queue.ring().commit(room.data() + frame.size());
    return room.first(frame.size());
  }
  std::vector<Frame> take_all() {
    std::vector<Frame> all;
    for (; !queue.empty(); queue.pop()) {
      all.emplace_back(queue.front().begin(), queue.front().end());
    }
    return all;
  }
  std::uint64_t count(AttachedHostCounter counter) const { return counters[counter]; }
  static Frame super_frame(std::size_t payload_bytes) {
    return lan::frame_builder::make_frame({.payload_bytes = payload_bytes, .gso_size = 1448});
  }

  NicSettings nic;
  HostRights rights;
  VlanLimit limit{rights};
  base::Counters<AttachedHostCounter> counters;
  HostTxQueue queue{nic, limit, counters, kFramesMax};
};

TEST_F(HostTxQueueTest, keeps_the_order_of_frames_and_counts_their_bytes) {
  const Frame first = frame_of(mac_number(1), kPeer, 1, 0, 100);
  const Frame second = frame_of(mac_number(1), kPeer, 2, 0, 200);
  queue.queue_own(read(first), kElement);
  queue.queue_copy(second, kElement);
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(queue.bytes(), 300U);
  queue.pop();
  EXPECT_EQ(queue.bytes(), 200U);
  EXPECT_EQ(take_all(), std::vector<Frame>{second});
  EXPECT_EQ(queue.bytes(), 0U);
  EXPECT_EQ(queue.ring().frames(), 2U) << "pushed, and not yet delivered";
  queue.release();
  queue.release();
  EXPECT_EQ(queue.ring().frames(), 0U);
}

TEST_F(HostTxQueueTest, S001_08_what_does_not_fit_is_counted_and_leaves_nothing_in_the_ring) {
  const Frame frame = frame_of(mac_number(1), kPeer);
  for (std::size_t i = 0; i < kFramesMax; ++i) queue.queue_copy(frame, kElement);
  queue.queue_copy(frame, kElement);
  EXPECT_EQ(count(AttachedHostCounter::kDropHostFull), 1U);
  EXPECT_EQ(queue.size(), kFramesMax);
  EXPECT_EQ(queue.ring().frames(), kFramesMax);
}

TEST_F(HostTxQueueTest, S001_08_a_queue_without_memory_drops_all) {
  HostTxQueue bare(nic, limit, counters, kFramesMax);
  bare.queue_copy(frame_of(mac_number(1), kPeer), kElement);
  EXPECT_TRUE(bare.empty());
  EXPECT_EQ(count(AttachedHostCounter::kDropHostFull), 1U);
}

TEST_F(HostTxQueueTest, S001_25_frames_of_other_vlans_are_dropped_and_leave_the_ring) {
  nic.vlans.add(5);
  queue.queue_own(read(frame_of(mac_number(1), kPeer, 1, 6)), kElement);
  queue.queue_copy(frame_of(mac_number(1), kPeer, 2, 6), kElement);
  EXPECT_EQ(count(AttachedHostCounter::kDropVlan), 2U);
  EXPECT_EQ(queue.ring().frames(), 0U);
  queue.queue_copy(frame_of(mac_number(1), kPeer, 3, 5), kElement);
  EXPECT_EQ(queue.size(), 1U);
}

TEST_F(HostTxQueueTest, M_4_the_rights_restrict_more_than_the_settings) {
  rights.vlans.emplace().set(5);
  limit = VlanLimit(rights);
  queue.queue_copy(frame_of(mac_number(1), kPeer, 1, 6), kElement);
  EXPECT_EQ(count(AttachedHostCounter::kDropVlan), 1U);
  queue.queue_copy(frame_of(mac_number(1), kPeer, 2, 5), kElement);
  EXPECT_EQ(queue.size(), 1U);
}

TEST_F(HostTxQueueTest, S001_25_the_tag_of_an_access_port_is_taken_out) {
  nic.vlans.set_pvid(5);
  queue.queue_own(read(frame_of(mac_number(1), kPeer, 1, 5, 100)), kElement);
  queue.queue_copy(frame_of(mac_number(1), kPeer, 2, 5, 100), kElement);
  EXPECT_EQ(take_all(), (std::vector<Frame>{frame_of(mac_number(1), kPeer, 1, 0, 96),
                                            frame_of(mac_number(1), kPeer, 2, 0, 96)}));
  queue.release();
  queue.release();
  EXPECT_EQ(queue.ring().frames(), 0U) << "a shorter frame frees all of its room";
}

TEST_F(HostTxQueueTest, S001_28_a_super_frame_is_split_for_elements_or_for_the_host) {
  nic.features = ~std::uint32_t{0};
  const Frame frame = super_frame(10 * 1448);
  EXPECT_FALSE(queue.fits(frame, 8192));
  queue.queue_copy(frame, 8192);
  const std::vector<Frame> supers = take_all();
  EXPECT_EQ(supers.size(), 2U);
  EXPECT_EQ(count(AttachedHostCounter::kSplit), 1U);
  for (const Frame& piece : supers) {
    EXPECT_LE(piece.size(), 8192U);
    EXPECT_EQ(lan::VnetHeader::parse(piece).gso(), lan::GsoType::kTcp4);
  }
  nic.features = 0;
  EXPECT_FALSE(queue.fits(super_frame(3 * 1448), 65536))
      << "an offload that the host does not take";
  queue.queue_own(read(super_frame(3 * 1448)), 65536);
  const std::vector<Frame> finished = take_all();
  EXPECT_EQ(finished.size(), 3U);
  EXPECT_EQ(count(AttachedHostCounter::kSplit), 3U);
  for (std::size_t i = 0; i < supers.size() + finished.size(); ++i) queue.release();
  EXPECT_EQ(queue.ring().frames(), 0U) << "the frame that was split is free too";
  for (const Frame& piece : finished) EXPECT_EQ(lan::VnetHeader::parse(piece), lan::VnetHeader());
}

TEST_F(HostTxQueueTest, S001_28_pieces_that_find_no_room_are_dropped_and_counted) {
  queue.queue_copy(super_frame(10 * 1448), kElement);
  EXPECT_EQ(queue.size(), kFramesMax);
  EXPECT_EQ(count(AttachedHostCounter::kDropHostFull), 2U);
  EXPECT_EQ(count(AttachedHostCounter::kSplit), 9U);
}

TEST_F(HostTxQueueTest, P_DATA_19_a_frame_that_needs_its_checksum_alone_stays_one) {
  queue.queue_copy(lan::frame_builder::make_frame({.is_partial = true}), kElement);
  const std::vector<Frame> all = take_all();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(lan::VnetHeader::parse(all[0]), lan::VnetHeader());
  EXPECT_EQ(all[0], lan::frame_builder::make_frame({}));
  EXPECT_EQ(count(AttachedHostCounter::kSplit), 0U);
}

TEST_F(HostTxQueueTest, a_frame_that_is_too_long_and_cannot_be_split_is_counted) {
  queue.queue_copy(frame_of(mac_number(1), kPeer, 1, 0, kElement + 1), kElement);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(count(AttachedHostCounter::kDropTooLong), 1U);
  EXPECT_EQ(queue.ring().frames(), 0U);
}

}  // namespace splitnic::iou::host_tx_queue_test
