#include "conformance/cases/time_out.h"

#include <algorithm>

#include "conformance/cells.h"
#include "conformance/messages.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kLateAck = 100ms;  // longer than a wait for a processor
constexpr int kLateAcks = 40;
constexpr int kAttempts = 4;

bool take_flits(End& h) {
  h.lanes().behave();
  h.lanes().acknowledges = false;
  const auto context = h.next_context();
  send_message(h, echo_message(context, 8));
  return await_echo(h, context);
}

}  // namespace

Withheld acks_of_cells(End& h) {
  return {.take = [&h] { return take_unacknowledged(h); },
          .acknowledge = [&h] { acknowledge(h); },
          .came_again = [&h] { return !h.inbox().retransmitted().empty(); }};
}

Withheld acks_of_flits(End& h) {
  return {.take = [&h] { return take_flits(h); },
          .acknowledge =
              [&h] {
                h.lanes().acknowledges = true;
                h.send_lanes();
              },
          .came_again =
              [&h] { return std::ranges::any_of(h.lanes().arrived(), &ArrivedFlit::is_repeated); }};
}

bool take_unacknowledged(End& h) {
  h.habits.acknowledges = false;
  h.inbox().forget();
  const auto context = h.next_context();
  send_message(h, echo_message(context, 8));
  return await_echo(h, context);
}

void acknowledge(End& h, unsigned channel) {
  const Channel& c = h.channel(channel);
  const bool is_between = c.expected_csn == 0;  // two packets
  send_ack(h, channel, fabric::Op::kAck, ack_of(h, channel),
           c.expected_psn - (is_between ? 1U : 0U),
           static_cast<std::uint16_t>(is_between ? 0 : c.expected_csn - 1));
}

bool await_echo(End& h, messaging::TransactionContext context, std::string_view expected) {
  return h
      .await_if(
          [context](const Event& e) {
            return e.kind == EventKind::kMessage && e.message.context == context;
          },
          expected, kLongWait)
      .has_value();
}

std::optional<base::Duration> await_again(End& h, const Withheld& what) {
  const base::Time at = h.now();
  while (h.is_good() && !what.came_again() && h.now() < at + kLongWait) h.listen(kMoment);
  if (!h.expect(what.came_again(), "a retransmission")) return std::nullopt;
  return h.now() - at;
}

// A reply that came once more gives the target no measurement.
std::optional<base::Duration> lengthen_time_out(End& h, const Withheld& what) {
  base::Duration delay = kMoment;
  for (int i = 0, long_ones = 0; i < kLateAcks && long_ones < 2; ++i) {
    if (!what.take()) return std::nullopt;
    h.listen(delay);
    const bool came_again = what.came_again();
    what.acknowledge();
    h.listen(kMoment);
    if (!came_again && delay >= kLateAck) ++long_ones;
    delay = came_again ? std::max<base::Duration>(delay * 2 / 3, kMoment)
                       : std::min<base::Duration>(delay * 3 / 2, kLateAck);
  }
  if (!what.take()) return std::nullopt;
  const auto time_out = await_again(h, what);
  what.acknowledge();
  return time_out;
}

void expect_soon(End& h, base::Duration time_out,
                 const std::function<std::optional<base::Duration>()>& attempt) {
  if (time_out < kTimeOutMin) return h.outcome().skip("the target retransmits too soon");
  bool is_soon = false;
  for (int i = 0; i < kAttempts && h.is_good() && !is_soon; ++i) {
    const auto took = attempt();
    is_soon = took && 2 * *took < time_out;
  }
  h.expect(is_soon, "a retransmission within half of the time-out");
}

}  // namespace splitnic::conformance
