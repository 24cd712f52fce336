// Software segmentation of TCP and UDP super-frames: into finished frames for an interface that
// takes no others, or into smaller super-frames where an element is too short for a whole one. Both
// split at gso_size boundaries only, so the receiver sees the segments that the sender intended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::lan {

// One frame out of a super-frame: its own headers, and the payload where it lies in the
// super-frame.
struct Piece {
  static constexpr std::size_t kHeadBytesMax = 512;

  std::array<std::byte, kHeadBytesMax> head_room;
  std::size_t head_bytes = 0;
  base::Bytes payload;

  std::size_t size() const { return head_bytes + payload.size(); }
  // Writes [vnet header][Ethernet frame] to the start of `out` and returns that part. REQUIRES
  // out.size() >= size().
  base::MutableBytes copy_to(base::MutableBytes out) const;
};

class Segmenter {
 public:
  enum class Mode {
    kFinished,  // every piece is one segment with its checksum computed and an empty vnet header
    kSuper,     // every piece has as many whole segments as fit, and a partial checksum
  };

  // `frame` is [vnet header][Ethernet frame] with a gso_type, and has to stay until the last piece
  // is used, or until move_to(). kSuper: no piece is longer than `piece_bytes_max`, vnet header
  // included. Returns nullopt if the frame cannot be split in this way.
  static std::optional<Segmenter> of(base::Bytes frame, Mode mode, std::size_t piece_bytes_max = 0);

  // Sets `piece` to the next one, in order. Returns false after the last one.
  bool next(Piece& piece);
  std::size_t pieces() const { return (payload_bytes() + step_ - 1) / step_; }
  // Returns how many pieces next() has not returned yet.
  std::size_t pieces_left() const { return (payload_bytes() - done_ + step_ - 1) / step_; }
  // Continues with `copy`, a copy of the frame. Pieces returned before still point into the frame.
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
  std::size_t done_ = 0;  // payload bytes returned so far
};

}  // namespace splitnic::lan
