#include "lan_bridge/ports/send_batch.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "lan_bridge/frame/checksum.h"
#include "lan_bridge/frame/vnet_header.h"
#include "lan_bridge/frame_ring.h"
#include "lan_bridge/ports/frame_splitter.h"

namespace splitnic::lan {
namespace {

iovec vector_of(base::Bytes bytes) { return {const_cast<std::byte*>(bytes.data()), bytes.size()}; }

}  // namespace

SendBatch::SendBatch(base::Counters<PortCounter>& counters)
    : counters_(counters), copies_(kFrameReserve) {
  for (std::size_t i = 0; i < kPieces; ++i) messages_[i].msg_hdr.msg_iov = vectors_[i].data();
}

SendBatch::Sent SendBatch::send(int fd, std::span<const base::Bytes> frames) {
  frames_ = frames;
  next_ = 0;
  sent_ = {};
  segmenter_.reset();
  while (!is_done()) {
    fill();
    if (!transmit(fd)) break;
  }
  frames_ = {};
  segmenter_.reset();
  return sent_;
}

void SendBatch::fill() {
  count_ = copied_ = 0;
  while (!is_full() && !is_done()) {
    if (segmenter_) {
      add_piece();
    } else if (add(frames_[next_])) {
      ++next_;
    } else {
      return;
    }
  }
}

// Returns false if the batch has to be sent first.
bool SendBatch::add(base::Bytes frame) {
  if (frame.size() < kVnetHeaderBytes + kEthernetBytes) return drop(PortCounter::kTxDropShort);
  const VnetHeader header = VnetHeader::parse(frame);
  if (offloads_used(header) == 0) {
    add_bytes(frame);
    return true;
  }
  if (frame.size() > kFrameReserve) return drop(PortCounter::kTxDropTooLong);
  if (header.gso() == GsoType::kNone) return add_finished(frame);
  segmenter_ = Segmenter::of(frame, Segmenter::Mode::kFinished);
  if (!segmenter_) return drop(PortCounter::kTxDropInvalid);
  split_ = segmenter_->pieces() - 1;
  return true;
}

bool SendBatch::add_finished(base::Bytes frame) {
  if (copies_.size() - copied_ < frame.size()) return false;
  const base::MutableBytes copy = base::MutableBytes(copies_).subspan(copied_, frame.size());
  std::memcpy(copy.data(), frame.data(), frame.size());
  if (!finish_checksum(copy)) return drop(PortCounter::kTxDropInvalid);
  copied_ += frame.size();
  add_bytes(copy);
  return true;
}

void SendBatch::add_bytes(base::Bytes frame) {
  const base::Bytes ethernet = frame.subspan(kVnetHeaderBytes);
  vectors_[count_][0] = vector_of(ethernet);
  messages_[count_].msg_hdr.msg_iovlen = 1;
  parts_[count_++] = {.bytes = ethernet.size()};
}

void SendBatch::add_piece() {
  Piece& piece = pieces_[count_];
  segmenter_->next(piece);
  const base::Bytes head(piece.head_room.data(), piece.head_bytes);
  vectors_[count_] = {vector_of(head.subspan(kVnetHeaderBytes)), vector_of(piece.payload)};
  messages_[count_].msg_hdr.msg_iovlen = 2;
  const bool is_last = segmenter_->pieces_left() == 0;
  parts_[count_++] = {.bytes = piece.size() - kVnetHeaderBytes,
                      .split = std::exchange(split_, 0),
                      .ends_frame = is_last};
  if (is_last) segmenter_.reset();
}

// A drop is counted only when every frame before it has been sent: a frame behind one that blocks
// was not taken.
bool SendBatch::drop(PortCounter cause) {
  if (count_ > 0) return false;
  counters_.add(cause);
  ++sent_.frames;
  return true;
}

// Returns false if the socket would block.
bool SendBatch::transmit(int fd) {
  std::size_t at = 0;
  while (at < count_) {
    const int result =
        ::sendmmsg(fd, &messages_[at], static_cast<unsigned>(count_ - at), MSG_DONTWAIT);
    for (int i = 0; i < result; ++i) {
      counters_.add(PortCounter::kTxFrames);
      counters_.add(PortCounter::kTxBytes, parts_[at].bytes);
      settle(parts_[at++]);
    }
    if (result > 0 || errno == EINTR) continue;
    if (errno == EAGAIN) return false;
    counters_.add(tx_drop_of(errno));  // only this one; the others may pass
    settle(parts_[at++]);
  }
  return true;
}

void SendBatch::settle(const Part& part) {
  counters_.add(PortCounter::kTxSplit, part.split);
  if (part.ends_frame) {
    ++sent_.frames;
    sent_.pieces = 0;
  } else {
    ++sent_.pieces;
  }
}

}  // namespace splitnic::lan
