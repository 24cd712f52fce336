// Sends frames through a packet socket without a vnet header, many per sendmmsg: super-frames are
// segmented and partial checksums finished (software GSO). The payload of a super-frame is gathered
// where it lies; only the headers are written for each piece. Memory is allocated at the start.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "lan_bridge/frame/segment.h"
#include "lan_bridge/ports/port_counters.h"

namespace splitnic::lan {

class SendBatch {
 public:
  // System calls are expensive: this many pieces fit into one, a super-frame and a half.
  static constexpr std::size_t kPieces = 64;

  struct Sent {
    std::size_t frames = 0;  // sent or dropped, and counted
    std::size_t pieces = 0;  // the same of the next frame, in the middle of which it blocked
  };

  // `counters` outlive it.
  explicit SendBatch(base::Counters<PortCounter>& counters);

  // Sends frames ([vnet header][Ethernet frame]) in order until the socket would block. Nothing
  // points to them after the call.
  Sent send(int fd, std::span<const base::Bytes> frames);

 private:
  // The part of a frame that one message of the batch sends.
  struct Part {
    std::size_t bytes = 0;
    std::size_t split = 0;  // pieces that follow, set at the first of several
    bool ends_frame = true;
  };

  bool is_full() const { return count_ == kPieces; }
  bool is_done() const { return next_ == frames_.size() && !segmenter_; }
  void fill();
  bool add(base::Bytes frame);
  bool add_finished(base::Bytes frame);
  void add_piece();
  void add_bytes(base::Bytes frame);
  bool drop(PortCounter cause);
  bool transmit(int fd);
  void settle(const Part& part);

  base::Counters<PortCounter>& counters_;
  std::span<const base::Bytes> frames_;
  std::size_t next_ = 0;                // the frame to be added next
  std::optional<Segmenter> segmenter_;  // of the frame before that, whose pieces are not all added
  std::size_t split_ = 0;               // of that frame, until its first piece is added
  Sent sent_;

  std::size_t count_ = 0;  // messages in the batch
  std::array<mmsghdr, kPieces> messages_{};
  std::array<std::array<iovec, 2>, kPieces> vectors_{};
  std::array<Part, kPieces> parts_{};
  std::array<Piece, kPieces> pieces_;
  std::vector<std::byte> copies_;  // frames whose checksum was finished
  std::size_t copied_ = 0;         // of copies_ in use
};

}  // namespace splitnic::lan
