// A table of learned MAC addresses and the host of each: bounded, aging, four-way set-associative
// under a seeded hash. A host can replace only its own learned addresses and expired ones, never
// those of another host, so no host takes what the others share. The I/O unit has one for each LAN,
// with the LAN as the only slot (iou_module/hosts/lan_addresses.h). Thread: the data thread of its
// owner.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "lan_bridge/frame/ethernet.h"

namespace splitnic::lan {

using HostSlot = std::uint16_t;

class MacTable {
 public:
  enum class Outcome { kKnown, kLearned, kReassigned, kRefused };

  // `entries_max` is rounded up to a power of two; `seed` keeps a peer from aiming at one set.
  MacTable(std::size_t entries_max, base::Duration age_max, std::uint64_t seed)
      : sets_(std::bit_ceil(entries_max < kWays ? kWays : entries_max) / kWays),
        age_max_(age_max),
        seed_(seed) {}

  // Records that `mac` is a source address of `slot`. Returns kRefused for a multicast address, for
  // one pinned to another slot, and if the set is full of other slots' entries that have not
  // expired.
  Outcome learn(const MacAddress& mac, HostSlot slot, base::Time now) {
    return put(mac, slot, now, false);
  }
  // As learn(), but the entry neither ages nor moves (a host's own MAC), and may replace any
  // learned entry.
  Outcome pin(const MacAddress& mac, HostSlot slot, base::Time now) {
    return put(mac, slot, now, true);
  }
  std::optional<HostSlot> find(const MacAddress& mac, base::Time now) const {
    for (const Entry& e : set_of(mac)) {
      if (is_alive(e, now) && e.mac == mac) return e.slot;
    }
    return std::nullopt;
  }
  // Returns when the address was last learned, or nothing if that has expired.
  std::optional<base::Time> last_seen(const MacAddress& mac, base::Time now) const {
    for (const Entry& e : set_of(mac)) {
      if (is_alive(e, now) && e.mac == mac) return e.seen;
    }
    return std::nullopt;
  }
  void forget(const MacAddress& mac) {
    for (Entry& e : set_of(mac)) {
      if (e.is_used && e.mac == mac) drop(e);
    }
  }
  // Returns the number of entries, including expired ones that have not been replaced.
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return sets_.size() * kWays; }

 private:
  static constexpr std::size_t kWays = 4;
  struct Entry {
    base::Time seen{};
    MacAddress mac{};
    HostSlot slot = 0;
    bool is_used = false;
    bool is_pinned = false;
  };
  using Set = std::array<Entry, kWays>;

  // A multiplicative hash in the form of FNV-1a, with the factor 2^64 / the golden ratio. The last
  // step is one round of degski's 64-bit mixer.
  std::size_t index_of(const MacAddress& mac) const {
    std::uint64_t h = seed_;
    for (const std::uint8_t byte : mac) h = (h ^ byte) * 0x9E3779B97F4A7C15ULL;
    h = (h ^ (h >> 32)) * 0xD6E8FEB86659FD93ULL;
    return static_cast<std::size_t>(h >> 32) & (sets_.size() - 1);
  }
  Set& set_of(const MacAddress& mac) { return sets_[index_of(mac)]; }
  const Set& set_of(const MacAddress& mac) const { return sets_[index_of(mac)]; }
  bool is_alive(const Entry& e, base::Time now) const {
    return e.is_used && (e.is_pinned || now - e.seen < age_max_);
  }
  void drop(Entry& e) {
    e = Entry{};
    --size_;
  }

  Outcome put(const MacAddress& mac, HostSlot slot, base::Time now, bool is_pinned) {
    if (is_multicast(mac)) return Outcome::kRefused;
    Set& set = set_of(mac);
    for (Entry& e : set) {
      if (!e.is_used || e.mac != mac) continue;
      if (e.is_pinned && e.slot != slot) return Outcome::kRefused;
      const bool is_same = e.slot == slot;
      e = {now, mac, slot, true, e.is_pinned || is_pinned};
      return is_same ? Outcome::kKnown : Outcome::kReassigned;
    }
    Entry* place = nullptr;
    for (Entry& e : set) {
      if (!is_alive(e, now)) {
        place = &e;
        break;
      }
      const bool may_go = !e.is_pinned && (is_pinned || e.slot == slot);
      if (may_go && (place == nullptr || e.seen < place->seen)) place = &e;
    }
    if (place == nullptr) return Outcome::kRefused;
    if (!place->is_used) ++size_;
    *place = {now, mac, slot, true, is_pinned};
    return Outcome::kLearned;
  }

  std::vector<Set> sets_;
  std::size_t size_ = 0;
  base::Duration age_max_;
  std::uint64_t seed_;
};

}  // namespace splitnic::lan
