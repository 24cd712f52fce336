#include "fabric_emul/underlay/capture_underlay.h"

#include <algorithm>

namespace splitnic::fabric {

CaptureUnderlay::CaptureUnderlay(Underlay& below, PcapngWriter& out, base::Clock& clock,
                                 std::string_view name)
    : UnderlayDecorator(below),
      out_(out),
      clock_(clock),
      interface_(out.add_interface(name)),
      to_wall_clock_(std::chrono::system_clock::now().time_since_epoch() -
                     clock.now().time_since_epoch()) {}

Underlay::SendStatus CaptureUnderlay::send(const PeerAddress& to, base::Bytes bytes,
                                           std::size_t stride) {
  const SendStatus status = below_.send(to, bytes, stride);
  if (status == SendStatus::kSent) record(PcapngWriter::Direction::kSent, bytes, stride);
  return status;
}

std::optional<Underlay::Received> CaptureUnderlay::receive() {
  auto batch = below_.receive();
  if (batch) {
    record(PcapngWriter::Direction::kReceived, batch->bytes, batch->stride);
  } else if (flush_at_ != base::kNever && clock_.now() >= flush_at_) {
    out_.flush();
    flush_at_ = base::kNever;
  }
  return batch;
}

base::Time CaptureUnderlay::deadline() const { return std::min(flush_at_, below_.deadline()); }

void CaptureUnderlay::record(PcapngWriter::Direction direction, base::Bytes bytes,
                             std::size_t stride) {
  const base::Time now = clock_.now();
  for (std::size_t at = 0; at < bytes.size(); at += stride) {
    out_.add(interface_, direction, now.time_since_epoch() + to_wall_clock_,
             bytes.subspan(at, std::min(stride, bytes.size() - at)));
  }
  if (flush_at_ == base::kNever) flush_at_ = now + kFlushAfter;
}

}  // namespace splitnic::fabric
