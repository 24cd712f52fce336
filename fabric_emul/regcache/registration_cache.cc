#include "fabric_emul/regcache/registration_cache.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/check.h"

namespace splitnic::fabric {
namespace {

constexpr std::uint8_t kSharedRights = kLocalRead | kLocalWrite;

std::uintptr_t begin_of(base::Bytes memory) {
  return reinterpret_cast<std::uintptr_t>(memory.data());
}
std::uintptr_t end_of(base::Bytes memory) { return begin_of(memory) + memory.size(); }

bool overlap(base::Bytes a, base::Bytes b) {
  return begin_of(a) < end_of(b) && begin_of(b) < end_of(a);
}

// Both; they overlap or touch.
base::MutableBytes hull(base::MutableBytes a, base::MutableBytes b) {
  std::byte* const first = begin_of(a) < begin_of(b) ? a.data() : b.data();
  return {first, std::max(end_of(a), end_of(b)) - std::min(begin_of(a), begin_of(b))};
}

}  // namespace

RegistrationCache::RegistrationCache(Mrwt& table, MemoryLock& lock, Exists exists,
                                     base::Random& random, const CacheLimits& limits)
    : table_(table),
      pages_(lock, counters_),
      exists_(std::move(exists)),
      limits_(limits),
      distance_((random.below(std::uint64_t{1} << 43) + 1) << 12) {}

RegistrationCache::~RegistrationCache() { flush_all(); }

base::Result<MemoryHandle> RegistrationCache::register_region(PdId pd, base::MutableBytes memory,
                                                              std::uint8_t rights,
                                                              std::optional<VirtualAddress> start,
                                                              OwnerId owner) {
  if (memory.empty()) return table_.regions().register_region(pd, memory, rights, start);
  Registration wanted;
  wanted.owner = owner;
  wanted.pd = pd;
  wanted.memory = memory;
  wanted.is_placed = start.has_value();
  wanted.start = start.value_or(VirtualAddress{});
  wanted.rights = rights;
  if ((rights & ~kSharedRights) != 0 || memory.size() > limits_.bytes) {
    wanted.status = RegistrationStatus::kLeaving;
    counters_.add(RegCounter::kUncached);
    return make(wanted);
  }

  const std::optional<Entry> hit = find(wanted);
  const TableState state = hit ? state_in_table(**hit) : TableState::kDead;
  if (state == TableState::kLive) {
    counters_.add(RegCounter::kHit);
    return use(*hit);
  }
  if (overlaps_quiesced(wanted)) {
    counters_.add(RegCounter::kQuiesced);
    return base::Error("registering memory: a region of it is quiesced; ask again later");
  }
  if (hit) {
    counters_.add(RegCounter::kDead);
    retire(*hit);
  }
  counters_.add(RegCounter::kMiss);
  const Registration wider = merged(wanted);
  if (wider.memory.size() > memory.size()) {
    Growing growing{wider.memory, false, growing_};
    growing_ = &growing;
    auto handle = make(wider);
    growing_ = growing.outer;
    if (handle && !growing.is_stale) return handle;
    // A neighbour is gone: invalidate() was not called, or the seam called it meanwhile.
    if (handle) static_cast<void>(flush(*handle));
    return make(wanted);
  }
  return make(wider);
}

base::Status RegistrationCache::deregister(MemoryHandle region) {
  const auto found = by_handle_.find(region);
  if (found == by_handle_.end()) return table_.regions().deregister(region);
  const Entry entry = found->second;
  if (entry->users == 0) return base::Error("deregistering memory: the handle is not in use");
  if (entry->users > 1 || entry->status == RegistrationStatus::kCached) {
    if (--entry->users > 0) return {};
    idle_.splice(idle_.end(), busy_, entry);
    trim();
    return {};
  }
  return flush(region);
}

VirtualAddress RegistrationCache::own_start(base::Bytes memory) const {
  return VirtualAddress(begin_of(memory) + distance_);
}

void RegistrationCache::invalidate(base::Bytes memory) {
  for (Growing* one = growing_; one != nullptr; one = one->outer) {
    one->is_stale = one->is_stale || overlap(one->memory, memory);
  }
  for (const MemoryHandle handle :
       handles_where([&](const Registration& entry) { return overlap(entry.memory, memory); })) {
    const auto found = by_handle_.find(handle);
    if (found == by_handle_.end()) continue;  // a seam was faster
    counters_.add(RegCounter::kInvalidated);
    stop(found->second);
  }
}

base::Status RegistrationCache::flush(MemoryHandle region) {
  const auto found = by_handle_.find(region);
  if (found == by_handle_.end()) return table_.regions().deregister(region);
  const Entry entry = found->second;
  leave(entry);
  if (base::Status ended = table_.regions().deregister(region); ended) {
    counters_.add(RegCounter::kDeregistered);
  } else if (state_in_table(*entry) != TableState::kDead) {
    return ended;  // windows are bound to it
  }
  by_handle_.erase(found);
  Entries ended;
  ended.splice(ended.end(), leaving_, entry);
  unlock(entry);
  return {};
}

void RegistrationCache::flush_all() {
  for (const MemoryHandle handle : handles_where([](const Registration&) { return true; })) {
    static_cast<void>(flush(handle));
  }
}

std::size_t RegistrationCache::collect(const IsStale& is_stale) {
  const std::vector<MemoryHandle> stale = handles_where([&](const Registration& entry) {
    return entry.status == RegistrationStatus::kCached && is_stale(entry);
  });
  for (const MemoryHandle handle : stale) {
    const auto found = by_handle_.find(handle);
    if (found == by_handle_.end()) continue;
    counters_.add(RegCounter::kCollected);
    retire(found->second);
  }
  for (Entries* entries : {&idle_, &busy_}) {
    for (Registration& entry : *entries) {
      entry.uses = 0;
      ++entry.rounds;
    }
  }
  return stale.size();
}

void RegistrationCache::visit(const std::function<void(const Registration&)>& visitor) const {
  for (const Entries* entries : {&idle_, &busy_, &leaving_}) {
    std::for_each(entries->begin(), entries->end(), visitor);
  }
}

RegistrationCache::Place RegistrationCache::place_of(const Registration& entry) {
  const std::uintptr_t begin = begin_of(entry.memory);
  const std::uint64_t origin = entry.is_placed ? entry.start.value - begin : begin;
  return {entry.owner, entry.pd, entry.is_placed, origin, begin};
}

// The first cached entry of the group that overlaps [begin, end).
RegistrationCache::Cached::const_iterator RegistrationCache::first_in(Place group,
                                                                      std::uintptr_t begin,
                                                                      std::uintptr_t end) const {
  group.begin = begin;
  const auto next = cached_.upper_bound(group);
  if (next != cached_.begin()) {
    const auto before = std::prev(next);
    if (before->first.same_group(group) && end_of(before->second->memory) > begin) return before;
  }
  const bool fits =
      next != cached_.end() && next->first.same_group(group) && next->first.begin < end;
  return fits ? next : cached_.end();
}

// The cached entry that serves the request.
std::optional<RegistrationCache::Entry> RegistrationCache::find(const Registration& wanted) const {
  const auto first = first_in(place_of(wanted), begin_of(wanted.memory), end_of(wanted.memory));
  if (first == cached_.end()) return std::nullopt;
  const Registration& entry = *first->second;
  const bool serves = begin_of(entry.memory) <= begin_of(wanted.memory) &&
                      end_of(entry.memory) >= end_of(wanted.memory) &&
                      (wanted.rights & ~entry.rights) == 0;
  return serves ? std::optional(first->second) : std::nullopt;
}

bool RegistrationCache::overlaps_quiesced(const Registration& wanted) const {
  const Place group = place_of(wanted);
  const std::uintptr_t end = end_of(wanted.memory);
  for (auto it = first_in(group, group.begin, end); it != cached_.end(); ++it) {
    if (!it->first.same_group(group) || it->first.begin >= end) break;
    if (state_in_table(*it->second) == TableState::kQuiesced) return true;
  }
  return false;
}

// The wanted registration, grown by the entries that it overlaps or touches, with their rights.
Registration RegistrationCache::merged(const Registration& wanted) const {
  Registration wider = wanted;
  const Place group = place_of(wanted);
  const std::uintptr_t begin = begin_of(wanted.memory) - 1;
  const std::uintptr_t end = end_of(wanted.memory) + 1;
  for (auto it = first_in(group, begin, end); it != cached_.end(); ++it) {
    if (!it->first.same_group(group) || it->first.begin >= end) break;
    if (state_in_table(*it->second) == TableState::kQuiesced) continue;  // it only touches
    wider.memory = hull(wider.memory, it->second->memory);
    wider.rights |= it->second->rights;
  }
  if (wider.memory.size() > limits_.bytes) return wanted;
  if (wanted.is_placed) wider.start.value -= begin_of(wanted.memory) - begin_of(wider.memory);
  return wider;
}

// Registers it for its first user: all or nothing. Cached entries that it overlaps go.
base::Result<MemoryHandle> RegistrationCache::make(Registration entry) {
  auto handle = add_to_table(entry);
  if (!handle) {
    counters_.add(RegCounter::kFailed);
    return handle;
  }
  counters_.add(RegCounter::kRegistered);
  entry.handle = *handle;
  entry.start = table_.start_of(*handle);
  entry.number = ++last_number_;
  entry.is_locked = true;
  const bool is_cached = entry.status == RegistrationStatus::kCached;
  if (is_cached) make_place(entry);

  Entries& entries = is_cached ? idle_ : leaving_;
  const Entry added = entries.insert(entries.end(), entry);
  by_handle_.emplace(*handle, added);
  if (is_cached) {
    cached_.emplace(place_of(entry), added);
    bytes_ += entry.memory.size();
  }
  use(added);
  trim();
  return handle;
}

base::Result<MemoryHandle> RegistrationCache::add_to_table(const Registration& entry) {
  if (!exists_(entry.memory)) return base::Error("registering memory: it is not mapped");
  if (const base::Status locked = pages_.lock(entry.memory); !locked) {
    return locked.error().within("registering memory");
  }
  const auto start = entry.is_placed ? std::optional(entry.start) : std::nullopt;
  auto handle = table_.regions().register_region(entry.pd, entry.memory, entry.rights, start);
  while (!handle && table_.live_count() == table_.entries_max() && !idle_.empty()) {
    evict();
    handle = table_.regions().register_region(entry.pd, entry.memory, entry.rights, start);
  }
  if (!handle) pages_.unlock(entry.memory);
  return handle;
}

// Retires the cached entries that overlap the new one.
void RegistrationCache::make_place(const Registration& entry) {
  const Place group = place_of(entry);
  const std::uintptr_t end = end_of(entry.memory);
  for (;;) {
    const auto old = first_in(group, group.begin, end);
    if (old == cached_.end()) return;
    counters_.add(RegCounter::kMerged);
    retire(old->second);
  }
}

MemoryHandle RegistrationCache::use(Entry entry) {
  if (entry->users == 0 && entry->status == RegistrationStatus::kCached) {
    busy_.splice(busy_.end(), idle_, entry);
  }
  ++entry->users;
  ++entry->uses;
  entry->last_used = now_;
  return entry->handle;
}

// From now on no request finds it.
void RegistrationCache::leave(Entry entry) {
  if (entry->status != RegistrationStatus::kCached) return;
  cached_.erase(place_of(*entry));
  bytes_ -= entry->memory.size();
  leaving_.splice(leaving_.end(), entry->users > 0 ? busy_ : idle_, entry);
  entry->status = RegistrationStatus::kLeaving;
}

void RegistrationCache::retire(Entry entry) {
  leave(entry);
  if (entry->users == 0) static_cast<void>(flush(entry->handle));
}

// Its memory goes: not even those who use it may touch it any more.
void RegistrationCache::stop(Entry entry) {
  leave(entry);
  entry->status = RegistrationStatus::kStopped;
  static_cast<void>(table_.set_valid(entry->handle, false));
  if (entry->users == 0) {
    static_cast<void>(flush(entry->handle));
  } else {
    unlock(entry);
  }
}

void RegistrationCache::unlock(Entry entry) {
  if (std::exchange(entry->is_locked, false)) pages_.unlock(entry->memory);
}

void RegistrationCache::evict() {
  counters_.add(RegCounter::kEvicted);
  retire(idle_.begin());
}

void RegistrationCache::trim() {
  while ((cached_.size() > limits_.entries || bytes_ > limits_.bytes) && !idle_.empty()) evict();
}

RegistrationCache::TableState RegistrationCache::state_in_table(const Registration& entry) const {
  const MrwtEntry* const seen = table_.entry(entry.handle);
  if (seen == nullptr) return TableState::kDead;
  return seen->is_valid ? TableState::kLive : TableState::kQuiesced;
}

std::vector<MemoryHandle> RegistrationCache::handles_where(const IsStale& chosen) const {
  std::vector<MemoryHandle> handles;
  visit([&](const Registration& entry) {
    if (chosen(entry)) handles.push_back(entry.handle);
  });
  return handles;
}

}  // namespace splitnic::fabric
