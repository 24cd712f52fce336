#include "iou_module/hand_off_ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace splitnic::iou {
namespace {

using Pushed = HandOffRing::Pushed;
constexpr HostId kNode{fabric::Eui64(0x1234), HostId::Proof::kUser, 1000};

// Bytes that count up from `number`: a part of one pattern, which is made once, since a test
// compares hundreds of MiB.
base::Bytes frame_number(std::uint64_t number) {
  static const std::vector<std::byte> kPattern = [] {
    std::vector<std::byte> bytes(66000);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
    return bytes;
  }();
  return base::Bytes(kPattern).subspan(number % 256, 16 + number * 7919 % 65000);
}

bool is_frame_number(base::Bytes got, std::uint64_t number) {
  const base::Bytes expected = frame_number(number);
  return got.size() == expected.size() && std::memcmp(got.data(), expected.data(), got.size()) == 0;
}

TEST(HandOffRingTest, frames_leave_as_they_came) {
  HandOffRing ring;
  EXPECT_EQ(ring.push(3, kNode, frame_number(0)), Pushed::kFirst);
  EXPECT_EQ(ring.push(0, HostId{fabric::Eui64(5)}, frame_number(1)), Pushed::kYes);
  std::uint64_t count = 0;
  EXPECT_EQ(ring.take([&](std::size_t nic, const HostId& node, base::Bytes frame) {
    EXPECT_EQ(nic, count == 0 ? 3U : 0U);
    EXPECT_EQ(node, count == 0 ? kNode : HostId{fabric::Eui64(5)});
    EXPECT_TRUE(is_frame_number(frame, count++));
  }),
            2U);
  EXPECT_EQ(ring.take([](auto, auto, auto) { FAIL(); }), 0U);
  EXPECT_EQ(ring.push(0, kNode, frame_number(2)), Pushed::kFirst);
}

TEST(HandOffRingTest, a_full_ring_refuses_and_keeps_what_it_has) {
  HandOffRing ring;
  std::uint64_t pushed = 0;
  while (ring.push(0, kNode, frame_number(pushed)) != Pushed::kNo) ++pushed;
  EXPECT_GT(pushed, 16U);
  EXPECT_EQ(ring.push(0, kNode, frame_number(pushed)), Pushed::kNo);
  std::uint64_t taken = 0;
  const auto take = [&](auto, auto, base::Bytes frame) {
    EXPECT_TRUE(is_frame_number(frame, taken++));
  };
  while (ring.take(take) > 0) {
  }
  EXPECT_EQ(taken, pushed);
}

TEST(HandOffRingTest, a_take_is_bounded) {
  HandOffRing ring;
  const std::vector<std::byte> small(20);
  for (std::size_t i = 0; i < HandOffRing::kFramesAtOnce + 1; ++i) ring.push(0, kNode, small);
  EXPECT_EQ(ring.take([](auto, auto, auto) {}), HandOffRing::kFramesAtOnce);
  EXPECT_EQ(ring.take([](auto, auto, auto) {}), 1U);
}

// The producer reports each frame that it adds to an empty ring, so a consumer that sleeps is
// woken.
TEST(HandOffRingTest, two_threads_lose_and_change_nothing) {
  constexpr std::uint64_t kFrames = 5000;
  HandOffRing ring;
  std::atomic<std::uint64_t> wakes{0};
  std::jthread producer([&] {
    for (std::uint64_t number = 0; number < kFrames;) {
      const Pushed pushed = ring.push(0, kNode, frame_number(number));
      if (pushed == Pushed::kNo) {
        std::this_thread::yield();
        continue;
      }
      if (pushed == Pushed::kFirst) {
        ++wakes;
        wakes.notify_one();
      }
      ++number;
    }
  });
  std::uint64_t taken = 0;
  while (taken < kFrames) {
    const std::uint64_t woken = wakes.load();
    const auto take = [&](auto, auto, base::Bytes frame) {
      ASSERT_TRUE(is_frame_number(frame, taken++));
    };
    std::size_t count = 0;
    while (const std::size_t more = ring.take(take)) count += more;
    if (count == 0 && taken < kFrames) wakes.wait(woken);
  }
}

}  // namespace
}  // namespace splitnic::iou
