// Waiting of the suite's end: the events that have arrived, and what a host does in the meantime.
#include <algorithm>

#include "conformance/end.h"
#include "fabric_emul/wire/flit.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kEventsMax = 4096;  // more are a flood
constexpr std::size_t kBytesMax = 4 << 20;
constexpr base::Duration kIdleEvery = 200ms;

}  // namespace

void End::queue(const Event& event) {
  last_ = text_of(event);
  if (events_.size() == kEventsMax) outcome_.fail("a target that does not flood", last_);
  events_.push_back(event);
}

void End::forget_cells() {
  std::erase_if(events_, [](const Event& e) { return e.kind != EventKind::kInit; });
}

std::size_t End::waiting(EventKind kind) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(events_, [kind](const Event& e) { return e.kind == kind; }));
}

bool End::has_message(messaging::TransactionContext context) const {
  return std::ranges::any_of(events_, [context](const Event& e) {
    return e.kind == EventKind::kMessage && e.message.context == context;
  });
}

base::Time End::idle_at() const {
  if (!is_linked_ || !keeps_alive || !is_good()) return base::kNever;
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
  kept_bytes_ += datagram->size();
  kept_.push_back(*std::move(datagram));
  const std::size_t events = events_.size();
  const std::size_t kept = kept_.size();
  take_datagram(kept_.back());
  if (keeps_alive) send_lanes();
  if (events_.size() == events && kept_.size() == kept && is_good()) {
    kept_bytes_ -= kept_.back().size();  // nothing points into it
    kept_.pop_back();
  }
  if (kept_bytes_ > kBytesMax) outcome_.fail("a target that does not flood", last_);
  return now() < until || !events_.empty();
}

std::optional<Event> End::await_if(const std::function<bool(const Event&)>& suits,
                                   std::string_view expected, base::Duration at_least) {
  return await_until(suits, now() + std::max(config_.timeout, at_least), expected);
}

std::optional<Event> End::await_until(const std::function<bool(const Event&)>& suits,
                                      base::Time until, std::string_view expected) {
  while (is_good()) {
    const auto found = std::ranges::find_if(events_, suits);
    if (found != events_.end()) {
      Event event = *found;
      events_.erase(found);
      last_ = text_of(event);
      return event;
    }
    if (now() >= until || !pump(until)) break;
  }
  if (is_good() && !expected.empty()) {
    const std::string last = last_ == "nothing" ? "nothing" : "nothing more; before: " + last_;
    outcome_.miss(std::string(expected), last);
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
