// Events in the order of time. Every kind of event comes a fixed time after its cause, so the
// events of one kind are in order as they are scheduled, and the next event is at the front of one
// of few queues: its cost does not grow with the fabric. At one time the kinds have an order.
// Deterministic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "fabric_emul/simulation/settings.h"

namespace splitnic::fabric::simulation {

struct SimCell {
  SimTime born{};                  // when it entered the queue of its node
  SimTime waits_since{};           // when it entered the buffer that it is in
  std::uint16_t from = 0, to = 0;  // nodes, by index
  std::uint16_t hops = 0;          // lines that it crossed
  std::uint8_t lane = 0;
};

enum class EventKind : std::uint8_t {
  kLineFree,    // the line has sent a cell
  kCredit,      // a switch has sent a cell out of an input
  kNodeCredit,  // a node has taken a cell
  kArrival,     // a switch may forward the cell
  kDelivery,    // the cell is at its node
  kOffer,       // `cell.from` offers its next cell
};
inline constexpr std::size_t kEventKinds = 6;

struct Event {
  SimTime at{};
  std::uint32_t line = 0;
  std::uint32_t life = 0;  // of the line: an event of an earlier life has lost what it carried
  SimCell cell{};
};

class Timeline {
 public:
  explicit Timeline(const std::array<SimTime, kEventKinds>& delays) : delays_(delays) {}

  // REQUIRES `now` not before that of an earlier call for this kind.
  void schedule(EventKind kind, SimTime now, const Event& event) {
    auto& queue = queues_[static_cast<std::size_t>(kind)];
    queue.push_back(event);
    queue.back().at = now + delays_[static_cast<std::size_t>(kind)];
  }

  // The kind of the next event. REQUIRES an event.
  EventKind next_kind() const {
    std::size_t best = 0;
    for (std::size_t kind = 1; kind < kEventKinds; ++kind) {
      if (time_of(kind) < time_of(best)) best = kind;
    }
    return static_cast<EventKind>(best);
  }
  // kEnd: there is none.
  static constexpr SimTime kEnd = SimTime::max();
  SimTime next_time() const { return time_of(static_cast<std::size_t>(next_kind())); }
  Event pop(EventKind kind) {
    auto& queue = queues_[static_cast<std::size_t>(kind)];
    const Event event = queue.front();
    queue.pop_front();
    return event;
  }
  // Events with a cell that is on a line.
  std::size_t cells() const {
    return queues_[static_cast<std::size_t>(EventKind::kArrival)].size() +
           queues_[static_cast<std::size_t>(EventKind::kDelivery)].size();
  }

 private:
  SimTime time_of(std::size_t kind) const {
    return queues_[kind].empty() ? kEnd : queues_[kind].front().at;
  }

  std::array<SimTime, kEventKinds> delays_;
  std::array<std::deque<Event>, kEventKinds> queues_;
};

}  // namespace splitnic::fabric::simulation
