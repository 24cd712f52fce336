// Waiting of the suite's end: the events that have arrived, and what a host does in the meantime.
#include <algorithm>

#include "conformance/end.h"
#include "fabric_emul/wire/flit.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kIdleEvery = 200ms;

}  // namespace

bool End::expect(bool is_met, std::string_view expected) {
  if (!is_met) outcome_.miss(std::string(expected), inbox_.last());
  return is_good();
}

bool End::rule(bool is_kept, std::string_view what) {
  if (!is_kept) outcome_.fail(std::string(what), "another one; before: " + inbox_.last());
  return is_good();
}

base::Time End::idle_at() const {
  if (!is_linked_ || !habits.keeps_alive || !is_good()) return base::kNever;
  return line_.lanes().is_open() ? line_.lanes().deadline() : line_.last_sent() + kIdleEvery;
}

// A host that is silent for too long may get nothing but INIT.
void End::keep_alive() {
  if (now() < idle_at()) return;
  if (line_.lanes().is_open()) return send_lanes();
  send_flit(
      {.type = fabric::FlitType::kIdle, .vl = fabric::kMgmtLane, .ctl = fabric::kFlitHeaderCrcOnly},
      {});
}

bool End::pump(base::Time until) {
  if (!is_good()) return false;
  if (now() >= until_) {
    outcome_.fail("an end of the case", "a target that sends all the time");
    return false;
  }
  std::optional<ByteVector> datagram;
  while (!datagram) {
    base::Time due = std::min(until, idle_at());
    for (const End* other : companions_) due = std::min(due, other->idle_at());
    datagram = line_.receive(due);
    keep_alive();
    for (End* other : companions_) other->keep_alive();
    if (!datagram && now() >= until) return false;
  }
  inbox_.keep_while(*std::move(datagram), [this](base::Bytes bytes) {
    take_datagram(bytes);
    if (habits.keeps_alive) send_lanes();
  });
  return now() < until || !inbox_.events().empty();
}

std::optional<Event> End::await(EventKind kind, std::string_view expected) {
  return await_if([kind](const Event& e) { return e.kind == kind; }, expected);
}

std::optional<Event> End::await_if(const std::function<bool(const Event&)>& suits,
                                   std::string_view expected, base::Duration at_least) {
  return await_until(suits, now() + std::max(config_.timeout, at_least), expected);
}

std::optional<Event> End::await_until(const std::function<bool(const Event&)>& suits,
                                      base::Time until, std::string_view expected) {
  while (is_good()) {
    if (auto event = inbox_.take(suits)) return event;
    if (now() >= until || !pump(until)) break;
  }
  if (is_good() && !expected.empty()) {
    const std::string& last = inbox_.last();
    outcome_.miss(std::string(expected),
                  last == "nothing" ? last : "nothing more; before: " + last);
  }
  return std::nullopt;
}

void End::listen(base::Duration span) {
  const base::Time until = now() + span;
  while (now() < until && is_good()) {
    if (!pump(until) && now() < until) return;
  }
}

}  // namespace splitnic::conformance
