#include "iou_module/attached_host.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "lan_bridge/frame/flow.h"
#include "lan_bridge/frame/segment.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::iou {

AttachedHost::AttachedHost(const SessionConfig& config, fabric::Adapter& adapter,
                           fabric::Link& link, base::Random& random, messaging::PairOwner& owner)
    : link_(link),
      identity_{link.peer_eui64(), link.peer_instance()},
      memory_(config.ring_bytes, base::PageMemory::Pages::kHuge),
      ring_(memory_.span(), config.frames_max),
      pending_(config.frames_max),
      pair_(adapter, config.pair, random, owner) {
  is_registered_ = pair_.register_frames(memory_.span()).has_value();
}

bool AttachedHost::fits(base::Bytes frame) const {
  const auto header = lan::VnetHeader::parse(frame);
  return frame.size() <= pair_.frame_bytes_max() &&
         (lan::offloads_used(header) & ~nic.features) == 0;
}

void AttachedHost::queue_own(base::Bytes frame) {
  switch (nic.vlans.to_host(frame)) {
    case VlanRules::Verdict::kPass:
      return queue_fitting(frame);
    case VlanRules::Verdict::kPassUntagged: {
      const auto at = static_cast<std::size_t>(frame.data() - memory_.get());
      return queue_fitting(take_tag_out({memory_.get() + at, frame.size()}));
    }
    case VlanRules::Verdict::kDrop:
      break;
  }
  counters.add(HostCounter::kDropVlan);
  ring_.discard(frame.data() + frame.size());
}

void AttachedHost::queue_fitting(base::Bytes frame) {
  const bool is_fitting = fits(frame);
  if (is_fitting && !pending_.full()) return enqueue(frame);
  if (is_fitting)
    counters.add(HostCounter::kDropHostFull);
  else
    queue_split(frame);
  ring_.discard(frame.data() + frame.size());
}

void AttachedHost::queue_copy(base::Bytes frame) {
  const VlanRules::Verdict verdict = nic.vlans.to_host(frame);
  if (verdict == VlanRules::Verdict::kDrop) return counters.add(HostCounter::kDropVlan);
  const bool loses_tag = verdict == VlanRules::Verdict::kPassUntagged;
  if (!loses_tag && !fits(frame)) return queue_split(frame);
  const base::MutableBytes room =
      pending_.full() ? base::MutableBytes{} : ring_.reserve(frame.size());
  if (room.empty()) return counters.add(HostCounter::kDropHostFull);
  std::memcpy(room.data(), frame.data(), frame.size());
  ring_.commit(room.data() + frame.size());
  if (loses_tag) return queue_fitting(take_tag_out(room.first(frame.size())));
  enqueue(room.first(frame.size()));
}

// Too long for an element: smaller super-frames. An offload that the host has not: finished frames.
void AttachedHost::queue_split(base::Bytes frame) {
  const auto header = lan::VnetHeader::parse(frame);
  const bool supers = (lan::offloads_used(header) & ~nic.features) == 0;
  auto segments = lan::Segmenter::of(
      frame, supers ? lan::Segmenter::Mode::kSuper : lan::Segmenter::Mode::kFinished,
      pair_.frame_bytes_max());
  if (!segments) return counters.add(HostCounter::kDropTooLong);
  lan::Piece piece;
  std::uint64_t pieces = 0;
  while (segments->next(piece)) {
    ++pieces;
    const base::MutableBytes room =
        pending_.full() ? base::MutableBytes{} : ring_.reserve(piece.size());
    if (room.empty()) {
      counters.add(HostCounter::kDropHostFull);
      continue;
    }
    const base::MutableBytes written = piece.copy_to(room);
    ring_.commit(written.data() + written.size());
    enqueue(written);
  }
  if (pieces > 1) counters.add(HostCounter::kSplit, pieces - 1);
}

bool AttachedHost::push(base::Bytes frame, base::Time now) {
  return pair_.push(frame, pair_.queues() == 1 ? 0 : lan::flow_of(frame), now);
}

bool AttachedHost::pump(base::Time now) {
  bool made_progress = false;
  for (std::size_t done = pair_.take_completed(); done > 0; --done) {
    ring_.release();
    made_progress = true;
  }
  while (!pending_.empty() && push(pending_.front(), now)) {
    counters.add(HostCounter::kToHostFrames);
    counters.add(HostCounter::kToHostBytes, pending_.front().size());
    rmon.count_to_host(pending_.front());
    pending_.pop();
    made_progress = true;
  }
  return made_progress;
}

}  // namespace splitnic::iou
