#include "fabric_emul/simulation/deadlock.h"

#include <cstddef>

namespace splitnic::fabric::simulation {
namespace {

// The full buffer in which the first cell of this one needs room; kNone: it waits for no such
// thing.
std::uint32_t waits_for_room_in(const Model& model, const InputBuffer& buffer) {
  if (buffer.count == 0 || buffer.waits_for == kNone) return kNone;
  const Line& line = model.lines[buffer.waits_for];
  if (!line.is_up || line.to_node) return kNone;
  const std::uint32_t next = line.first_buffer + buffer.waits_for_lane;
  return model.buffers[next].is_full() ? next : kNone;
}

}  // namespace

std::vector<std::uint32_t> find_deadlock(const Model& model) {
  // Each buffer waits for one other at most: walk from each that no earlier walk has seen.
  std::vector<std::uint32_t> seen_by(model.buffers.size(), kNone);
  for (std::uint32_t start = 0; start < model.buffers.size(); ++start) {
    std::uint32_t at = start;
    while (at != kNone && seen_by[at] == kNone) {
      seen_by[at] = start;
      at = waits_for_room_in(model, model.buffers[at]);
    }
    if (at == kNone || seen_by[at] != start) continue;
    std::vector<std::uint32_t> circle{at};
    for (std::uint32_t next = waits_for_room_in(model, model.buffers[at]); next != at;
         next = waits_for_room_in(model, model.buffers[next])) {
      circle.push_back(next);
    }
    return circle;
  }
  return {};
}

}  // namespace splitnic::fabric::simulation
