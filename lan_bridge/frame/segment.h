// Software segmentation of TCP and UDP super-frames: into finished frames for a LAN side that takes
// nothing else, or into smaller super-frames where an element is too short for a whole one. Either
// way cuts lie only at gso_size boundaries, so the receiver sees the segments that the sender
// meant.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::lan {

// One frame cut out of a super-frame: its own headers, payload where it lies in the super-frame.
struct Piece {
  static constexpr std::size_t kHeadBytesMax = 512;

  std::array<std::byte, kHeadBytesMax> head_room;
  std::size_t head_bytes = 0;
  base::Bytes payload;

  std::size_t size() const { return head_bytes + payload.size(); }
  // Writes [vnet header][Ethernet frame]. REQUIRES out.size() >= size(). Returns what it wrote.
  base::MutableBytes copy_to(base::MutableBytes out) const;
};

class Segmenter {
 public:
  enum class Mode {
    kFinished,  // every piece is one segment with its checksum computed and an empty vnet header
    kSuper,     // as many whole segments a piece as fit, partial checksums
  };

  // `frame` is [vnet header][Ethernet frame] with a gso_type, and stays until the last piece is
  // done with, or until move_to(). kSuper: no piece is longer than `piece_bytes_max`, vnet header
  // included. nullopt: this cannot be split so.
  static std::optional<Segmenter> of(base::Bytes frame, Mode mode, std::size_t piece_bytes_max = 0);

  // The next piece, in order; false after the last one.
  bool next(Piece& piece);
  std::size_t pieces() const { return (payload_bytes() + step_ - 1) / step_; }
  // That next() has not given yet.
  std::size_t pieces_left() const { return (payload_bytes() - done_ + step_ - 1) / step_; }
  // As if next() had given that many more.
  void skip(std::size_t pieces) { done_ = std::min(done_ + pieces * step_, payload_bytes()); }
  // Continues from `copy`, a copy of the frame. Pieces given before still point into the frame.
  void move_to(base::Bytes copy);

 private:
  Segmenter(base::Bytes frame, const VnetHeader& header, const FrameLayout& layout, Mode mode,
            std::size_t step)
      : frame_(frame), header_(header), layout_(layout), mode_(mode), step_(step) {}
  std::size_t head_bytes() const { return VnetHeader::kBytes + layout_.payload_offset; }
  std::size_t payload_bytes() const { return frame_.size() - head_bytes(); }
  void adapt_l3(base::MutableBytes ethernet, std::size_t l4_bytes) const;
  void adapt_l4(base::MutableBytes ethernet, const Piece& piece, std::size_t l4_bytes) const;
  void emit_vnet(Piece& piece) const;

  base::Bytes frame_;
  VnetHeader header_;
  FrameLayout layout_;
  Mode mode_;
  std::size_t step_;      // payload bytes of a piece: a multiple of gso_size
  std::size_t done_ = 0;  // payload bytes given so far
};

}  // namespace splitnic::lan
