#include "fabric_emul/transport/read_tracker.h"

#include <utility>

namespace splitnic::fabric {

void ReadTracker::reserve(std::size_t depth) {
  if (depth <= sinks_.capacity()) return;
  base::Ring<ReadSink> more(depth);
  for (; !sinks_.empty(); sinks_.pop()) more.push(std::move(sinks_.front()));
  sinks_ = std::move(more);
}

bool ReadTracker::permits(std::uint64_t cells, std::size_t reads_max,
                          std::uint64_t cells_max) const {
  if (sinks_.size() >= reads_max || sinks_.full()) return false;
  if (sinks_.empty()) return true;
  cells = std::min<std::uint64_t>(cells, kResponseCellsMax);
  for (std::size_t i = 0; i < sinks_.size(); ++i) cells += sinks_[i].cells_in_flight();
  return cells <= cells_max;
}

ReadSink* ReadTracker::find(Psn psn) {
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    if (sinks_[i].psn == psn) return &sinks_[i];
  }
  return nullptr;
}

ReadSink* ReadTracker::with_request_due() {
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    if (sinks_[i].has_request_due) return &sinks_[i];
  }
  return nullptr;
}

bool ReadTracker::has_request_due() const {
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    if (sinks_[i].has_request_due) return true;
  }
  return false;
}

base::Time ReadTracker::deadline(std::uint64_t unacknowledged, base::Duration rto) const {
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    const ReadSink& sink = sinks_[i];
    if (sink.is_whole()) continue;
    if (sink.wqe_no >= unacknowledged) return base::kNever;
    return sink.waits_since + rto;
  }
  return base::kNever;
}

void ReadTracker::on_timeout(std::uint64_t unacknowledged, base::Time now) {
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    ReadSink& sink = sinks_[i];
    if (sink.is_whole() || sink.wqe_no >= unacknowledged) continue;
    sink.has_request_due = true;
    sink.waits_since = now;
  }
}

}  // namespace splitnic::fabric
