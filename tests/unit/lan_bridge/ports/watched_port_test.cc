// Frames of a port are copied while somebody reads them, and the port is the same.
#include "lan_bridge/ports/watched_port.h"

#include <gtest/gtest.h>

#include "lan_bridge/frame/frame_capture.h"
#include "tests/sim/fake_port.h"
#include "tests/unit/lan_bridge/frame_builder.h"

namespace splitnic::lan::watched_port_test {

using frame_builder::Bytes;
using frame_builder::ethernet_of;
using frame_builder::make_frame;

class WatchedPortTest : public testing::Test {
 protected:
  explicit WatchedPortTest(WatchedPort::Reads reads = WatchedPort::Reads::kReceived) {
    auto below = std::make_unique<sim::FakePort>(MacAddress{2, 0, 0, 0, 0, 1});
    below_ = below.get();
    port_ = std::make_unique<WatchedPort>(std::move(below), clock_, reads);
    clock_.set(base::Time(std::chrono::seconds(5)));
  }
  void receive(const Bytes& frame) {
    below_->queue(frame);
    std::array<base::Bytes, 4> out;
    ASSERT_EQ(port_->read(ring_, out).frames, 1U);
    EXPECT_TRUE(std::ranges::equal(out[0], frame));
    ring_.release();
  }
  std::size_t send(const std::vector<Bytes>& frames) {
    const std::vector<base::Bytes> all(frames.begin(), frames.end());
    return port_->write(all);
  }
  // Takes the oldest copy, and compares it.
  static void expect_copy(FrameCopies& copies, const Bytes& frame, bool is_sent) {
    ASSERT_FALSE(copies.empty());
    const CopiedFrame copy = copies.front();
    EXPECT_TRUE(std::ranges::equal(copy.bytes, ethernet_of(frame)));
    EXPECT_EQ(copy.length, frame.size() - kVnetHeaderBytes);
    EXPECT_EQ(copy.is_sent, is_sent);
    EXPECT_EQ(copy.nanoseconds, 7'000'000'000);  // 5 s of the clock, which began 2 s after 1970
    copies.pop();
  }
  std::uint64_t count(WatchCounter which) const { return port_->watch_counters()[which]; }

  base::ManualClock clock_;
  std::vector<std::byte> arena_ = std::vector<std::byte>(1 << 20);
  FrameRing ring_{arena_, 64};
  sim::FakePort* below_ = nullptr;
  std::unique_ptr<WatchedPort> port_;
  FrameCapture capture_{std::chrono::seconds(2), FrameCopies::kSnapMax};
};

class WatchedTapTest : public WatchedPortTest {
 protected:
  WatchedTapTest() : WatchedPortTest(WatchedPort::Reads::kSent) {}
};

TEST_F(WatchedPortTest, B_16_frames_of_a_NIC_are_copied_both_ways_from_begin_to_end) {
  const Bytes first = make_frame({.seed = 1});
  const Bytes second = make_frame({.payload_bytes = 30000, .gso_size = 1448, .seed = 2});
  receive(first);
  const auto copies = capture_.add("eth1");
  port_->copy_to(copies);
  EXPECT_TRUE(copies->empty()) << "what came before is not in it";
  receive(first);
  EXPECT_EQ(send({second}), 1U);
  expect_copy(*copies, first, false);
  expect_copy(*copies, second, true);
  EXPECT_TRUE(copies->empty());
  capture_.end();
  receive(first);
  EXPECT_EQ(send({second}), 1U);
  EXPECT_TRUE(copies->empty());
  EXPECT_EQ(copies.use_count(), 2) << "the capture's and this one, none of the port";
  EXPECT_EQ(count(WatchCounter::kFrames), 2U);
}

TEST_F(WatchedTapTest, B_16_what_the_system_sends_is_sent_by_the_interface) {
  const Bytes frame = make_frame({});
  const auto copies = capture_.add("nic0");
  port_->copy_to(copies);
  receive(frame);
  EXPECT_EQ(send({frame}), 1U);
  expect_copy(*copies, frame, true);
  expect_copy(*copies, frame, false);
}

TEST_F(WatchedPortTest, B_16_a_frame_that_the_port_refuses_is_copied_when_it_takes_it) {
  const auto copies = capture_.add("eth1");
  port_->copy_to(copies);
  const std::vector<Bytes> frames{make_frame({.seed = 1}), make_frame({.seed = 2})};
  below_->writes_max = 1;
  EXPECT_EQ(send(frames), 1U);
  expect_copy(*copies, frames[0], true);
  EXPECT_TRUE(copies->empty());
  EXPECT_EQ(send({frames[1]}), 1U);
  expect_copy(*copies, frames[1], true);
}

TEST_F(WatchedPortTest, B_16_a_reader_that_is_too_slow_loses_frames_which_are_counted) {
  const auto copies = std::make_shared<FrameCopies>(0, std::chrono::seconds(2), 64, 1024);
  port_->copy_to(copies);
  const Bytes frame = make_frame({});
  constexpr std::uint64_t kFrames = 50;
  for (std::uint64_t i = 0; i < kFrames; ++i) receive(frame);
  std::uint64_t read = 0;
  for (; !copies->empty(); copies->pop(), ++read) {
    EXPECT_EQ(copies->front().bytes.size(), 64U) << "only the first bytes were requested";
    EXPECT_EQ(copies->front().length, frame.size() - kVnetHeaderBytes);
  }
  EXPECT_GT(read, 5U);
  EXPECT_EQ(copies->lost(), kFrames - read);
  EXPECT_EQ(count(WatchCounter::kDropFull), kFrames - read);
  EXPECT_EQ(count(WatchCounter::kFrames), read);
}

TEST_F(WatchedPortTest, B_16_queues_of_one_interface_have_one_number) {
  EXPECT_EQ(capture_.add("eth1")->interface(), 0U);
  EXPECT_EQ(capture_.add("eth2")->interface(), 1U);
  EXPECT_EQ(capture_.add("eth1")->interface(), 0U);
  EXPECT_EQ(capture_.interfaces(), (std::vector<std::string>{"eth1", "eth2"}));
  EXPECT_EQ(capture_.copies().size(), 3U);
}

}  // namespace splitnic::lan::watched_port_test
