// The two ends of a port where a frame may have to become several: what was read and its owner does
// not take whole (an offload switched off, an element too short), and what is written and the
// kernel does not take. Memory is set aside at the start; nothing is allocated per frame.
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

static_assert(kVnetHeaderBytes == VnetHeader::kBytes);
inline constexpr std::uint32_t kOffloadsSuper = kOffloadTso4 | kOffloadTso6 | kOffloadUso;
inline constexpr std::uint32_t kOffloadsAlways = kOffloadVlan | kOffloadVnet;
inline constexpr std::uint32_t kOffloadsAll = kOffloadChecksum | kOffloadsSuper | kOffloadsAlways;

// Where a read batch goes.
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

  std::uint32_t offloads = kOffloadsAll;         // that the owner takes
  std::size_t frame_bytes_max = kFrameBytesMax;  // of a super-frame that the owner takes

  // A whole frame ([vnet header][Ethernet frame]) was read into the room that sink.ring.reserve()
  // gave last; counts it and commits it, or begins to split it. REQUIRES resume() returned true and
  // !sink.is_full().
  void deliver(ReadSink& sink, base::MutableBytes frame);
  // Continues with a frame that found no room for all of its pieces. False: it still finds none.
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
  // Drops what is still held: tx.drop.closed.
  ~WriteSplitter();

  // Takes `frame` and writes it as frames with finished checksums and empty vnet headers.
  // send(base::Bytes) returns false if it would block, else has counted the piece. What would block
  // is held here and goes by flush(): nothing points to `frame` after the call. The copy is made
  // then only. REQUIRES !is_pending().
  template <typename Send>
  void write(base::Bytes frame, Send&& send) {
    if (begin(frame) && !flush(send)) hold(frame);
  }
  // Continues with what is held. False: it would still block.
  template <typename Send>
  bool flush(Send&& send) {
    while (has_piece_) {
      if (!send(base::Bytes(piece_))) return false;
      advance();
    }
    return true;
  }
  // Takes a copy of a super-frame that can be split and whose first pieces have gone already: the
  // rest goes by flush(). The caller counts tx.split. REQUIRES !is_pending().
  void hold_rest(base::Bytes frame, std::size_t pieces_gone);
  bool is_pending() const { return has_piece_; }
  std::size_t pieces_left() const;

 private:
  bool begin(base::Bytes frame);  // false: dropped and counted
  void hold(base::Bytes frame);
  void advance();

  base::Counters<PortCounter>& counters_;
  std::vector<std::byte> scratch_;  // the piece being sent
  std::vector<std::byte> held_;     // the frame whose other pieces wait
  std::optional<Segmenter> segmenter_;
  Piece parts_;
  base::MutableBytes piece_;
  bool has_piece_ = false;
};

}  // namespace splitnic::lan
