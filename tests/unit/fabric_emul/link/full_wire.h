// Two links of the full profile, and the wire between them, which may harm, mute and repeat.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "fabric_emul/link/full_profile/full_link.h"
#include "link_world.h"

namespace splitnic::fabric::full_wire {

using namespace link_world;

// Takes cells; releases their buffer at once or when the test does.
struct Sink final : CellSink {
  struct Got {
    std::uint8_t vl;
    std::vector<std::byte> cell;
    std::uint32_t blocks;
  };
  std::vector<Got> got;
  std::uint16_t holds = 0;  // lanes whose cells are kept
  std::vector<std::pair<std::uint8_t, std::uint32_t>> held;
  FullLink* link = nullptr;
  void on_cell(std::uint8_t vl, base::Bytes cell, std::uint32_t blocks) override {
    got.push_back({vl, {cell.begin(), cell.end()}, blocks});
    if ((holds >> vl & 1) != 0)
      held.emplace_back(vl, blocks);
    else
      link->release(vl, blocks);
  }
  void release_all() {
    holds = 0;
    for (const auto& [vl, blocks] : held) link->release(vl, blocks);
    held.clear();
  }
  std::size_t count(std::uint8_t vl) const {
    return static_cast<std::size_t>(
        std::count_if(got.begin(), got.end(), [vl](const Got& g) { return g.vl == vl; }));
  }
};

// Two ends and the wire between them, which may harm datagrams.
struct Wire {
  explicit Wire(const FullLinkConfig& config = {})
      : a(config, a_counters, a_sink), b(config, b_counters, b_sink) {
    a_sink.link = &a;
    b_sink.link = &b;
    a.start(clock.now());
    b.start(clock.now());
  }
  // Moves datagrams until neither end has one; `harm` may change or (true) drop each.
  void pump() {
    for (bool made_progress = true; made_progress;) {
      made_progress = carry(a, b);
      made_progress = carry(b, a) || made_progress;
    }
  }
  bool carry(FullLink& from, FullLink& to) {
    std::array<std::byte, 1400> datagram;
    const std::size_t bytes = from.fill(clock.now(), datagram);
    if (bytes == 0) return false;
    std::vector<std::byte> copy(datagram.begin(), datagram.begin() + static_cast<long>(bytes));
    if (observe) observe(from, copy);
    if (&from == mute || (harm && harm(copy))) return true;
    give(to, copy);
    for (unsigned i = 0; i < repeats; ++i) give(to, copy);
    return true;
  }
  void give(FullLink& to, base::Bytes datagram) {
    FlitWalker walker(datagram);
    for (FlitView flit;;) {
      const FlitWalker::Step step = walker.next(flit);
      if (step == FlitWalker::Step::kEnd) return;
      if (step == FlitWalker::Step::kBad)
        to.on_bad_flit();
      else
        to.receive(clock.now(), flit);
    }
  }
  void run(base::Duration time, base::Duration step = 1ms) {
    for (base::Duration at{}; at < time; at += step) {
      clock.advance(step);
      a.on_time(clock.now());
      b.on_time(clock.now());
      pump();
    }
  }
  std::uint64_t count(const FullLink& link, FullLinkCounter which) const {
    return (&link == &a ? a_counters : b_counters)[which];
  }

  base::ManualClock clock;
  std::function<void(const FullLink& from, const std::vector<std::byte>&)> observe;
  const FullLink* mute = nullptr;  // nothing that it sends arrives
  unsigned repeats = 0;            // of each datagram
  std::function<bool(std::vector<std::byte>&)> harm;
  base::Counters<FullLinkCounter> a_counters, b_counters;
  Sink a_sink, b_sink;
  FullLink a, b;
};

}  // namespace splitnic::fabric::full_wire
