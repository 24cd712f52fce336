#include "lan_bridge/ports/frame_splitter.h"

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "lan_bridge/frame/captured.h"
#include "lan_bridge/frame/checksum.h"

namespace splitnic::lan {

PortCounter tx_drop_of(int errno_value) {
  switch (errno_value) {
    case EMSGSIZE:
      return PortCounter::kTxDropTooLong;
    case ENETDOWN:
    case ENXIO:
    case ENODEV:
    case EIO:
    case EBADFD:
      return PortCounter::kTxDropDown;
    case ENOBUFS:
    case ENOMEM:
      return PortCounter::kTxDropQueue;
    case EINVAL:
      return PortCounter::kTxDropInvalid;
    default:
      return PortCounter::kTxDropError;
  }
}

void ReadSplitter::commit_or_split(ReadSink& sink, base::MutableBytes frame) {
  counters_.add(PortCounter::kRxFrames);
  if (frame.size() < VnetHeader::kBytes + kEthernetBytes) {
    counters_.add(PortCounter::kRxDropShort);
    return;
  }
  counters_.add(PortCounter::kRxBytes, frame.size() - VnetHeader::kBytes);
  VnetHeader header = VnetHeader::parse(frame);
  header.flags &= VnetHeader::kNeedsChecksum;
  header.emit(frame);
  const bool is_super = header.gso() != GsoType::kNone;
  if (is_super && !header.needs_checksum()) {
    if (!complete_super_frame(frame)) {
      counters_.add(PortCounter::kRxDropGso);
      return;
    }
    header.flags |= VnetHeader::kNeedsChecksum;
  }
  // No peer takes a super-frame of too many segments.
  const bool is_taken = (offloads_used(header) & ~offloads) == 0 &&
                        (!is_super || header.gso_size == 0 ||
                         has_legal_segments(header, frame.size() - VnetHeader::kBytes));
  if (is_taken && (!is_super || frame.size() <= frame_bytes_max)) {
    sink.commit(frame);
  } else if (is_super) {
    if (split(sink, frame, is_taken ? Segmenter::Mode::kSuper : Segmenter::Mode::kFinished)) return;
    counters_.add(PortCounter::kRxDropGso);
  } else if (finish_checksum(frame)) {
    sink.commit(frame);
  } else {
    counters_.add(PortCounter::kRxDropError);
  }
}

bool ReadSplitter::split(ReadSink& sink, base::Bytes frame, Segmenter::Mode mode) {
  CHECK(!segmenter_ && frame.size() <= scratch_.size());
  std::memcpy(scratch_.data(), frame.data(), frame.size());
  segmenter_ = Segmenter::of(base::Bytes(scratch_).first(frame.size()), mode, frame_bytes_max);
  if (!segmenter_) return false;
  counters_.add(PortCounter::kRxSplit, segmenter_->pieces() - 1);
  has_piece_ = segmenter_->next(piece_);
  resume(sink);
  return true;
}

bool ReadSplitter::resume(ReadSink& sink) {
  while (has_piece_) {
    if (sink.is_full()) return false;
    const base::MutableBytes room = sink.ring.reserve(piece_.size());
    if (room.empty()) return false;
    sink.commit(piece_.copy_to(room));
    has_piece_ = segmenter_->next(piece_);
  }
  segmenter_.reset();
  return true;
}

WriteSplitter::~WriteSplitter() { counters_.add(PortCounter::kTxDropClosed, pieces_left()); }

bool WriteSplitter::begin(base::Bytes frame) {
  CHECK(!has_piece_);
  if (frame.size() > scratch_.size()) {
    counters_.add(PortCounter::kTxDropTooLong);
    return false;
  }
  if (VnetHeader::parse(frame).gso() == GsoType::kNone) {
    segmenter_.reset();
    std::memcpy(scratch_.data(), frame.data(), frame.size());
    piece_ = base::MutableBytes(scratch_).first(frame.size());
    has_piece_ = finish_checksum(piece_);
  } else {
    segmenter_ = Segmenter::of(frame, Segmenter::Mode::kFinished);
    if (segmenter_) {
      counters_.add(PortCounter::kTxSplit, segmenter_->pieces() - 1);
      advance();
    }
  }
  if (!has_piece_) counters_.add(PortCounter::kTxDropInvalid);
  return has_piece_;
}

// The piece that would block lies in scratch_ already, which is the whole frame if there is only
// one.
void WriteSplitter::hold(base::Bytes frame) {
  if (!segmenter_) return;
  std::memcpy(held_.data(), frame.data(), frame.size());
  segmenter_->move_to(base::Bytes(held_).first(frame.size()));
}

void WriteSplitter::advance() {
  has_piece_ = segmenter_ && segmenter_->next(parts_);
  if (has_piece_)
    piece_ = parts_.copy_to(scratch_);
  else
    segmenter_.reset();
}

std::size_t WriteSplitter::pieces_left() const {
  if (!has_piece_) return 0;
  return 1 + (segmenter_ ? segmenter_->pieces_left() : 0);
}

}  // namespace splitnic::lan
