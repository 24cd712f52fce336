#include "lan_bridge/ports/watched_port.h"

namespace splitnic::lan {

ReadBatch WatchedPort::read(FrameRing& ring, std::span<base::Bytes> out) {
  const ReadBatch batch = below_->read(ring, out);
  if (copies_ != nullptr) copy(out.first(batch.frames), reads_ == Reads::kSent);
  return batch;
}

std::size_t WatchedPort::write(std::span<const base::Bytes> frames) {
  const std::size_t taken = below_->write(frames);
  if (copies_ != nullptr) copy(frames.first(taken), reads_ == Reads::kReceived);
  return taken;
}

void WatchedPort::copy(std::span<const base::Bytes> frames, bool is_sent) {
  if (copies_->has_ended()) return copies_.reset();
  const base::Time now = frames.empty() ? base::Time{} : clock_.now();
  for (const base::Bytes frame : frames) {
    const bool has_room = copies_->add(frame, is_sent, now);
    counters_.add(has_room ? WatchCounter::kFrames : WatchCounter::kDropFull);
  }
}

}  // namespace splitnic::lan
