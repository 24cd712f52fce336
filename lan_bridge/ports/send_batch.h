// Frames for a packet socket without a vnet header, many to one sendmmsg: super-frames are cut, and
// partial checksums finished. A super-frame's payload is gathered where it lies; only its headers
// are built for each piece. Memory is set aside at the start.
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
  // Calls of the kernel are dear, and this many fit one: a super-frame and a half.
  static constexpr std::size_t kPieces = 64;

  struct Sent {
    std::size_t frames = 0;  // sent or dropped, and counted
    std::size_t pieces = 0;  // so too of the frame behind them, which blocked in its middle
  };

  // `counters` outlive it.
  explicit SendBatch(base::Counters<PortCounter>& counters);

  // Sends frames ([vnet header][Ethernet frame]) in order until the socket would block. Points to
  // none of them after the call.
  Sent send(int fd, std::span<const base::Bytes> frames);

 private:
  // The part of the input that a message of the batch carries.
  struct Part {
    std::size_t bytes = 0;
    std::size_t split = 0;  // pieces that follow, counted with the first of several
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
  std::size_t next_ = 0;                // of frames_, to be added
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
