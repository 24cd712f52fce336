// Batches into a socket that preserves message boundaries and takes a limited number of messages:
// it may block or refuse one anywhere in a batch.
#include "lan_bridge/ports/send_batch.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <map>
#include <string>

#include "base/unique_fd.h"
#include "lan_bridge/frame_ring.h"
#include "lan_bridge/ports/frame_splitter.h"
#include "tests/unit/lan_bridge/port_harness.h"

namespace splitnic::lan::send_batch_test {

using frame_builder::Bytes;
using frame_builder::make_frame;
using port_harness::finished;

constexpr int kSendBuffer = 16384;

struct Socket {
  Socket() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    in = base::UniqueFd(fds[0]);
    out = base::UniqueFd(fds[1]);
    EXPECT_EQ(::setsockopt(in.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer), 0);
  }
  // Returns up to `count` frames that have arrived, with an empty vnet header.
  void take(std::vector<Bytes>& frames, std::size_t count = SIZE_MAX) const {
    Bytes room(kVnetHeaderBytes + 65536);
    for (; count > 0; --count) {
      const ssize_t n =
          ::recv(out.get(), room.data() + kVnetHeaderBytes, room.size() - kVnetHeaderBytes, 0);
      if (n < 0) return;
      frames.emplace_back(room.begin(), room.begin() + static_cast<ssize_t>(kVnetHeaderBytes) + n);
    }
  }
  base::UniqueFd in;
  base::UniqueFd out;
};

struct Fixture {
  std::uint64_t at(PortCounter counter) const { return counters[counter]; }
  SendBatch::Sent send(std::span<const Bytes> frames) {
    const std::vector<base::Bytes> views(frames.begin(), frames.end());
    return batch.send(socket.in.get(), views);
  }
  Socket socket;
  base::Counters<PortCounter> counters;
  SendBatch batch{counters};
};

Bytes super_frame(std::uint64_t seed, std::size_t segments, bool is_udp = false) {
  return make_frame(
      {.is_udp = is_udp, .payload_bytes = segments * 1000 - 300, .gso_size = 1000, .seed = seed});
}

// Frames of every kind, and super-frames longer than a batch, so that batches end anywhere.
std::vector<Bytes> mixed() {
  std::vector<Bytes> frames;
  for (std::uint64_t seed = 1; seed < 8; ++seed) {
    frames.push_back(make_frame({.seed = seed}));
    frames.push_back(super_frame(seed, 63, seed % 2 == 0));
    frames.push_back(make_frame({.is_udp = true, .is_partial = true, .seed = seed}));
    frames.push_back(super_frame(seed, seed));
  }
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    frames.push_back(make_frame({.payload_bytes = 1300, .is_partial = true, .seed = seed}));
  }
  return frames;
}

// As in a port: a frame that blocked in its middle is held, and everything arrives once and in
// order.
TEST(SendBatchTest, whatever_blocks_continues_where_it_stopped_and_each_piece_goes_once) {
  const std::vector<Bytes> frames = mixed();
  Fixture f;
  WriteSplitter held(f.counters);
  std::vector<Bytes> got;
  std::size_t done = 0;
  std::size_t times_held = 0;
  while (done < frames.size() || held.is_pending()) {
    held.flush([&](base::Bytes piece) {
      const base::Bytes ethernet = piece.subspan(kVnetHeaderBytes);
      if (::send(f.socket.in.get(), ethernet.data(), ethernet.size(), 0) < 0) return false;
      f.counters.add(PortCounter::kTxFrames);
      return true;
    });
    if (!held.is_pending()) {
      // In memory that is overwritten after the call.
      std::vector<Bytes> copies(frames.begin() + static_cast<std::ptrdiff_t>(done), frames.end());
      const auto sent = f.send(copies);
      if (sent.pieces > 0) held.hold_rest(copies[sent.frames], sent.pieces);
      for (Bytes& copy : copies) std::fill(copy.begin(), copy.end(), std::byte{0xEE});
      done += sent.frames + (sent.pieces > 0 ? 1 : 0);
      if (sent.pieces > 0) ++times_held;
    }
    f.socket.take(got, 1 + times_held % 3);
  }
  f.socket.take(got);
  const std::vector<Bytes> expected = finished(frames);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], expected[i]) << i;
  EXPECT_GT(times_held, 4U);
  EXPECT_EQ(f.at(PortCounter::kTxFrames), expected.size());
  EXPECT_EQ(f.at(PortCounter::kTxSplit), expected.size() - frames.size());
}

TEST(SendBatchTest, a_frame_behind_the_one_that_blocked_is_neither_taken_nor_counted) {
  Fixture f;
  const std::vector<Bytes> frames{super_frame(1, 60), super_frame(2, 2), Bytes(20)};
  const auto first = f.send(frames);
  EXPECT_EQ(first.frames, 0U);
  EXPECT_GT(first.pieces, 1U);
  EXPECT_EQ(f.at(PortCounter::kTxFrames), first.pieces);
  EXPECT_EQ(f.at(PortCounter::kTxSplit), 59U);
  const auto second = f.send(std::span(frames).subspan(1));  // blocked at its first piece
  EXPECT_EQ(second.frames, 0U);
  EXPECT_EQ(second.pieces, 0U);
  EXPECT_EQ(f.at(PortCounter::kTxSplit), 59U);
  EXPECT_EQ(f.at(PortCounter::kTxDropShort), 0U);
  std::vector<Bytes> got;
  f.socket.take(got);
  const auto third = f.send(std::span(frames).subspan(1));
  EXPECT_EQ(third.frames, 2U);
  EXPECT_EQ(third.pieces, 0U);
  EXPECT_EQ(f.at(PortCounter::kTxSplit), 60U);
  EXPECT_EQ(f.at(PortCounter::kTxDropShort), 1U);
}

TEST(SendBatchTest, a_frame_that_is_refused_in_the_middle_drops_alone) {
  Fixture f;
  Bytes not_separable = super_frame(5, 3);
  not_separable.resize(not_separable.size() - 1);
  Bytes no_field = make_frame({.is_udp = true, .is_partial = true});
  VnetHeader header = VnetHeader::parse(no_field);
  header.csum_offset = 9000;
  header.emit(no_field);
  const std::vector<Bytes> frames{make_frame({.seed = 1}),
                                  make_frame({.payload_bytes = 60000}),  // EMSGSIZE here
                                  super_frame(2, 3),
                                  Bytes(kVnetHeaderBytes + kEthernetBytes - 1),
                                  make_frame({.seed = 3}),
                                  not_separable,
                                  no_field,
                                  make_frame({.is_udp = true, .is_partial = true, .seed = 4})};
  const auto sent = f.send(frames);
  EXPECT_EQ(sent.frames, frames.size());
  EXPECT_EQ(sent.pieces, 0U);
  std::vector<Bytes> got;
  f.socket.take(got);
  EXPECT_EQ(got, finished(std::vector<Bytes>{frames[0], frames[2], frames[4], frames[7]}));
  EXPECT_EQ(f.at(PortCounter::kTxFrames), 6U);
  EXPECT_EQ(f.at(PortCounter::kTxSplit), 2U);
  EXPECT_EQ(f.at(PortCounter::kTxDropTooLong), 1U);
  EXPECT_EQ(f.at(PortCounter::kTxDropShort), 1U);
  EXPECT_EQ(f.at(PortCounter::kTxDropInvalid), 2U);
  std::uint64_t bytes = 0;
  for (const Bytes& frame : got) bytes += frame.size() - kVnetHeaderBytes;
  EXPECT_EQ(f.at(PortCounter::kTxBytes), bytes);
}

}  // namespace splitnic::lan::send_batch_test
