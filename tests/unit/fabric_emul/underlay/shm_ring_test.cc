// One ring in plain memory: batches that are copied in, and batches that are written in place.
#include "fabric_emul/underlay/shm_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace splitnic::fabric::shm_ring_test {

constexpr std::size_t kBytes = 256 << 10;
using Result = ShmRing::Result;

std::vector<std::byte> batch_of(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> batch(bytes);
  for (std::size_t i = 0; i < bytes; ++i) batch[i] = static_cast<std::byte>(seed + i * 7 + i / 251);
  return batch;
}

struct Wire {
  ShmRingControl control{};
  std::vector<std::byte> data = std::vector<std::byte>(kBytes);
  ShmRing putter{control, data};
  ShmRing taker{control, data};
  std::vector<std::byte> out = std::vector<std::byte>(kShmBatchMax);

  // True if the next batch is this one.
  bool takes(const std::vector<std::byte>& wanted, std::size_t wanted_stride) {
    std::size_t bytes = 0;
    std::size_t stride = 0;
    if (taker.take(out, bytes, stride) != Result::kDone) return false;
    return stride == wanted_stride && std::ranges::equal(base::Bytes(out).first(bytes), wanted);
  }
  bool puts_in_place(const std::vector<std::byte>& batch, std::size_t stride) {
    const base::MutableBytes room = putter.room();
    if (room.size() < batch.size()) return false;
    std::ranges::copy(batch, room.begin());
    return putter.put_in_place(batch.size(), stride) == Result::kDone;
  }
  // Moves both indices, so that the next record begins at this place.
  void advance_to(std::size_t place) {
    for (std::size_t at = 0; at < place;) {
      const std::size_t record = std::min<std::size_t>(place - at, 32 << 10);
      const auto batch = batch_of(record - kShmRecordHeader, 1);
      ASSERT_EQ(putter.put(batch, 100), Result::kDone);
      ASSERT_TRUE(takes(batch, std::min<std::size_t>(100, batch.size())));
      at += record;
    }
  }
};

TEST(ShmRingTest, what_is_written_in_place_is_taken_and_lies_where_a_copy_would) {
  Wire wire;
  const auto first = batch_of(300, 1);
  const auto second = batch_of(kShmBatchMax, 2);
  ASSERT_TRUE(wire.puts_in_place(first, 100));
  ASSERT_EQ(wire.putter.put(first, 100), Result::kDone);
  // 300 bytes and the head take 320.
  EXPECT_TRUE(std::equal(wire.data.begin(), wire.data.begin() + 308, wire.data.begin() + 320));
  ASSERT_TRUE(wire.puts_in_place(second, 70000));  // a stride is no longer than its batch
  EXPECT_TRUE(wire.takes(first, 100));
  EXPECT_TRUE(wire.takes(first, 100));
  EXPECT_TRUE(wire.takes(second, kShmBatchMax));
}

TEST(ShmRingTest, room_is_all_that_a_batch_may_take_or_none) {
  Wire wire;
  // The last place with a longest batch behind it, and the first without.
  const std::size_t last = (kBytes - kShmBatchMax - kShmRecordHeader) / kShmStep * kShmStep;
  wire.advance_to(last);
  EXPECT_EQ(wire.putter.room().size(), kShmBatchMax);
  EXPECT_EQ(wire.putter.room().data(), wire.data.data() + last + kShmRecordHeader);
  const auto batch = batch_of(kShmBatchMax, 3);
  ASSERT_EQ(wire.putter.put(batch_of(50, 1), 50), Result::kDone);
  EXPECT_TRUE(wire.putter.room().empty());
  ASSERT_EQ(wire.putter.put(batch, 100), Result::kDone);  // around the end
  EXPECT_EQ(wire.putter.room().size(), kShmBatchMax);
  EXPECT_TRUE(wire.takes(batch_of(50, 1), 50));
  EXPECT_TRUE(wire.takes(batch, 100));
}

TEST(ShmRingTest, what_is_not_taken_yet_is_never_room) {
  Wire wire;
  const auto batch = batch_of(kShmBatchMax, 4);
  ASSERT_TRUE(wire.puts_in_place(batch, 100));
  ASSERT_TRUE(wire.puts_in_place(batch, 100));
  ASSERT_TRUE(wire.puts_in_place(batch, 100));
  EXPECT_FALSE(wire.putter.room().empty());
  ASSERT_EQ(wire.putter.put(batch_of(60000, 1), 100), Result::kDone);
  EXPECT_TRUE(wire.putter.room().empty());  // full
  EXPECT_TRUE(wire.takes(batch, 100));
  EXPECT_TRUE(wire.takes(batch, 100));
  ASSERT_EQ(wire.putter.put(batch_of(60000, 2), 100), Result::kDone);  // around the end
  ASSERT_TRUE(wire.puts_in_place(batch_of(65000, 5), 100));
  EXPECT_TRUE(wire.putter.room().empty());  // full again, and not at the end
  EXPECT_TRUE(wire.takes(batch, 100));
  EXPECT_TRUE(wire.takes(batch_of(60000, 1), 100));
  EXPECT_TRUE(wire.takes(batch_of(60000, 2), 100));
  EXPECT_TRUE(wire.takes(batch_of(65000, 5), 100));
}

TEST(ShmRingTest, both_ways_of_putting_mix_over_many_rounds) {
  Wire wire;
  std::size_t in_place = 0;
  for (unsigned i = 0; i < 400; ++i) {
    const auto batch = batch_of(1 + (i * 7919) % kShmBatchMax, i);
    const bool has_room = i % 5 != 0 && wire.puts_in_place(batch, 100);
    in_place += has_room ? 1 : 0;
    if (!has_room) {
      ASSERT_EQ(wire.putter.put(batch, 100), Result::kDone) << i;
    }
    ASSERT_TRUE(wire.takes(batch, std::min<std::size_t>(100, batch.size()))) << i;
  }
  EXPECT_GT(in_place, 100U);
}

TEST(ShmRingTest, P_44_a_lying_taker_gets_no_room_and_nothing_is_put) {
  for (const std::uint32_t lie : {64U, 0xFFFFFFFFU, 1U, 0x80000000U}) {
    Wire wire;
    wire.control.tail.store(lie);
    EXPECT_TRUE(wire.putter.room().empty()) << lie;
  }
  for (const std::uint32_t lie : {std::uint32_t{64}, std::uint32_t{1},
                                  static_cast<std::uint32_t>(0) - std::uint32_t{kBytes}}) {
    Wire wire;
    ASSERT_FALSE(wire.putter.room().empty());
    wire.control.tail.store(lie);  // once the room was given
    EXPECT_EQ(wire.putter.put_in_place(10, 10), Result::kBroken) << lie;
    EXPECT_EQ(wire.control.head.load(), 0U);
  }
}

TEST(ShmRingTest, P_44_who_scribbles_in_a_batch_that_is_being_made_changes_no_length) {
  Wire wire;
  const base::MutableBytes room = wire.putter.room();
  const auto batch = batch_of(200, 5);
  std::ranges::copy(batch, room.begin());
  std::ranges::fill(base::MutableBytes(wire.data).first(kShmRecordHeader), std::byte{0xEE});
  room[100] = std::byte{0xEE};
  ASSERT_EQ(wire.putter.put_in_place(200, 100), Result::kDone);
  EXPECT_EQ(wire.control.head.load(), 256U);
  auto wanted = batch;
  wanted[100] = std::byte{0xEE};
  EXPECT_TRUE(wire.takes(wanted, 100));
}

}  // namespace splitnic::fabric::shm_ring_test
