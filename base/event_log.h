// The newest events of a program. Whoever watches has a position in it and reads from there; one
// that is slow finds events gone that were there, and how many. A cause that has many events loses
// its own oldest ones before those of others go, so that a flood hides nothing else. Adding one
// takes the time of a line of the log and waits for no watcher. Thread: any. [H-4] docs/security.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/event.h"
#include "base/log_limit.h"

namespace splitnic::base {

inline constexpr std::size_t kEventsKept = 512;
inline constexpr std::size_t kEventTextBytesMax = 1024;  // a longer text is cut
// In each second, of one cause and of all (LogLimit). Hosts can attach 200 times per second, and
// whoever watches hears of each.
inline constexpr int kEventsPerCause = 256;
inline constexpr int kEventsInAll = 2048;

class EventLog {
 public:
  // REQUIRES capacity > 0.
  explicit EventLog(std::size_t capacity = kEventsKept) : capacity_(capacity) {}
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // Gives the event its number, and calls those who wait. If there is no room, the oldest event
  // goes: of all, or of the cause that has the most if these are more than its share.
  void add(Event event);

  // Of next().
  struct Part {
    std::vector<std::shared_ptr<const Event>> events{};
    std::uint64_t lost = 0;  // numbers in front of `next` whose events are gone
    std::uint64_t next = 0;  // the number to continue with
  };
  // Returns at most `most` events with this number or a later one, in their order.
  Part since(std::uint64_t number, std::size_t most) const;
  // Returns the number from which there are `count` events, or all if there are fewer.
  std::uint64_t newest(std::size_t count) const;
  // Returns the number of the next event.
  std::uint64_t next() const;

  // Calls `wake` once, as soon as there is an event with this number, in the thread that adds it;
  // if there is one already, in this call. Returns the id for forget().
  std::uint64_t wait_for(std::uint64_t number, std::function<void()> wake);
  // A `wake` that was not called yet is not called any more, but for one that another thread calls
  // right now.
  void forget(std::uint64_t id);

 private:
  // A cause has this part of the log for itself, and more while there is room.
  static constexpr std::size_t kSharesOfCauses = 64;

  struct Waiting {
    std::uint64_t number;
    std::function<void()> wake;
  };
  // REQUIRES the mutex, and several events.
  void make_room();

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::deque<std::shared_ptr<const Event>> kept_;  // by number, with gaps
  std::map<LogCause, std::size_t> count_of_;       // in kept_, of the causes that are there
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Waiting> waiting_;
  std::uint64_t next_id_ = 1;
};

// The events of this process: log.h adds them.
EventLog& events();

}  // namespace splitnic::base
