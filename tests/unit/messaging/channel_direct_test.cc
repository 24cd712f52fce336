// Tests that a pushed frame lies in its pool element and nowhere else, while it arrives and
// afterwards [S001-22], and that a frame by SendData makes the receiver send nothing [S001-23].
#include <gtest/gtest.h>

#include "fabric_emul/wire/flit.h"
#include "tests/support/channel_fixture.h"

namespace splitnic::messaging::channel_direct_test {
namespace {

using namespace std::chrono_literals;
using messaging::harness::ChannelFixture;
using messaging::harness::ChannelSide;

// The datagram holds the last cell of an RDMA write.
bool ends_a_write(base::Bytes datagram) {
  fabric::FlitWalker walker(datagram);
  fabric::FlitView flit;
  while (walker.next(flit) == fabric::FlitWalker::Step::kFlit) {
    if (flit.header.type != fabric::FlitType::kData) continue;
    const auto header = fabric::MacHeader::parse(flit.payload.data());
    if (header.op == fabric::Op::kRdmaWrite && fabric::is_last(header.pos)) return true;
  }
  return false;
}

// Returns the number of bytes of the numbered frame that lie in the pools, from its first byte on.
std::size_t bytes_in_pools(ChannelSide& side, base::Bytes frame) {
  std::size_t most = 0;
  for (const base::MutableBytes pool : side.pair->TEST_pool_memory()) {
    const auto at = std::search(pool.begin(), pool.end(), frame.begin(), frame.begin() + 12);
    const auto differs = std::mismatch(at, pool.end(), frame.begin(), frame.end());
    most = std::max(most, static_cast<std::size_t>(differs.first - at));
  }
  return most;
}

TEST(ChannelDirect, S001_22_the_payload_is_in_its_element_before_the_last_cell_has_come) {
  constexpr std::size_t kBytes = 20'000;
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  harness.run_for(10ms);
  bool is_held = true;
  harness.unit().faults.drop_received([&](base::Bytes d) { return is_held && ends_a_write(d); });
  harness.unit().holds = true;
  harness.host().queue(kBytes);
  harness.run_for(2ms);
  EXPECT_EQ(harness.unit().count("msg.rx.writes"), 0U) << "nothing was indicated";
  EXPECT_TRUE(harness.unit().held.empty());
  const std::vector<std::byte> frame = ChannelSide::frame_of(0, kBytes);
  const std::size_t early = bytes_in_pools(harness.unit(), frame);
  EXPECT_GT(early, kBytes * 8 / 10) << "all cells but the last are in place";
  EXPECT_LT(early, kBytes);

  is_held = false;
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().held.size() == 1; }));
  const base::Bytes given = harness.unit().held[0].bytes;
  EXPECT_TRUE(std::ranges::equal(given, frame));
  const auto pools = harness.unit().pair->TEST_pool_memory();
  EXPECT_TRUE(std::ranges::any_of(pools, [&](base::MutableBytes pool) {
    return given.data() >= pool.data() && given.data() + given.size() <= pool.data() + pool.size();
  })) << "the reader gets the element itself";
  harness.unit().release_held();
}

TEST(ChannelDirect, S001_23_frames_by_send_data_bring_no_message_back) {
  for (const Mode mode : {Mode::kSend, Mode::kRdma}) {
    ChannelFixture harness({.host = {.mode = mode, .send_threshold = 2000}});
    ASSERT_TRUE(harness.connect());
    harness.run_for(10ms);
    const std::uint64_t before = harness.unit().count("msg.tx.control");
    harness.unit().tap.is_recording = true;
    for (int i = 0; i < 300; ++i) harness.host().queue(1500);
    ASSERT_TRUE(harness.deliver());
    harness.run_for(1s);
    EXPECT_EQ(harness.host().count("msg.tx.send_data"), 300U);
    EXPECT_EQ(harness.unit().count("msg.tx.control"), before);
    for (const auto& cell : harness.unit().tap.cells) {
      if (cell.sent) {
        EXPECT_EQ(cell.header().op, fabric::Op::kAck);
      }
    }
  }
}

}  // namespace
}  // namespace splitnic::messaging::channel_direct_test
