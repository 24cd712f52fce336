// A queue of cells in a ring of bytes, against a deque.
#include "fabric_emul/switching/cell_queue.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/random.h"
#include "tests/unit/fabric_emul/link/link_world.h"

namespace splitnic::fabric {
namespace cell_queue_test {

struct Waiting {
  std::vector<std::byte> cell;
  std::uint32_t life;
};

TEST(CellQueueTest, cells_of_any_length_come_out_as_they_went_in) {
  static constexpr std::size_t kBytes = 8000;
  base::SeededRandom random(1);
  CellQueue queue(kBytes);
  std::deque<Waiting> model;
  std::size_t bytes = 0;
  unsigned refused = 0, emptied = 0;
  for (std::uint32_t i = 0; i < 40000; ++i) {
    if (random.below(100) < 50 + 20 * (i / 1000 % 2)) {
      const auto cell = link_world::pattern(kCellBytesMin + random.below(1000), i);
      if (!queue.has_room(cell.size())) {
        ++refused;
        // At each end of the memory less than a cell is not used.
        EXPECT_GT(bytes + 2 * (CellQueue::kHead + cell.size()), kBytes - 1032);
        continue;
      }
      queue.push(cell, {nullptr, nullptr, {i, 2, 3}});
      bytes += CellQueue::kHead + cell.size();
      model.push_back({cell, i});
    } else if (!model.empty()) {
      ASSERT_TRUE(std::ranges::equal(queue.front(), model.front().cell));
      EXPECT_EQ(queue.front_held().credit.life, model.front().life);
      bytes -= CellQueue::kHead + model.front().cell.size();
      queue.pop();
      model.pop_front();
      emptied += model.empty() ? 1 : 0;
    }
    EXPECT_EQ(queue.cells(), model.size());
    EXPECT_EQ(queue.empty(), model.empty());
  }
  EXPECT_GT(refused, 200U);
  EXPECT_GT(emptied, 20U);
}

TEST(CellQueueTest, an_empty_queue_has_all_of_its_room) {
  CellQueue queue(CellQueue::kHead + 100);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_TRUE(queue.has_room(100));
    EXPECT_FALSE(queue.has_room(101));
    queue.push(link_world::pattern(60, i), {});
    EXPECT_FALSE(queue.has_room(100));
    queue.pop();
  }
}

}  // namespace cell_queue_test
}  // namespace splitnic::fabric
