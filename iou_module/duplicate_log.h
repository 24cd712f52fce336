// Limits the log lines about a host that is refused repeatedly, such as a second host with the same
// identity. A host that was killed and started again is refused for a moment, until the one before
// it is known to be dead; a copy of the machine stays and is refused several times per second.
// Plain. Thread: its owner. [B-02]
#pragma once

#include <map>

#include "base/clock.h"

namespace splitnic::iou {

class DuplicateLog {
 public:
  static constexpr base::Duration kAfter = std::chrono::seconds(1);
  static constexpr base::Duration kEvery = std::chrono::minutes(1);
  // Longer than a host waits between two attempts, also when some of them are lost.
  static constexpr base::Duration kGapMax = std::chrono::seconds(3);

  // A peer with the identity of `who`, which is attached, was refused, or `who` itself. Returns
  // true if that is to be logged. Entries are as many as links.
  bool note(const void* who, base::Time now) {
    std::erase_if(entries_, [now](const auto& e) { return now - e.second.last_at >= kEvery; });
    Entry& entry = entries_.try_emplace(who, Entry{now, now, base::Time{}}).first->second;
    if (now - entry.last_at > kGapMax) entry.first_at = now;
    entry.last_at = now;
    if (now - entry.first_at < kAfter || now < entry.silent_until) return false;
    entry.silent_until = now + kEvery;
    return true;
  }
  // The link of `who` is up, maybe of another process: the attempts before it may have been of
  // that.
  void on_link_up(const void* who) { entries_.erase(who); }

 private:
  struct Entry {
    base::Time first_at;  // of attempts without a gap
    base::Time last_at;
    base::Time silent_until;
  };
  std::map<const void*, Entry> entries_;
};

}  // namespace splitnic::iou
