// Keeps memory registered between I/Os [S003-01]: register_region() and deregister() with the
// meaning that they have at the adapter's table, which this one caches [S003-07].
// Registering memory within a cached entry is a hit and enters no kernel; deregistering ends one
// use, and the entry stays until it is evicted, collected, invalidated or flushed.
//
// Sharing: memory of one owner and one domain, with local rights only. Memory that
// a peer or a window may access is registered for one user and really ends with it: it cannot be
// reached after deregister(), nor more of it than was requested.
// - `start` given: entries with the same distance of `start` to the process address are shared, a
//   part of one is a hit, and neighbours are merged. own_start() gives starts that fit each other.
// - without: only entries that begin at the same byte, so that start_of() of the table is right.
//
// Invariants: cached entries of one group do not overlap; an entry in use is never ended, unless by
// flush(); an entry that grows, in range or rights, is another one with another handle, and the old
// one lives until its users are gone. Every hit looks at the table: ended there, it is registered
// again; made invalid there (quiesced), what overlaps it in its group is refused until it is valid
//
//
// Not seen: memory that goes away or changes its mapping, by munmap, free, mmap over it or the end
// of its process. The caller must call invalidate() before; until then the table would
// let the adapter touch it. Regions made here are pinned.
//
// Thread: the data thread of the adapter. Nothing blocks but the seams; they may call
// invalidate() for other memory.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/strong_id.h"
#include "fabric_emul/regcache/memory_lock.h"
#include "fabric_emul/verbs/adapter.h"

namespace splitnic::fabric {

// For whom memory is registered: for example a process. 0 is the host module itself.
using OwnerId = base::StrongId<struct OwnerTag, std::uint64_t>;

enum class RegistrationStatus : std::uint8_t {
  kCached,   // requests within it are hits
  kLeaving,  // no request finds it; it ends with its last user
  kStopped,  // the same, and its memory is gone: the adapter refuses every access
};

// An entry of the cache [S003-02].
struct Registration {
  std::uint64_t number = 0;  // counts up, never given twice
  OwnerId owner;
  PdId pd;
  base::MutableBytes memory;
  VirtualAddress start;    // where the adapter sees memory[0]
  bool is_placed = false;  // the caller chose `start`
  std::uint8_t rights = 0;
  MemoryHandle handle;  // with the instance
  RegistrationStatus status = RegistrationStatus::kCached;
  bool is_locked = false;
  std::uint32_t users = 0;
  std::uint64_t uses = 0;    // requests in this round of collection
  std::uint32_t rounds = 0;  // that it has lived through
  base::Time last_used{};
};

// Of cached entries. Those in use may exceed them; of the idle ones the least recently used goes.
struct CacheLimits {
  std::size_t entries = 1024;
  std::uint64_t bytes = std::uint64_t{64} << 20;
};

class RegistrationCache {
 public:
  using Exists = std::function<bool(base::Bytes)>;
  using IsStale = std::function<bool(const Registration&)>;

  // `table`, `lock` and `random` must outlive it. `exists` returns whether all of a range is
  // mapped (memory_exists); it is called before memory is registered.
  RegistrationCache(Mrwt& table, MemoryLock& lock, Exists exists, base::Random& random,
                    const CacheLimits& limits = {});
  ~RegistrationCache();  // ends all entries
  RegistrationCache(const RegistrationCache&) = delete;
  RegistrationCache& operator=(const RegistrationCache&) = delete;

  // As RegionRegistrar::register_region(). The memory that the handle reaches may begin before and
  // end behind `memory`, where `start` is given.
  base::Result<MemoryHandle> register_region(PdId pd, base::MutableBytes memory,
                                             std::uint8_t rights,
                                             std::optional<VirtualAddress> start = {},
                                             OwnerId owner = {});
  // Ends one use. A handle that is not the cache's goes to the table.
  base::Status deregister(MemoryHandle region);
  // A start for memory that is to share entries: the process address, moved by a random distance
  // that is the same for all memory.
  VirtualAddress own_start(base::Bytes memory) const;

  // The memory is freed, unmapped or used for something else: entries that touch it end at once if
  // idle; in use they are stopped, and end with their last user. Looks at every entry.
  void invalidate(base::Bytes memory);
  // A real deregistration, used or not.
  base::Status flush(MemoryHandle region);
  void flush_all();

  // Ends the stale entries that are idle; no request finds the others any more. Returns how many
  // those were, and begins a new round of counting uses.
  std::size_t collect(const IsStale& is_stale);
  // The time of the requests that follow.
  void set_time(base::Time now) { now_ = now; }

  std::size_t size() const { return by_handle_.size(); }  // entries of all kinds
  std::uint64_t cached_bytes() const { return bytes_; }
  void visit(const std::function<void(const Registration&)>& visitor) const;
  const base::Counters<RegCounter>& counters() const { return counters_; }
  void visit_counters(const base::CounterVisitor& visitor) const { counters_.visit(visitor); }

 private:
  // Entries of one group can serve each other's requests: they differ in `begin` only.
  struct Place {
    OwnerId owner;
    PdId pd;
    bool is_placed;
    std::uint64_t origin;  // placed: of the distance to the process address; else the address
    std::uintptr_t begin;
    friend auto operator<=>(const Place&, const Place&) = default;
    bool same_group(const Place& other) const {
      return owner == other.owner && pd == other.pd && is_placed == other.is_placed &&
             origin == other.origin;
    }
  };
  using Entries = std::list<Registration>;
  using Entry = Entries::iterator;
  using Cached = std::map<Place, Entry>;
  enum class TableState { kLive, kQuiesced, kDead };
  // A wider entry that is being made: the seam may call back, and report that some of it is gone.
  struct Growing {
    base::Bytes memory;
    bool is_stale = false;
    Growing* outer = nullptr;
  };

  static Place place_of(const Registration& entry);
  Cached::const_iterator first_in(Place group, std::uintptr_t begin, std::uintptr_t end) const;
  std::optional<Entry> find(const Registration& wanted) const;
  bool overlaps_quiesced(const Registration& wanted) const;
  Registration merged(const Registration& wanted) const;
  base::Result<MemoryHandle> make(Registration entry);
  base::Result<MemoryHandle> add_to_table(const Registration& entry);
  void make_place(const Registration& entry);
  MemoryHandle use(Entry entry);
  void leave(Entry entry);
  void retire(Entry entry);
  void stop(Entry entry);
  void unlock(Entry entry);
  void evict();
  void trim();
  TableState state_in_table(const Registration& entry) const;
  std::vector<MemoryHandle> handles_where(const IsStale& chosen) const;

  Mrwt& table_;
  base::Counters<RegCounter> counters_;
  LockedPages pages_;
  Exists exists_;
  CacheLimits limits_;
  std::uint64_t distance_;  // of own_start()
  base::Time now_{};
  std::uint64_t last_number_ = 0;
  std::uint64_t bytes_ = 0;     // of cached entries
  Entries idle_;                // cached, used last at the back
  Entries busy_;                // cached
  Entries leaving_;             // the others
  Growing* growing_ = nullptr;  // the innermost
  Cached cached_;
  std::unordered_map<MemoryHandle, Entry> by_handle_;
};

}  // namespace splitnic::fabric
