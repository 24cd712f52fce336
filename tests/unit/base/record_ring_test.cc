// Records between two threads: order, the end of the memory, and what does not fit.
#include "base/record_ring.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <thread>

#include "base/random.h"

namespace splitnic::base {
namespace record_ring_test {

std::string taken(RecordRing& ring) {
  const std::string text(as_text(ring.front()));
  ring.pop();
  return text;
}

TEST(RecordRingTest, records_come_out_in_order_and_whole_also_around_the_end) {
  RecordRing ring(1024);
  SeededRandom random(1);
  std::deque<std::string> inside;
  std::size_t refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string record(random.next() % 300, static_cast<char>('a' + i % 26));
    const std::size_t cut = record.empty() ? 0 : random.next() % record.size();
    if (ring.push(as_bytes(record).first(cut), as_bytes(record).subspan(cut))) {
      inside.push_back(record);
    } else {
      ++refused;
      ASSERT_FALSE(inside.empty()) << "an empty ring has room";
    }
    while (!inside.empty() && random.next() % 2 == 0) {
      ASSERT_EQ(taken(ring), inside.front());
      inside.pop_front();
    }
    ASSERT_EQ(ring.empty(), inside.empty());
  }
  EXPECT_GT(refused, 100U);
}

TEST(RecordRingTest, what_is_larger_than_the_ring_is_refused) {
  RecordRing ring(64);
  EXPECT_FALSE(ring.push({}, as_bytes(std::string(57, 'x'))));
  EXPECT_TRUE(ring.push({}, as_bytes(std::string(56, 'x'))));
  EXPECT_FALSE(ring.push({}, {}));
  EXPECT_EQ(taken(ring).size(), 56U);
  EXPECT_TRUE(ring.push({}, {}));
  EXPECT_EQ(taken(ring), "");
}

TEST(RecordRingTest, one_thread_writes_while_another_reads) {
  constexpr int kRecords = 100000;
  RecordRing ring(4096);
  std::thread writer([&] {
    for (int i = 0; i < kRecords;) {
      const std::string record = std::to_string(i);
      if (ring.push(as_bytes(record),
                    as_bytes(std::string(static_cast<std::size_t>(i % 100), 'x'))))
        ++i;
      else
        std::this_thread::yield();
    }
  });
  for (int i = 0; i < kRecords;) {
    if (ring.empty()) {
      std::this_thread::yield();
      continue;
    }
    EXPECT_EQ(taken(ring), std::to_string(i) + std::string(static_cast<std::size_t>(i % 100), 'x'));
    ++i;
  }
  writer.join();
  EXPECT_TRUE(ring.empty());
}

}  // namespace record_ring_test
}  // namespace splitnic::base
