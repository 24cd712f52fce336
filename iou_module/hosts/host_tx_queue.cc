#include "iou_module/hosts/host_tx_queue.h"

#include <cstring>

#include "lan_bridge/frame/checksum.h"
#include "lan_bridge/frame/segment.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::iou {

base::Status HostTxQueue::allocate(std::size_t bytes) {
  auto memory = base::PageMemory::make(bytes, base::PageMemory::Pages::kHuge);
  if (!memory) return memory.error();
  memory_ = *std::move(memory);
  ring_ = lan::FrameRing(memory_.span(), pending_.capacity());
  return {};
}

bool HostTxQueue::takes_offloads_of(const lan::VnetHeader& header) const {
  return (lan::offloads_used(header) & ~nic_.features) == 0;
}

bool HostTxQueue::fits(base::Bytes frame, std::size_t frame_bytes_max) const {
  return frame.size() <= frame_bytes_max && takes_offloads_of(lan::VnetHeader::parse(frame));
}

// Returns no room if no further frame may wait, or the ring has none.
base::MutableBytes HostTxQueue::room_for(std::size_t bytes) {
  return pending_.full() ? base::MutableBytes{} : ring_.reserve(bytes);
}

void HostTxQueue::queue_own(base::Bytes frame, std::size_t frame_bytes_max) {
  switch (vlan_verdict(frame)) {
    case VlanRules::Verdict::kPass:
      return queue_fitting(frame, frame_bytes_max);
    case VlanRules::Verdict::kPassUntagged: {
      const auto at = static_cast<std::size_t>(frame.data() - memory_.get());
      return queue_fitting(take_tag_out({memory_.get() + at, frame.size()}), frame_bytes_max);
    }
    case VlanRules::Verdict::kDrop:
      break;
  }
  counters_.add(AttachedHostCounter::kDropVlan);
  ring_.discard(frame.data() + frame.size());
}

void HostTxQueue::queue_fitting(base::Bytes frame, std::size_t frame_bytes_max) {
  const bool is_fitting = fits(frame, frame_bytes_max);
  if (is_fitting && !pending_.full()) return enqueue(frame);
  if (is_fitting)
    counters_.add(AttachedHostCounter::kDropHostFull);
  else
    queue_split(frame, frame_bytes_max);
  ring_.discard(frame.data() + frame.size());
}

void HostTxQueue::queue_copy(base::Bytes frame, std::size_t frame_bytes_max) {
  const VlanRules::Verdict verdict = vlan_verdict(frame);
  if (verdict == VlanRules::Verdict::kDrop) return counters_.add(AttachedHostCounter::kDropVlan);
  const bool loses_tag = verdict == VlanRules::Verdict::kPassUntagged;
  if (!loses_tag && !fits(frame, frame_bytes_max)) return queue_split(frame, frame_bytes_max);
  const base::MutableBytes room = room_for(frame.size());
  if (room.empty()) return counters_.add(AttachedHostCounter::kDropHostFull);
  std::memcpy(room.data(), frame.data(), frame.size());
  ring_.commit(room.data() + frame.size());
  if (loses_tag) return queue_fitting(take_tag_out(room.first(frame.size())), frame_bytes_max);
  enqueue(room.first(frame.size()));
}

// A frame that is too long for an element becomes smaller super-frames; one with an offload that
// the host does not take becomes finished frames, a single one where only its checksum was left.
void HostTxQueue::queue_split(base::Bytes frame, std::size_t frame_bytes_max) {
  const auto header = lan::VnetHeader::parse(frame);
  if (header.gso() == lan::GsoType::kNone && frame.size() <= frame_bytes_max) {
    return queue_finished(frame);
  }
  auto segments = lan::Segmenter::of(
      frame,
      takes_offloads_of(header) ? lan::Segmenter::Mode::kSuper : lan::Segmenter::Mode::kFinished,
      frame_bytes_max);
  if (!segments) return counters_.add(AttachedHostCounter::kDropTooLong);
  lan::Piece piece;
  std::uint64_t pieces = 0;
  while (segments->next(piece)) {
    ++pieces;
    const base::MutableBytes room = room_for(piece.size());
    if (room.empty()) {
      counters_.add(AttachedHostCounter::kDropHostFull);
      continue;
    }
    const base::MutableBytes written = piece.copy_to(room);
    ring_.commit(written.data() + written.size());
    enqueue(written);
  }
  if (pieces > 1) counters_.add(AttachedHostCounter::kSplit, pieces - 1);
}

// A copy with its checksum.
void HostTxQueue::queue_finished(base::Bytes frame) {
  const base::MutableBytes room = room_for(frame.size());
  if (room.empty()) return counters_.add(AttachedHostCounter::kDropHostFull);
  std::memcpy(room.data(), frame.data(), frame.size());
  const base::MutableBytes finished = room.first(frame.size());
  if (!lan::finish_checksum(finished)) return counters_.add(AttachedHostCounter::kDropTooLong);
  ring_.commit(finished.data() + finished.size());
  enqueue(finished);
}

}  // namespace splitnic::iou
