// The edges of a state machine, as a table.
#pragma once

#include <optional>

namespace splitnic::base {

template <class State, class Event>
struct StateEdge {
  State from;
  Event event;
  State to;
};

// Returns the state behind the edge, or nullopt if the table has none for this state and event.
template <class Edges, class State, class Event>
constexpr std::optional<State> next_state(const Edges& edges, State state, Event event) {
  for (const StateEdge<State, Event>& edge : edges) {
    if (edge.from == state && edge.event == event) return edge.to;
  }
  return std::nullopt;
}

}  // namespace splitnic::base
