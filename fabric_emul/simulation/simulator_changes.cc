// Failures, repairs and new tables of a simulation, and its report.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "fabric_emul/simulation/simulator.h"

namespace splitnic::fabric::simulation {

base::Status Simulator::add_change(const Change& change) {
  const auto begin = model_.names.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(model_.switches);
  const auto found = std::find(begin, end, change.of_switch);
  if (found == end) return base::Error("there is no switch " + change.of_switch);
  const auto vertex = static_cast<std::uint32_t>(found - begin);
  Pending pending{.is_repair = change.is_repair};
  if (change.port == 0) {
    pending.vertex = vertex;
  } else {
    const std::uint32_t line =
        change.port > kSwitchPortsMax ? kNone : model_.line_at(vertex, change.port);
    if (line == kNone) {
      return base::Error("nothing is at port " + std::to_string(change.port) + " of " +
                         change.of_switch);
    }
    pending.lines = {line, line ^ 1U};  // a cable's lines are neighbours
  }
  changes_.emplace(change.at, std::move(pending));
  return {};
}

base::Status Simulator::compute_tables() {
  auto tables = routing_.tables(model_.graph());
  if (!tables) return tables.error();
  tables_ = *std::move(tables);
  return {};
}

// As routes_of() of a subnet manager: what is left may be no longer what the routing is for.
void Simulator::compute_tables_of_rest() {
  if (compute_tables()) return;
  const TablesPer per = tables_.front().per();
  tables_ = make_routing(RoutingKind::kUpDown, per)->tables(model_.graph()).value();
}

void Simulator::apply(const Pending& change) {
  if (change.is_new_tables) {
    compute_tables_of_rest();
    return restart_waiting();
  }
  if (change.vertex != kNone) model_.is_vertex_up[change.vertex] = change.is_repair;
  for (const std::uint32_t line : change.lines) model_.lines[line].is_cut = !change.is_repair;
  for (std::uint32_t line = 0; line < model_.lines.size(); ++line) set_line(line);
  if (change.vertex != kNone && !change.is_repair) empty_switch(change.vertex);
  changes_.emplace(now_ + settings_.reroute_delay, Pending{.is_new_tables = true});
}

void Simulator::set_line(std::uint32_t number) {
  Line& line = model_.lines[number];
  const bool is_up = !line.is_cut && model_.is_vertex_up[line.from] && model_.is_vertex_up[line.to];
  if (is_up == line.is_up) return;
  line.is_up = is_up;
  end_life(number);
}

// Cells in flight on the line are lost when they would arrive, and so are its credits. Cells that
// arrived before wait in their buffer, and have no credit until they leave.
void Simulator::end_life(std::uint32_t number) {
  Line& line = model_.lines[number];
  ++line.life;
  const std::uint32_t sender = std::exchange(line.sends_from, kNone);
  for (std::uint32_t lane = 0; lane < model_.lanes; ++lane) {
    const std::uint32_t waiting = line.to_node ? 0 : model_.buffers[line.first_buffer + lane].count;
    model_.outputs[line.first_lane + lane].credits = settings_.buffer_cells - waiting;
  }
  if (sender != kNone) {
    model_.buffers[sender].is_sending = false;
    request(sender);
  }
  serve(number);
}

void Simulator::empty_switch(std::uint32_t vertex) {
  for (InputBuffer& buffer : model_.buffers) {
    if (buffer.vertex != vertex) continue;
    report_.lost.in_switch += buffer.count;
    buffer.first = buffer.count = 0;
  }
  restart_waiting();
}

// Everything that waits requests the line that the tables name now.
void Simulator::restart_waiting() {
  for (OutputLane& lane : model_.outputs) lane.first_waiting = kNone;
  for (InputBuffer& buffer : model_.buffers) buffer.waits_for = kNone;
  for (std::uint32_t at = 0; at < model_.buffers.size(); ++at) {
    if (!model_.buffers[at].is_sending) request(at);
  }
}

void Simulator::fill_report() {
  report_.ended = now_;
  report_.in_flight = events_.cells();
  for (const InputBuffer& buffer : model_.buffers) report_.in_flight += buffer.count;
  const double seconds = std::chrono::duration<double>(duration_).count();
  const double cell_bits = static_cast<double>(settings_.cell_bytes) * 8;
  report_.bits_per_second = static_cast<double>(report_.delivered_in_time) * cell_bits / seconds;
  report_.line_bits_per_second = static_cast<double>(settings_.bits_per_second);
  const double cells_max =
      static_cast<double>(duration_.count()) / static_cast<double>(settings_.cell_time().count());
  for (const Line& line : model_.lines) {
    const auto cells = static_cast<double>(line.cells);
    report_.lines.push_back(
        {.from = model_.name_of(line.from, line.from_port),
         .to = model_.name_of(line.to, line.to_port),
         .cells = line.cells,
         .utilisation = std::min(1.0, cells / cells_max),
         .wait_mean_picoseconds = line.cells == 0 ? 0 : line.waits.sum_picoseconds / cells,
         .wait_longest = line.waits.longest,
         .is_up = line.is_up});
  }
  for (std::uint32_t hops = 0; hops < latency_by_hops_.size(); ++hops) {
    const LatencySum& sum = latency_by_hops_[hops];
    if (sum.cells == 0) continue;
    report_.latency_by_hops.push_back(
        {hops, sum.cells, sum.picoseconds / static_cast<double>(sum.cells)});
  }
}

}  // namespace splitnic::fabric::simulation
