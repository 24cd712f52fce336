// Decides which quiescable regions are in memory: one arbitrator for all consumers that share the
// adapter [S004-17]. A region goes out in these steps: its quiesce bit is set; its consumer has
// no I/O left; its entry is invalid; its bytes are kept; its frames are free for others. It comes
// back in the opposite order, in whatever frames are free: bytes, translation, valid bit, quiesce
// bit, and the consumer is woken. Key, entry and translation table stay its own all the while
// [S004-14, S004-15]. A window needs nothing: its region's valid bit counts [S004-16].
//
// Time comes in as an argument; nothing here waits. One thread owns it, the one that owns the
// table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "fabric_emul/mem/mrwt.h"
#include "fabric_emul/paging/arena.h"

namespace splitnic::fabric {

class SwapConsumer {
 public:
  virtual ~SwapConsumer() = default;
  // The region is in and its quiesce bit is off: what was queued may begin. May call the
  // arbitrator.
  virtual void on_awake(MemoryHandle region) = 0;
};

enum class SwapStep : std::uint8_t {
  kQuiesceSet,
  kQuiescent,
  kInvalid,
  kSaved,
  kFreed,
  kTaken,
  kRestored,
  kTranslated,
  kValid,
  kQuiesceReset,
  kWoken,
};

// Sees each step, after it was done. Must not call the arbitrator.
class SwapObserver {
 public:
  virtual ~SwapObserver() = default;
  virtual void on_step(MemoryHandle region, SwapStep step) = 0;
};

class SwapArbitrator {
 public:
  enum class State : std::uint8_t { kIn, kQuiescing, kOut };
  struct Expired {
    MemoryHandle region;
    base::Error error;
  };

  // All must outlive this; `observer` may be nullptr.
  SwapArbitrator(Mrwt& table, Arena& arena, SwapObserver* observer = nullptr)
      : table_(table), arena_(arena), observer_(observer) {}

  // Takes a region into its care. Refused: not quiescable [S004-09], a page that is no frame of
  // the arena, or one of a region that is here already. From now on the frames are the
  // arbitrator's to free; no pinned entry may name them. The consumer outlives its region's stay. A
  // region that is deregistered without forget() leaves its frames to its owner.
  base::Status adopt(MemoryHandle region, SwapConsumer& consumer);
  // Lets it go as it is: what is in stays in, what is out is lost.
  void forget(MemoryHandle region);

  // Asks for the region to go out. At once if nothing is outstanding, else when the consumer
  // reports it, else expire() gives it up at now + timeout [S004-13].
  base::Status request(MemoryHandle region, base::Time now, base::Duration timeout);
  // The consumer's call after its last I/O. Refused, nothing changed, if that is not so.
  base::Status quiesced(MemoryHandle region);
  // The consumer wants it: back as soon as there are frames, in the order of these calls; woken at
  // once if it is in [S004-15].
  base::Status interest(MemoryHandle region);
  // Brings back regions that are wanted while there are frames; returns how many. Called when
  // frames became free.
  std::size_t bring_back();
  // Regions whose consumer was not quiescent in time: each stays in, with its quiesce bit off, and
  // its consumer is woken.
  std::vector<Expired> expire(base::Time now);
  // Returns when expire() has something to do; kNever if nothing waits.
  base::Time deadline() const;

  // REQUIRES: an adopted region.
  State state(MemoryHandle region) const { return regions_.at(region).state; }

 private:
  struct Region {
    SwapConsumer* consumer = nullptr;
    State state = State::kIn;
    base::Time deadline = base::kNever;
    std::vector<const std::byte*> frames;  // while it is in
    std::vector<std::byte> saved;          // while it is out
    bool is_wanted = false;
  };

  base::Result<Region*> find(MemoryHandle region);
  void forget_deregistered();
  bool is_owned(const std::byte* frame) const;
  void swap_out(MemoryHandle handle, Region& region);
  void swap_in(MemoryHandle handle, Region& region);
  void wake(MemoryHandle handle, Region& region);
  void report(MemoryHandle region, SwapStep step) const {
    if (observer_ != nullptr) observer_->on_step(region, step);
  }

  Mrwt& table_;
  Arena& arena_;
  SwapObserver* observer_;
  std::map<MemoryHandle, Region> regions_;
  std::deque<MemoryHandle> wanted_;  // oldest first
};

}  // namespace splitnic::fabric
