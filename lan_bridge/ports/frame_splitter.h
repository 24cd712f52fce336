// Software GSO at the two ends of a port: ReadSplitter for a frame that was read and that the owner
// does not take as it is (an offload is off, an element is too short), WriteSplitter for a frame to
// write that the kernel does not take as it is. Memory is allocated at the start, not per frame.
// Thread: the data thread of its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "lan_bridge/frame/offload.h"
#include "lan_bridge/frame/segment.h"
#include "lan_bridge/frame_ring.h"
#include "lan_bridge/ports/port_counters.h"

namespace splitnic::lan {

inline constexpr std::uint32_t kOffloadsSuper = kOffloadTso4 | kOffloadTso6 | kOffloadUso;
inline constexpr std::uint32_t kOffloadsAlways = kOffloadVlan | kOffloadVnet;
inline constexpr std::uint32_t kOffloadsAll = kOffloadChecksum | kOffloadsSuper | kOffloadsAlways;

// The destination of one read batch.
struct ReadSink {
  FrameRing& ring;
  std::span<base::Bytes> out;
  std::size_t frames = 0;

  bool is_full() const { return frames == out.size(); }
  void commit(base::Bytes frame) {
    ring.commit(frame.data() + frame.size());
    out[frames++] = frame;
  }
};

class ReadSplitter {
 public:
  explicit ReadSplitter(base::Counters<PortCounter>& counters)
      : counters_(counters), scratch_(kFrameReserve) {}
  ReadSplitter(const ReadSplitter&) = delete;
  ReadSplitter& operator=(const ReadSplitter&) = delete;

  std::uint32_t offloads = kOffloadsAll;         // that the owner supports
  std::size_t frame_bytes_max = kFrameBytesMax;  // of a super-frame for the owner

  // Counts a frame ([vnet header][Ethernet frame]) that was read into the room that
  // sink.ring.reserve() returned last, and commits it, starts to split it, or drops it. REQUIRES
  // resume() returned true and !sink.is_full().
  void commit_or_split(ReadSink& sink, base::MutableBytes frame);
  // Continues with a frame that found no room for all of its pieces. Returns true if none is left.
  bool resume(ReadSink& sink);
  bool is_busy() const { return has_piece_; }

 private:
  bool split(ReadSink& sink, base::Bytes frame, Segmenter::Mode mode);

  base::Counters<PortCounter>& counters_;
  std::vector<std::byte> scratch_;  // the frame being split
  std::optional<Segmenter> segmenter_;
  Piece piece_;
  bool has_piece_ = false;
};

class WriteSplitter {
 public:
  // `counters` outlive it.
  explicit WriteSplitter(base::Counters<PortCounter>& counters)
      : counters_(counters), scratch_(kFrameReserve), held_(kFrameReserve) {}
  WriteSplitter(const WriteSplitter&) = delete;
  WriteSplitter& operator=(const WriteSplitter&) = delete;
  // Pieces that still wait are dropped as tx.drop.closed.
  ~WriteSplitter();

  // Writes `frame` as frames with finished checksums and empty vnet headers. send(base::Bytes)
  // returns false if it would block, else it has counted the piece. If it blocks, the rest is
  // copied, held here and sent by flush(): nothing points to `frame` after the call. REQUIRES
  // !is_pending().
  template <typename Send>
  void write(base::Bytes frame, Send&& send) {
    if (begin(frame) && !flush(send)) hold(frame);
  }
  // Continues with the pieces that are held. Returns false if it would still block.
  template <typename Send>
  bool flush(Send&& send) {
    while (has_piece_) {
      if (!send(base::Bytes(piece_))) return false;
      advance();
    }
    return true;
  }
  bool is_pending() const { return has_piece_; }
  std::size_t pieces_left() const;

 private:
  bool begin(base::Bytes frame);  // returns false if the frame was dropped and counted
  void hold(base::Bytes frame);
  void advance();

  base::Counters<PortCounter>& counters_;
  std::vector<std::byte> scratch_;  // the piece being sent
  std::vector<std::byte> held_;     // the frame of the pieces that wait
  std::optional<Segmenter> segmenter_;
  Piece parts_;
  base::MutableBytes piece_;
  bool has_piece_ = false;
};

}  // namespace splitnic::lan
