#include "iou_module/nic/lan_rx.h"

#include <algorithm>
#include <array>

namespace splitnic::iou {
namespace {

constexpr std::size_t kScratchBytes = 1 << 20;
constexpr std::size_t kScratchFrames = 1024;
constexpr std::size_t kFrameMin = lan::kVnetHeaderBytes + lan::kEthernetBytes;

}  // namespace

LanRx::LanRx(lan::FramePort& port, HostTable& hosts, base::Counters<LanCounter>& counters)
    : port_(port),
      hosts_(hosts),
      counters_(counters),
      scratch_memory_(std::make_unique_for_overwrite<std::byte[]>(kScratchBytes)),
      scratch_({scratch_memory_.get(), kScratchBytes}, kScratchFrames) {}

bool LanRx::wants_input() const {
  if (is_stopped_) return false;
  if (!port_.input_waits()) return full_since_ == base::kNever || now_ - full_since_ >= kHeldMax;
  bool has_reader = false;
  for (const auto& host : hosts_) {
    if (!host->nic().started || !host->is_reachable()) continue;
    HostTxQueue& waiting = host->tx().queue();
    if (!waiting.empty() || !waiting.has_room()) return false;
    has_reader = true;
  }
  return has_reader;
}

bool LanRx::step(base::Time now) {
  const bool made_progress = pump_hosts(now);
  observe_room(now);
  if (!is_readable_ || !wants_input()) return made_progress;
  const std::size_t frames = read();
  pump_hosts(now);
  observe_room(now);
  return made_progress || frames > 0;
}

base::Time LanRx::deadline() const {
  const bool is_held = full_since_ != base::kNever && now_ - full_since_ < kHeldMax;
  return is_held ? full_since_ + kHeldMax : base::kNever;
}

bool LanRx::pump_hosts(base::Time now) {
  bool made_progress = false;
  for (const auto& host : hosts_) made_progress |= host->tx().pump(now);
  return made_progress;
}

void LanRx::observe_room(base::Time now) {
  now_ = now;
  AttachedHost* sole = hosts_.sole_up();
  const bool is_full = sole != nullptr && sole->link().up() && !sole->tx().queue().has_room();
  full_since_ = is_full ? std::min(full_since_, now) : base::kNever;
}

// Returns the number of frames that were read.
std::size_t LanRx::read() {
  AttachedHost* sole = hosts_.sole_up();
  const bool is_direct = sole != nullptr && sole->tx().queue().has_room();
  lan::FrameRing& ring = is_direct ? sole->tx().queue().ring() : scratch_;
  std::array<base::Bytes, kBatch> frames;
  const lan::ReadBatch batch = port_.read(ring, frames);
  bool is_copying = false;  // from the first frame that does not fit where it lies
  for (std::size_t i = 0; i < batch.frames; ++i) {
    const base::Bytes frame = frames[i];
    counters_.add(LanCounter::kRxFrames);
    counters_.add(LanCounter::kRxBytes, frame.size());
    const bool is_whole = frame.size() >= kFrameMin;
    if (is_whole) hosts_.learn(frame);
    if (is_direct && is_whole &&
        sole->wants(lan::destination_mac(frame.subspan(lan::kVnetHeaderBytes)))) {
      // The pieces of a frame that does not fit lie behind the batch, and the ring is released in
      // its order: so every later frame of the batch is copied behind them.
      is_copying = is_copying || !sole->tx().fits(frame);
      if (!is_copying) {
        sole->tx().queue_own(frame);
        continue;
      }
      sole->tx().queue_copy(frame);
    } else if (is_direct || !is_whole || !hosts_.distribute(frame, nullptr)) {
      counters_.add(LanCounter::kRxDropNoHost);
    }
    ring.discard(frame.data() + frame.size());
  }
  return batch.frames;
}

}  // namespace splitnic::iou
