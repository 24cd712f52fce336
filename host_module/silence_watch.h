// Finds out by probes that the path in use is silent, where another path to the same I/O unit could
// take over: 140 ms after the unit was heard last, while keep-alives alone show it after 600 ms.
//
// Only while traffic is outstanding: a path that was not heard for kQuietMax is probed, and when
// it has no reply the other one is probed, too, every kRound. A round is missed if the unit replied
// over the other path and not over the one in use, so that a host or a unit which waits for a
// processor decides nothing. Missed rounds count from the beginning once more when the host comes
// late for one: then the machine is busy, and a switch on it may be late as well. A path that is
// slow to reply gets rounds for twice that time, and one that is heard soon after it was left had
// paused: twice as many rounds are needed for kCalmAfter, which is longer than the usual time of
// --failback, so that such a path is not left once more whenever the host has come back to it.
// Pure: facts and time come in. Thread: its owner.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace splitnic::host {

class SilenceWatch {
 public:
  static constexpr base::Duration kQuietMax = std::chrono::milliseconds(40);
  static constexpr base::Duration kRound = std::chrono::milliseconds(25);
  static constexpr base::Duration kLate = std::chrono::milliseconds(15);
  static constexpr base::Duration kPauseMax = std::chrono::milliseconds(400);
  static constexpr base::Duration kCalmAfter = std::chrono::minutes(10);
  static constexpr base::Duration kReplyPeriod = std::chrono::minutes(1);
  // Missed rounds that show silence. Keep-alives are faster than kMissedMax.
  static constexpr unsigned kMissedMin = 3;
  static constexpr unsigned kMissedMax = 24;

  enum class Step : std::uint8_t {
    kNone,
    kProbe,      // the path in use
    kProbeBoth,  // the other one, too
    kSilent,     // the other one is to take over
  };

  struct Facts {
    base::Time heard{};                       // when the path in use was heard last
    std::optional<base::Time> other_heard{};  // the one that would take over; none: there is none
    bool has_traffic = false;
  };

  // Returns the step to take now. As often as is convenient, and at deadline().
  Step step(const Facts& facts, base::Time now);
  // Another path is in use, or the one in use is known to be gone.
  void restart();
  // A path that was left as silent at `left_at` is heard. Returns whether it had only paused.
  bool on_return(base::Time left_at, base::Time heard);
  base::Time deadline() const { return due_; }

 private:
  void note_reply(base::Time heard);
  void expire(base::Time now);
  unsigned rounds_needed() const;

  base::Time heard_{};
  base::Time due_ = base::kNever;
  unsigned probes_ = 0;  // of the path in use, since it was heard
  base::Time first_probe_at_{};
  base::Time last_probe_at_{};
  unsigned missed_ = 0;  // rounds
  unsigned rounds_ = kMissedMin;
  base::Time calm_at_ = base::kNever;  // then rounds_ is kMissedMin
  // The longest time from a first probe to a sign of life, in this period and the one before it.
  base::Duration reply_time_{};
  base::Duration reply_time_of_period_{};  // in this one
  base::Time period_end_ = base::kNever;   // of kReplyPeriod; never: there was no such time
};

}  // namespace splitnic::host
