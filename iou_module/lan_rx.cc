// LAN -> hosts. With one host the port reads straight into that host's ring; with several into the
// scratch ring, and each host that wants a frame gets its own copy.
#include <algorithm>
#include <array>

#include "iou_module/lan_nic.h"

namespace splitnic::iou {
namespace {

constexpr std::size_t kFrameMin = lan::kVnetHeaderBytes + lan::kEthernetBytes;

}  // namespace

AttachedHost* LanNic::sole_session() {
  AttachedHost* found = nullptr;
  for (const auto& s : hosts_) {
    if (s->failed || !s->pair().up()) continue;
    if (found != nullptr) return nullptr;
    found = s.get();
  }
  return found;
}

bool LanNic::wants_input() {
  if (is_stopping_) return false;
  if (!port_.input_waits()) return full_since_ == base::kNever || now_ - full_since_ >= kHeldMax;
  bool any = false;
  for (const auto& s : hosts_) {
    if (s->failed || !s->nic.started || !s->pair().up() || !s->link().up()) continue;
    if (!s->idle() || s->ring().reserve().empty()) return false;
    any = true;
  }
  return any;
}

// One host alone that cannot take more now.
void LanNic::watch_room(base::Time now) {
  now_ = now;
  AttachedHost* sole = sole_session();
  const bool is_full = sole != nullptr && sole->link().up() && sole->ring().reserve().empty();
  full_since_ = is_full ? std::min(full_since_, now) : base::kNever;
}

// True if a host wants it.
bool LanNic::distribute(base::Bytes frame, const AttachedHost* except) {
  const lan::MacAddress destination = lan::destination_mac(frame.subspan(lan::kVnetHeaderBytes));
  bool is_wanted = false;
  for (const auto& s : hosts_) {
    if (s.get() == except || s->failed || !s->wants(destination)) continue;
    s->queue_copy(frame);
    is_wanted = true;
  }
  return is_wanted;
}

bool LanNic::move_from_lan(base::Time now) {
  bool made_progress = false;
  for (const auto& s : hosts_) made_progress |= s->pump(now);
  watch_room(now);
  if (!is_readable_ || !wants_input()) return made_progress;
  AttachedHost* sole = sole_session();
  const bool direct = sole != nullptr && !sole->ring().reserve().empty();
  lan::FrameRing& ring = direct ? sole->ring() : scratch_;
  std::array<base::Bytes, kBatch> frames;
  const lan::ReadBatch batch = port_.read(ring, frames);
  bool is_copying = false;  // from the first frame on that does not fit as it lies
  for (std::size_t i = 0; i < batch.frames; ++i) {
    const base::Bytes frame = frames[i];
    counters_.add(LanCounter::kRxFrames);
    counters_.add(LanCounter::kRxBytes, frame.size());
    const bool whole = frame.size() >= kFrameMin;
    if (direct && whole &&
        sole->wants(lan::destination_mac(frame.subspan(lan::kVnetHeaderBytes)))) {
      // Its pieces lie behind the batch, and the ring is released in its order: so do all after it.
      is_copying = is_copying || !sole->fits(frame);
      if (!is_copying) {
        sole->queue_own(frame);
        continue;
      }
      sole->queue_copy(frame);
    } else if (direct || !whole || !distribute(frame, nullptr)) {
      counters_.add(LanCounter::kRxDropNoHost);
    }
    ring.discard(frame.data() + frame.size());
  }
  for (const auto& s : hosts_) s->pump(now);
  watch_room(now);
  return made_progress || batch.frames > 0;
}

}  // namespace splitnic::iou
