#include "fabric_emul/paging/swap_arbitrator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "fabric_emul/paging/quiesce.h"

namespace splitnic::fabric {

base::Status SwapArbitrator::adopt(MemoryHandle region, SwapConsumer& consumer) {
  const MrwtEntry* const entry = table_.entry(region);
  if (entry == nullptr || entry->type != EntryType::kRegion ||
      entry->attribute != RegionAttribute::kQuiescable) {
    return base::Error("adopting a region: it has no current-I/O word, so it stays pinned");
  }
  if (regions_.contains(region)) return base::Error("adopting a region: it is adopted");
  forget_deregistered();
  std::vector<const std::byte*> frames;
  for (std::size_t i = 0; i < entry->att->page_count(); ++i) {
    const std::byte* const frame = entry->att->page(i);
    const bool is_ours = entry->page_log2 == arena_.page_log2() && arena_.is_taken(frame);
    if (!is_ours || is_owned(frame) || std::ranges::count(frames, frame) != 0) {
      return base::Error("adopting a region: two pages share a frame, or one is not in the arena");
    }
    frames.push_back(frame);
  }
  Region& adopted = regions_[region];
  adopted.consumer = &consumer;
  adopted.frames = std::move(frames);
  return {};
}

void SwapArbitrator::forget(MemoryHandle region) {
  const auto found = regions_.find(region);
  if (found == regions_.end()) return;
  const MrwtEntry* const entry = table_.entry(region);
  if (entry != nullptr && found->second.state == State::kQuiescing) {
    CurrentIo(*entry->current_io).reset();
  }
  std::erase(wanted_, region);
  regions_.erase(found);
}

base::Status SwapArbitrator::request(MemoryHandle region, base::Time now, base::Duration timeout) {
  const auto found = find(region);
  if (!found) return found.error().within("asking for a swap-out");
  Region& r = **found;
  if (r.state != State::kIn) return base::Error("asking for a swap-out: the region is on its way");
  const bool is_quiescent = CurrentIo(*table_.entry(region)->current_io).quiesce();
  r.state = State::kQuiescing;
  r.deadline = now + timeout;
  report(region, SwapStep::kQuiesceSet);
  if (is_quiescent) swap_out(region, r);
  return {};
}

base::Status SwapArbitrator::quiesced(MemoryHandle region) {
  const auto found = find(region);
  if (!found) return found.error().within("quiescent");
  if ((*found)->state != State::kQuiescing) return base::Error("quiescent: nobody asked for it");
  // A call that belongs to an earlier request may come late: the word decides.
  if (!CurrentIo(*table_.entry(region)->current_io).is_quiescent()) {
    return base::Error("quiescent: the region has I/O outstanding");
  }
  swap_out(region, **found);
  return {};
}

base::Status SwapArbitrator::interest(MemoryHandle region) {
  const auto found = find(region);
  if (!found) return found.error().within("wanting a region back");
  Region& r = **found;
  if (r.state == State::kIn) {
    wake(region, r);
    return {};
  }
  if (!r.is_wanted) wanted_.push_back(region);
  r.is_wanted = true;
  if (r.state == State::kOut) bring_back();
  return {};
}

std::size_t SwapArbitrator::bring_back() {
  std::size_t count = 0;
  for (;;) {
    // One that is still on its way out keeps its place, and holds nobody up.
    const auto next = std::ranges::find_if(
        wanted_, [&](MemoryHandle handle) { return regions_.at(handle).state == State::kOut; });
    if (next == wanted_.end()) return count;
    const MemoryHandle handle = *next;
    const MrwtEntry* const entry = table_.entry(handle);
    if (entry == nullptr) {  // it was deregistered while it was out
      forget(handle);
      continue;
    }
    if (arena_.free_frames() < entry->att->page_count()) return count;
    wanted_.erase(next);
    ++count;
    swap_in(handle, regions_.at(handle));
  }
}

std::vector<SwapArbitrator::Expired> SwapArbitrator::expire(base::Time now) {
  std::vector<Expired> expired;
  for (auto& [handle, region] : regions_) {
    if (region.state == State::kQuiescing && region.deadline <= now) {
      expired.push_back(
          {handle, base::Error("swapping a region out: its consumer has I/O outstanding for too "
                               "long; the region stays")});
    }
  }
  for (const Expired& one : expired) {
    const auto found = find(one.region);
    if (!found || (*found)->state != State::kQuiescing) continue;
    CurrentIo(*table_.entry(one.region)->current_io).reset();
    report(one.region, SwapStep::kQuiesceReset);
    wake(one.region, **found);
  }
  return expired;
}

base::Time SwapArbitrator::deadline() const {
  base::Time earliest = base::kNever;
  for (const auto& [handle, region] : regions_) earliest = std::min(earliest, region.deadline);
  return earliest;
}

// An adopted region whose entry lives. One that was deregistered is forgotten.
base::Result<SwapArbitrator::Region*> SwapArbitrator::find(MemoryHandle region) {
  const auto found = regions_.find(region);
  if (found == regions_.end()) return base::Error("the region is not adopted: it stays pinned");
  if (table_.entry(region) != nullptr) return &found->second;
  forget(region);
  return base::Error("the region is no longer registered");
}

void SwapArbitrator::forget_deregistered() {
  std::erase_if(regions_, [&](const auto& one) {
    if (table_.entry(one.first) != nullptr) return false;
    std::erase(wanted_, one.first);
    return true;
  });
}

bool SwapArbitrator::is_owned(const std::byte* frame) const {
  return std::ranges::any_of(
      regions_, [&](const auto& one) { return std::ranges::count(one.second.frames, frame) != 0; });
}

// REQUIRES: the region is quiescent.
void SwapArbitrator::swap_out(MemoryHandle handle, Region& region) {
  report(handle, SwapStep::kQuiescent);
  CHECK(table_.set_valid(handle, false));
  report(handle, SwapStep::kInvalid);
  const Att& att = *table_.entry(handle)->att;
  region.saved.reserve(att.page_count() * arena_.frame_bytes());
  for (std::size_t i = 0; i < att.page_count(); ++i) {
    region.saved.insert(region.saved.end(), att.page(i), att.page(i) + arena_.frame_bytes());
  }
  report(handle, SwapStep::kSaved);
  for (std::size_t i = 0; i < att.page_count(); ++i) {
    std::byte* const frame = att.page(i);
    CHECK(table_.regions().set_page(handle, i, nullptr));
    arena_.release(frame);
  }
  region.frames.clear();
  region.state = State::kOut;
  region.deadline = base::kNever;
  report(handle, SwapStep::kFreed);
}

// REQUIRES: as many free frames as the region has pages. `region` may be gone afterwards.
void SwapArbitrator::swap_in(MemoryHandle handle, Region& region) {
  std::vector<std::byte*> frames(table_.entry(handle)->att->page_count());
  for (std::byte*& frame : frames) frame = arena_.take();
  report(handle, SwapStep::kTaken);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    std::memcpy(frames[i], region.saved.data() + i * arena_.frame_bytes(), arena_.frame_bytes());
  }
  region.saved = {};
  report(handle, SwapStep::kRestored);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    CHECK(table_.regions().set_page(handle, i, frames[i]));
  }
  region.frames.assign(frames.begin(), frames.end());
  report(handle, SwapStep::kTranslated);
  CHECK(table_.set_valid(handle, true));
  report(handle, SwapStep::kValid);
  CurrentIo(*table_.entry(handle)->current_io).reset();
  report(handle, SwapStep::kQuiesceReset);
  wake(handle, region);
}

// The region is in, and was before this call. `region` may be gone afterwards.
void SwapArbitrator::wake(MemoryHandle handle, Region& region) {
  region.state = State::kIn;
  region.deadline = base::kNever;
  if (std::exchange(region.is_wanted, false)) std::erase(wanted_, handle);
  report(handle, SwapStep::kWoken);
  region.consumer->on_awake(handle);
}

}  // namespace splitnic::fabric
