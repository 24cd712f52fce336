// A port that cannot send all segments of a frame immediately owns the rest, whatever happens to
// the memory of the frame and whichever host writes next.
#include "lan_bridge/ports/frame_splitter.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/sim/fake_port.h"
#include "tests/unit/lan_bridge/port_harness.h"

namespace splitnic::lan::frame_splitter_test {

using frame_builder::Bytes;
using frame_builder::make_frame;
using port_harness::counters_of;

Bytes five_segments(std::uint64_t seed, bool is_udp = false) {
  return make_frame({.is_udp = is_udp, .payload_bytes = 4500, .gso_size = 1000, .seed = seed});
}
std::vector<Bytes> segments_of(const Bytes& frame) {
  std::vector<Bytes> out;
  auto segmenter = Segmenter::of(frame, Segmenter::Mode::kFinished);
  Piece piece;
  while (segmenter->next(piece)) {
    out.emplace_back(piece.size());
    piece.copy_to(out.back());
  }
  return out;
}
std::vector<Bytes> joined(std::initializer_list<std::vector<Bytes>> parts) {
  std::vector<Bytes> out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

// Writes a frame from memory that is overwritten after the call.
std::size_t write_and_free(FramePort& port, const Bytes& frame) {
  auto memory = std::make_unique<std::byte[]>(frame.size());
  std::memcpy(memory.get(), frame.data(), frame.size());
  const base::Bytes view(memory.get(), frame.size());
  const std::size_t taken = port.write({&view, 1});
  std::memset(memory.get(), 0xEE, frame.size());
  return taken;
}

struct Wire {
  Wire() {
    port.has_software_gso = true;
    port.on_write = [this](base::Bytes frame) { seen.emplace_back(frame.begin(), frame.end()); };
  }
  sim::FakePort port{MacAddress{}};
  std::vector<Bytes> seen;
};

// Host A blocks after two of its five segments, host B writes, A again.
TEST(WriteSplitterTest, a_frame_begun_is_the_ports_own_and_ends_before_another_hosts) {
  Wire wire;
  const Bytes a = five_segments(1);
  const Bytes b = five_segments(2, true);
  const Bytes plain = make_frame({.seed = 3});
  wire.port.writes_left = 2;
  EXPECT_EQ(write_and_free(wire.port, a), 1U);
  EXPECT_TRUE(wire.port.write_pending());
  EXPECT_EQ(wire.seen.size(), 2U);
  EXPECT_EQ(write_and_free(wire.port, b), 0U);  // another host's, while it still blocks
  EXPECT_EQ(write_and_free(wire.port, plain), 0U);
  wire.port.writes_left = 1;
  EXPECT_EQ(write_and_free(wire.port, b), 0U);
  EXPECT_EQ(wire.seen.size(), 3U);
  wire.port.writes_left = SIZE_MAX;
  EXPECT_EQ(write_and_free(wire.port, b), 1U);
  EXPECT_EQ(write_and_free(wire.port, a), 1U);
  EXPECT_EQ(write_and_free(wire.port, plain), 1U);
  EXPECT_FALSE(wire.port.write_pending());
  EXPECT_EQ(wire.seen, joined({segments_of(a), segments_of(b), segments_of(a), {plain}}));
  EXPECT_EQ(counters_of(wire.port)["tx.frames"], 16U);
  EXPECT_EQ(counters_of(wire.port)["tx.split"], 12U);
}

// It may block at any piece, also before the first; no host writes any more, so flush() ends it.
TEST(WriteSplitterTest, flush_alone_ends_a_frame_wherever_it_blocked) {
  for (std::size_t room = 0; room <= 5; ++room) {
    Wire wire;
    const Bytes frame = five_segments(room + 1);
    wire.port.writes_left = room;
    EXPECT_EQ(write_and_free(wire.port, frame), 1U);
    EXPECT_EQ(wire.port.write_pending(), room < 5) << room;
    wire.port.flush();
    EXPECT_EQ(wire.seen.size(), room);
    wire.port.writes_left = SIZE_MAX;
    wire.port.flush();
    EXPECT_FALSE(wire.port.write_pending());
    EXPECT_EQ(wire.seen, segments_of(frame)) << room;
    wire.port.flush();
    EXPECT_EQ(wire.seen.size(), 5U);
  }
}

TEST(WriteSplitterTest, a_batch_ends_at_the_frame_that_blocked) {
  Wire wire;
  const std::vector<Bytes> frames{make_frame({.seed = 1}), five_segments(2),
                                  make_frame({.is_udp = true, .is_partial = true, .seed = 3}),
                                  make_frame({.seed = 4})};
  std::vector<base::Bytes> views(frames.begin(), frames.end());
  std::span<const base::Bytes> left(views);
  std::vector<std::size_t> taken;
  for (int i = 0; i < 20 && (!left.empty() || wire.port.write_pending()); ++i) {
    wire.port.writes_left = 1;
    taken.push_back(wire.port.write(left));
    left = left.subspan(taken.back());
  }
  // The plain frame and the super-frame, its five segments, the checksum frame one call after its
  // port took it, the last.
  EXPECT_EQ(taken, (std::vector<std::size_t>{2, 0, 0, 0, 0, 1, 0, 1}));
  EXPECT_EQ(wire.seen, joined({{frames[0]},
                               segments_of(frames[1]),
                               {make_frame({.is_udp = true, .seed = 3})},
                               {frames[3]}}));
}

TEST(WriteSplitterTest, every_piece_is_counted_once_also_one_that_still_waits_at_the_end) {
  base::Counters<PortCounter> counters;
  std::size_t room = 2;
  const auto send = [&](base::Bytes) {
    if (room == 0) return false;
    --room;
    counters.add(PortCounter::kTxFrames);
    return true;
  };
  {
    WriteSplitter splitter(counters);
    splitter.write(five_segments(1), send);
    EXPECT_EQ(splitter.pieces_left(), 3U);
    room = 1;
    EXPECT_FALSE(splitter.flush(send));
    EXPECT_EQ(splitter.pieces_left(), 2U);
    EXPECT_EQ(counters[PortCounter::kTxDropClosed], 0U);
  }
  EXPECT_EQ(counters[PortCounter::kTxFrames], 3U);
  EXPECT_EQ(counters[PortCounter::kTxSplit], 4U);
  EXPECT_EQ(counters[PortCounter::kTxDropClosed], 2U);
  {
    WriteSplitter splitter(counters);
    room = 0;
    splitter.write(make_frame({.is_partial = true}), send);
    EXPECT_EQ(splitter.pieces_left(), 1U);
  }
  EXPECT_EQ(counters[PortCounter::kTxDropClosed], 3U);
  {
    WriteSplitter splitter(counters);
    room = 5;
    splitter.write(five_segments(2), send);
  }
  EXPECT_EQ(counters[PortCounter::kTxDropClosed], 3U);
}

// Such as a kernel makes of a connection with a tiny maximum segment size.
TEST(ReadSplitterTest, H_3_a_super_frame_that_no_peer_takes_becomes_its_segments) {
  constexpr std::size_t kSegments = 600;
  const Bytes super = make_frame({.payload_bytes = kSegments * 100, .gso_size = 100});
  base::Counters<PortCounter> counters;
  ReadSplitter splitter(counters);
  Bytes arena(1 << 20);
  FrameRing ring(arena, 2 * kSegments);
  std::vector<base::Bytes> out(2 * kSegments);
  ReadSink sink{ring, out};
  const base::MutableBytes room = ring.reserve();
  std::memcpy(room.data(), super.data(), super.size());
  splitter.commit_or_split(sink, room.first(super.size()));
  ASSERT_EQ(sink.frames, kSegments);
  const std::vector<Bytes> wanted = segments_of(super);
  for (std::size_t i = 0; i < kSegments; ++i) {
    EXPECT_TRUE(std::ranges::equal(out[i], wanted[i])) << i;
  }
}

}  // namespace splitnic::lan::frame_splitter_test
