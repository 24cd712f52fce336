#include "fabric_emul/simulation/simulator.h"

#include <algorithm>
#include <string>
#include <utility>

#include "fabric_emul/simulation/deadlock.h"

namespace splitnic::fabric::simulation {
namespace {

// By the kind of the event.
std::array<SimTime, kEventKinds> delays_of(const Settings& settings, const Workload& workload) {
  const SimTime cell = settings.cell_time();
  return {cell,
          cell + settings.cable_delay,
          settings.cable_delay,
          settings.cable_delay + settings.header_time() + settings.switch_delay,
          settings.cable_delay + cell,
          cell * 100 / workload.load_percent};
}

// A search costs as much as a few steps for each buffer.
constexpr std::uint64_t kStepsPerCheckMin = 4096;
constexpr std::uint64_t kStepsPerBuffer = 4;

}  // namespace

Simulator::Simulator(const Topology& topology, const Settings& settings, const Routing& routing,
                     const Workload& workload)
    : settings_(settings),
      routing_(routing),
      workload_(workload),
      model_(topology, settings),
      events_(delays_of(settings, workload)),
      steps_per_check_(std::max(kStepsPerCheckMin, kStepsPerBuffer * model_.buffers.size())),
      // No way without a circle is longer; tables may change while a cell is on its way.
      hops_max_(static_cast<std::uint32_t>(2 * (model_.switches + 1))),
      // One that has crossed more is dropped before it crosses the next line.
      latency_by_hops_(std::size_t{hops_max_} + 2) {
  report_.switches = topology.switches.size();
  report_.nodes = topology.nodes.size();
  report_.cables = topology.cables.size();
}

base::Result<std::unique_ptr<Simulator>> Simulator::make(const Topology& topology,
                                                         const Settings& settings,
                                                         const Routing& routing,
                                                         const Workload& workload,
                                                         std::uint64_t seed) {
  if (topology.nodes.size() < 2) return base::Error("there are fewer than two nodes");
  const std::uint64_t lines = 2 * (topology.cables.size() + topology.nodes.size());
  if (lines * settings.lanes_of_line() * settings.buffer_cells > kCellsMax) {
    return base::Error("the buffers of all inputs would hold more than " +
                       std::to_string(kCellsMax) + " cells: take fewer lanes or smaller buffers");
  }
  std::unique_ptr<Simulator> made(new Simulator(topology, settings, routing, workload));
  made->random_ = std::make_unique<base::SeededRandom>(seed);
  auto destinations = Destinations::make(workload, topology.nodes.size(), *made->random_);
  if (!destinations) return destinations.error();
  made->destinations_ = std::make_unique<Destinations>(*std::move(destinations));
  if (auto computed = made->compute_tables(); !computed) return computed.error();
  return made;
}

Report Simulator::run(SimTime duration) {
  duration_ = duration;
  report_.duration = duration;
  start_senders();
  for (bool stands_still = false; !stands_still;) {
    const SimTime next = events_.next_time();
    if (!changes_.empty() && changes_.begin()->first <= next) {
      const auto change = changes_.extract(changes_.begin());
      now_ = change.key();
      apply(change.mapped());
    } else if (next != Timeline::kEnd) {
      step();
      if (++steps_ % steps_per_check_ == 0) stands_still = has_deadlock();
    } else {
      has_deadlock();
      stands_still = true;
    }
  }
  fill_report();
  return std::move(report_);
}

void Simulator::start_senders() {
  const SimTime interval = settings_.cell_time() * 100 / workload_.load_percent;
  std::vector<std::pair<SimTime, std::uint16_t>> starts;
  for (std::size_t i = 0; i < report_.nodes; ++i) {
    const auto node = static_cast<std::uint16_t>(i);
    if (!destinations_->sends(node)) continue;
    const auto phase = random_->below(static_cast<std::uint64_t>(interval.count()));
    starts.emplace_back(SimTime(static_cast<std::int64_t>(phase)), node);
  }
  report_.senders = starts.size();
  std::ranges::sort(starts);
  for (const auto& [phase, node] : starts) {
    Event offer;
    offer.cell.from = node;
    // The queue adds the interval.
    events_.schedule(EventKind::kOffer, phase - interval, offer);
  }
}

void Simulator::step() {
  const EventKind kind = events_.next_kind();
  const Event event = events_.pop(kind);
  now_ = event.at;
  switch (kind) {
    case EventKind::kOffer:
      return on_offer(event);
    case EventKind::kLineFree:
      return on_line_free(event);
    case EventKind::kCredit:
    case EventKind::kNodeCredit:
      return on_credit(event);
    case EventKind::kArrival:
      return on_arrival(event);
    case EventKind::kDelivery:
      return on_delivery(event);
  }
}

void Simulator::on_offer(const Event& event) {
  if (now_ >= duration_) return;
  SimCell cell{.born = now_, .from = event.cell.from};
  cell.to = destinations_->next(cell.from);
  const int of_flow = (cell.from + cell.to) % settings_.lanes;
  cell.lane = static_cast<std::uint8_t>(settings_.layers_lanes ? of_flow * kLaneLayers : of_flow);
  ++report_.offered;
  const std::uint32_t queue = model_.queue_of(cell.from, cell.lane);
  InputBuffer& buffer = model_.buffers[queue];
  if (buffer.is_full()) {
    ++report_.withheld;
  } else {
    ++report_.sent;
    buffer.push(cell, now_);
    if (buffer.count == 1 && !buffer.is_sending) request(queue);
  }
  events_.schedule(EventKind::kOffer, now_, event);
}

void Simulator::on_line_free(const Event& event) {
  Line& line = model_.lines[event.line];
  if (line.life != event.life) return;
  const std::uint32_t sender = std::exchange(line.sends_from, kNone);
  model_.buffers[sender].is_sending = false;
  request(sender);
  serve(event.line);
}

void Simulator::on_credit(const Event& event) {
  const Line& line = model_.lines[event.line];
  if (line.life != event.life) return;
  ++model_.outputs[line.first_lane + event.cell.lane].credits;
  serve(event.line);
}

void Simulator::on_arrival(const Event& event) {
  const Line& line = model_.lines[event.line];
  if (line.life != event.life) {
    ++report_.lost.on_cable;
    return;
  }
  const std::uint32_t at = line.first_buffer + event.cell.lane;
  InputBuffer& buffer = model_.buffers[at];
  buffer.push(event.cell, now_);
  if (buffer.count == 1 && !buffer.is_sending) request(at);
}

void Simulator::on_delivery(const Event& event) {
  if (model_.lines[event.line].life != event.life) {
    ++report_.lost.on_cable;
    return;
  }
  ++report_.delivered;
  if (now_ <= duration_) ++report_.delivered_in_time;
  report_.delivered_hops += event.cell.hops;
  const SimTime latency = now_ - event.cell.born;
  report_.latency.add(latency);
  LatencySum& of_hops = latency_by_hops_[event.cell.hops];
  ++of_hops.cells;
  of_hops.picoseconds += static_cast<double>(latency.count());
  events_.schedule(EventKind::kNodeCredit, now_, event);
}

// The line that the first cell needs; kNone: there is no route.
std::uint32_t Simulator::route(const InputBuffer& buffer) const {
  if (!model_.is_switch(buffer.vertex)) return model_.line_at(buffer.vertex, 0);
  const Lid to = model_.node_lids[buffer.front().to];
  const std::uint8_t input = model_.lines[buffer.fed_by].to_port;
  const std::uint8_t port = tables_[buffer.vertex].port_of(to, input);
  return port == 0 ? kNone : model_.line_at(buffer.vertex, port);
}

// Has the first cell of a buffer wait for its line; cells without a route are dropped.
void Simulator::request(std::uint32_t buffer) {
  InputBuffer& from = model_.buffers[buffer];
  for (; from.count > 0; return_credit(from)) {
    const bool circulates = from.front().hops > hops_max_;
    const std::uint32_t to = circulates ? kNone : route(from);
    if (to != kNone) {
      Line& line = model_.lines[to];
      from.waits_for = to;
      from.waits_for_lane = model_.lane_on(line, from);
      OutputLane& lane = model_.outputs[line.first_lane + from.waits_for_lane];
      from.next_waiting = kNone;
      if (lane.first_waiting == kNone) {
        lane.first_waiting = buffer;
      } else {
        model_.buffers[lane.last_waiting].next_waiting = buffer;
      }
      lane.last_waiting = buffer;
      return serve(to);
    }
    ++(circulates ? report_.lost.hop_limit : report_.lost.no_route);
    from.pop();
  }
}

// A place in the buffer is free again.
void Simulator::return_credit(const InputBuffer& buffer) {
  if (buffer.fed_by == kNone) return;
  Event credit{.line = buffer.fed_by, .life = model_.lines[buffer.fed_by].life};
  credit.cell.lane = buffer.lane;
  events_.schedule(EventKind::kCredit, now_, credit);
}

void Simulator::serve(std::uint32_t number) {
  Line& line = model_.lines[number];
  if (line.sends_from != kNone || !line.is_up) return;
  const std::uint32_t buffer = take_waiting(line);
  if (buffer != kNone) send(number, buffer);
}

// The buffer that may send next, removed from those that wait.
std::uint32_t Simulator::take_waiting(Line& line) {
  for (std::size_t i = 0; i < model_.lanes; ++i) {
    const std::size_t number = (line.next_lane + i) % model_.lanes;
    OutputLane& lane = model_.outputs[line.first_lane + number];
    if (lane.first_waiting == kNone || lane.credits == 0) continue;
    line.next_lane = static_cast<std::uint8_t>((number + 1) % model_.lanes);
    const std::uint32_t buffer = lane.first_waiting;
    lane.first_waiting = model_.buffers[buffer].next_waiting;
    --lane.credits;
    return buffer;
  }
  return kNone;
}

void Simulator::send(std::uint32_t number, std::uint32_t buffer) {
  Line& line = model_.lines[number];
  InputBuffer& from = model_.buffers[buffer];
  Event event{.line = number, .life = line.life, .cell = from.pop()};
  event.cell.lane = from.waits_for_lane;
  from.waits_for = kNone;
  from.is_sending = true;
  line.sends_from = buffer;
  ++event.cell.hops;
  ++report_.cell_hops;
  if (now_ < duration_) {
    ++line.cells;
    line.waits.add(now_ - event.cell.waits_since);
  }
  return_credit(from);
  events_.schedule(EventKind::kLineFree, now_, event);
  events_.schedule(line.to_node ? EventKind::kDelivery : EventKind::kArrival, now_, event);
}

bool Simulator::has_deadlock() {
  for (const std::uint32_t at : find_deadlock(model_)) {
    const InputBuffer& buffer = model_.buffers[at];
    const Line& line = model_.lines[buffer.fed_by];
    report_.deadlock.push_back(model_.name_of(buffer.vertex, line.to_port) +
                               (model_.lanes == 1 ? "" : " lane " + std::to_string(buffer.lane)));
    report_.deadlock_at = now_;
  }
  return !report_.deadlock.empty();
}

}  // namespace splitnic::fabric::simulation
