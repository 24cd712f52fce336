// The time-out of the target as a sender. A case lengthens it by late acknowledgements: then what
// the target retransmits on request differs from what it retransmits at its time-out.
// docs/protocol/transport.md#clauses-of-rc, docs/protocol/flit.md#full-profile
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "conformance/cases/parts.h"

namespace splitnic::conformance {

// A time-out that a repetition at once is not mistaken for.
inline constexpr base::Duration kTimeOutMin = std::chrono::milliseconds(60);
inline constexpr base::Duration kMoment = std::chrono::milliseconds(1);  // between two looks
inline constexpr base::Duration kLongWait = std::chrono::seconds(3);     // more than any time-out

// The acknowledgements that a case withholds: of cells of channel 0, or of the flits of a link of
// the full profile.
struct Withheld {
  std::function<bool()> take{};         // a reply of the target, and does not acknowledge it
  std::function<void()> acknowledge{};  // all that has come
  std::function<bool()> came_again{};   // something, since take()
};
// The end outlives what these return.
Withheld acks_of_cells(End& end);
Withheld acks_of_flits(End& end);

// An ECHO whose reply has come and is not acknowledged yet.
bool take_unacknowledged(End& end);
// ACK of all cells of the channel that have come.
void acknowledge(End& end, unsigned channel = 0);
// The reply to ECHO. On a machine that is busy it may take longer than others have.
bool await_echo(End& end, messaging::TransactionContext context,
                std::string_view expected = "a reply to ECHO");

// Until something comes once more: how long that took.
std::optional<base::Duration> await_again(End& end, const Withheld& what);
// Late acknowledgements lengthen the round trip that the target measures, and with it its time-out.
// Returns the time-out, as a reply without acknowledgement shows it.
std::optional<base::Duration> lengthen_time_out(End& end, const Withheld& what);
// `attempt` returns how long it took until something came once more that had to come at once;
// nothing if that does not count. The best of some attempts must be within half of the time-out: a
// machine that is busy may need more than one. The case is skipped where the time-out is so short
// that this shows nothing.
void expect_soon(End& end, base::Duration time_out,
                 const std::function<std::optional<base::Duration>()>& attempt);

}  // namespace splitnic::conformance
