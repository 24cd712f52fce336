#include "tests/sim/scenario.h"

#include <algorithm>
#include <array>

namespace splitnic::sim {
namespace {

using namespace std::chrono_literals;

constexpr auto kConnectWithin = 60s;  // under faults
constexpr auto kBackWithin = 5s;      // after all faults are gone
constexpr auto kArriveWithin = 30s;
constexpr std::uint64_t kLastFrames = 40;
constexpr auto kGoodputSpan = 8ms;
constexpr std::uint64_t kGoodputWorlds = 6;
constexpr std::size_t kGoodputWaiting = 64;  // frames at each port

fabric::FaultConfig draw_faults(base::Random& r) {
  fabric::FaultConfig f;
  const auto up_to = [&](std::uint32_t ppm) { return static_cast<std::uint32_t>(r.below(ppm)); };
  const auto often = [&] { return r.below(2) == 0; };
  f.loss_burst = static_cast<unsigned>(1 + r.below(3));
  // Draws the share that is lost; a burst begins correspondingly less often.
  const double share = often() ? static_cast<double>(up_to(300'000)) / 1e6
                               : static_cast<double>(up_to(30'000)) / 1e6;
  const double burst = f.loss_burst;
  f.loss_ppm = static_cast<std::uint32_t>(1e6 * share / (burst - (burst - 1) * share));
  if (often()) f.duplicate_ppm = up_to(500'000);
  if (often()) f.reorder_ppm = up_to(200'000);
  f.reorder_delay = std::chrono::microseconds(1 + r.below(4000));
  // Whatever damages a datagram loses it: together no more than the worst loss.
  const auto left = static_cast<std::uint32_t>((0.3 - share) * 1e6) + 1;
  if (often()) f.corrupt_ppm = std::min(up_to(100'000), left / 2);
  if (often()) f.truncate_ppm = std::min(up_to(50'000), left / 2);
  if (often()) f.delay = std::chrono::microseconds(r.below(5000));
  if (often()) f.jitter = std::chrono::microseconds(r.below(1000));
  return f;
}

std::vector<messaging::PoolSpec> draw_pools(base::Random& r) {
  if (r.below(4) == 0) return {messaging::kDefaultPools.begin(), messaging::kDefaultPools.end()};
  constexpr std::array<std::uint32_t, 6> kSmall{4, 8, 16, 64, 300, 1024};
  constexpr std::array<std::uint32_t, 5> kLarge{2, 3, 8, 16, 64};
  return {{kSmall[r.below(kSmall.size())], 2048}, {kLarge[r.below(kLarge.size())], 65536}};
}

class Run {
 public:
  explicit Run(const Scenario& scenario)
      : s_(scenario), world_(scenario.world), r_(scenario.world.seed * 0x9E3779B97F4A7C15ULL + 1) {
    world_.tap.writes_max = world_.lan.writes_max = s_.writes_max;
    is_lossless_ = !world_.hostile;
  }

  Outcome outcome() {
    Outcome out;
    const base::Time begin = world_.clock.now();
    out.failure = all();
    if (const auto v = world_.violations(); !v.empty()) {
      out.failure = v.front() + (out.failure.empty() ? "" : " (then: " + out.failure + ")");
    }
    out.trace_hash = world_.trace_hash();
    out.frames_arrived = world_.to_lan.taken() + world_.to_host.taken();
    out.iterations = world_.iterations;
    out.virtual_time = world_.clock.now() - begin;
    out.pair_downs = downs();
    if (world_.hostile) out.hostile_acts = world_.hostile->acts();
    out.hostile_frames = world_.hostile_frames;
    return out;
  }

 private:
  std::string all() {
    if (!world_.run_until(kConnectWithin, [&] { return world_.connected(); }))
      return "never connected";
    // A host that asks for more queues than there are connects twice.
    if (s_.world.host_pair.queues > s_.world.iou_pair.queues) downs_to_agree_ = downs();
    const std::uint64_t chunk = s_.frames / (s_.events.size() + 1) + 1;
    for (const Event event : s_.events) {
      send_frames(chunk);
      if (std::string failure = happen(event); !failure.empty()) return failure;
    }
    send_frames(s_.frames - std::min(s_.frames, sent_));
    return heal();
  }

  std::uint64_t downs() const {
    // Those of a hostile host are its own affair.
    const std::uint64_t at_unit = world_.hostile ? 0 : world_.counter("iou.hosts.downs");
    return world_.counter("host.pair.downs") + at_unit;
  }

  std::size_t draw_bytes(std::size_t least) {
    if (r_.below(100) < s_.super_percent) return least + r_.below(60'000);
    return least + r_.below(r_.below(4) == 0 ? 64 : s_.frame_bytes_max - least);
  }
  void send_one_each() {
    world_.send_to_lan(draw_bytes(Ledger::kFrameMin));
    world_.send_to_host(draw_bytes(Ledger::kFrameMin));
    ++sent_;
  }
  // In bursts with pauses; the last of them is still in flight on return.
  void send_frames(std::uint64_t count) {
    while (count > 0) {
      const std::uint64_t burst = std::min<std::uint64_t>(count, 1 + r_.below(s_.burst_max));
      for (std::uint64_t i = 0; i < burst; ++i) send_one_each();
      count -= burst;
      world_.run(std::chrono::microseconds(1 + r_.below(500)));
      // So that what waits stays bounded, as the queue of a real interface is.
      world_.run_until(2s, [&] { return world_.tap.queued() < 256 && world_.lan.queued() < 256; });
    }
  }

  std::string blackout(base::Duration span, bool pair_must_live) {
    const std::uint64_t before = downs();
    world_.set_cut(true);
    const unsigned who = static_cast<unsigned>(r_.below(4));  // sends meanwhile
    for (int i = 0; i < 8; ++i) {
      if ((who & 1U) != 0) world_.send_to_lan(draw_bytes(Ledger::kFrameMin));
      if ((who & 2U) != 0) world_.send_to_host(draw_bytes(Ledger::kFrameMin));
    }
    world_.run(span);
    world_.set_cut(false);
    if (!pair_must_live) {
      is_lossless_ = false;
      return {};
    }
    world_.run(1s);
    return downs() == before
               ? ""
               : "a queue pair failed in a blackout of " + std::to_string(span / 1ms) + " ms";
  }

  std::string happen(Event event) {
    switch (event) {
      case Event::kShortBlackout:
        // Only a path that is good before and after is promised to live through it.
        return blackout(std::chrono::milliseconds(1 + r_.below(2000)),
                        !s_.has_faults && world_.connected());
      case Event::kLongBlackout:
        return blackout(30s, false);
      case Event::kRestartHost:
      case Event::kRestartIou:
      case Event::kRestartBoth:
        restart(event);
        return {};
      case Event::kBlockLan:
      case Event::kBlockTap: {
        FakePort& port = event == Event::kBlockLan ? world_.lan : world_.tap;
        port.writes_blocked = true;
        send_frames(16);
        world_.run(std::chrono::microseconds(1 + r_.below(200'000)));
        port.writes_blocked = false;
        return {};
      }
      case Event::kNewFaults:
        world_.set_faults(draw_faults(r_));
        return {};
      case Event::kNarrowPath:
        is_lossless_ = false;
        is_narrowed_ = true;
        world_.set_datagram_bytes_max(
            std::max<std::size_t>(576, s_.world.path.datagram_bytes_max / 2));
        return {};
      case Event::kNothing:
      case Event::kCount_:
        break;
    }
    return {};
  }

  void restart(Event event) {
    is_lossless_ = false;
    const bool host_first = r_.below(2) == 0;
    const auto pause = std::chrono::microseconds(r_.below(2) == 0 ? 0 : r_.below(300'000));
    const bool host = event != Event::kRestartIou;
    const bool iou = event != Event::kRestartHost;
    if (host && host_first) world_.restart_host();
    if (host && iou && host_first) world_.run(pause);
    if (iou) world_.restart_iou();
    if (host && iou && !host_first) world_.run(pause);
    if (host && !host_first) world_.restart_host();
    // Sometimes the traffic continues at once, sometimes when all is up again, sometimes the next
    // event comes first.
    if (r_.below(2) == 0) world_.run_until(10s, [&] { return world_.connected(); });
  }

  std::string heal() {
    world_.set_faults({.delay = std::chrono::microseconds(50)});
    // Queue pairs with longer cells give up only when they have tried for a while.
    if (is_narrowed_) world_.run(10s);
    if (!world_.run_until(kBackWithin, [&] { return world_.connected(); }))
      return "not back after healing";
    // Waiting frames go first; frames sent from here on must arrive whatever happened before.
    if (!world_.run_until(kArriveWithin, [&] { return world_.quiet(); }))
      return "what waited does not move";
    if (!world_.connected()) return "the pair ended again after healing";
    world_.mark();
    for (std::uint64_t i = 0; i < kLastFrames; ++i) {
      world_.send_to_lan(draw_bytes(Ledger::kFrameMin));
      world_.send_to_host(draw_bytes(Ledger::kFrameMin));
      world_.run(200us);
    }
    if (!world_.run_until(kArriveWithin, [&] { return world_.all_arrived(); })) {
      return "frames sent after healing did not arrive";
    }
    // An Update that was lost before the healing is repeated within the longest time-out.
    world_.run_until(2s, [&] { return world_.quiet() && world_.pools_full(); });
    if (!world_.hostile) world_.run(20ms);  // which sends frames to the other, too
    if (!world_.quiet()) return "not quiet in the end";
    if (std::string fault = world_.pools_fault(); !fault.empty()) return fault;
    // It returns with the next change of the interface that is due.
    if (!world_.run_until(500ms, [&] { return world_.tap.carrier; }))
      return "the host's carrier stays down";
    return is_lossless_ ? account() : "";
  }

  // Without a restart every frame is delivered or counted under the name of its drop.
  std::string account() const {
    const auto c = [&](const char* n) { return world_.counter(n); };
    if (downs() > downs_to_agree_) return "a pair ended without a cause";
    if (world_.to_lan.taken() != world_.to_lan.sent()) return "frames to the LAN were lost";
    if (c("host.tx.frames") != world_.to_lan.sent()) return "host.tx.frames does not add up";
    if (c("iou.from_host.frames") != c("host.tx.frames"))
      return "iou.from_host.frames does not add up";
    if (c("lan.tx.frames") != world_.to_lan.taken()) return "lan.tx.frames does not add up";
    const std::uint64_t dropped =
        c("lan.rx.drop.host_full") + c("lan.rx.drop.no_host") + c("lan.rx.drop.too_long");
    if (c("lan.rx.frames") != world_.to_host.sent()) return "lan.rx.frames does not add up";
    if (c("iou.to_host.frames") + dropped != c("lan.rx.frames"))
      return "iou.to_host.frames does not add up";
    if (c("host.rx.frames") != c("iou.to_host.frames")) return "frames to the host were lost";
    if (world_.to_host.taken() != c("host.rx.frames")) return "host.rx.frames does not add up";
    return {};
  }

  const Scenario s_;
  World world_;
  base::SeededRandom r_;
  std::uint64_t sent_ = 0;
  std::uint64_t downs_to_agree_ = 0;
  bool is_lossless_ = true;  // nothing has happened that may lose a frame
  bool is_narrowed_ = false;
};

}  // namespace

std::string_view name(Event event) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"nothing", "short-blackout", "long-blackout", "restart-host", "restart-iou", "restart-both",
       "block-lan", "block-tap", "new-faults", "narrow-path"});
  static_assert(kNames.size() == static_cast<std::size_t>(Event::kCount_));
  return kNames.at(static_cast<std::size_t>(event));
}

Scenario draw(std::uint64_t seed, std::uint64_t frames) {
  base::SeededRandom r(seed ^ 0x5EEDULL << 32);
  Scenario s;
  s.frames = frames;
  s.world.seed = seed;
  s.has_faults = r.below(5) != 0;  // [80 %]
  if (s.has_faults)
    s.world.faults = draw_faults(r);
  else
    s.world.faults.delay = std::chrono::microseconds(r.below(200));
  constexpr std::array<std::size_t, 6> kDatagrams{576, 1280, 1472, 4096, 8972, 9000};
  s.world.path.datagram_bytes_max =
      r.below(2) == 0 ? kDatagrams[r.below(kDatagrams.size())] : 576 + r.below(9000 - 576 + 1);
  for (messaging::PairConfig* pair : {&s.world.host_pair, &s.world.iou_pair}) {
    pair->pools = draw_pools(r);
    pair->window_bytes_max = std::uint64_t{64 * 1024} << r.below(6);
  }
  s.burst_max = static_cast<unsigned>(1 + r.below(64));
  s.super_percent = static_cast<unsigned>(r.below(3) == 0 ? 0 : r.below(12));
  s.frame_bytes_max = r.below(3) == 0 ? 300 : 1526;
  if (r.below(4) == 0) s.writes_max = 1 + r.below(16);
  const std::uint64_t events = r.below(4);
  for (std::uint64_t i = 0; i < events; ++i) {
    auto event = static_cast<Event>(r.below(static_cast<std::uint64_t>(Event::kCount_)));
    if (event == Event::kNewFaults && !s.has_faults) event = Event::kNothing;
    s.events.push_back(event);
  }
  // One in four runs lanes, credits and link retry; some runs of either kind have --cell.
  if (r.below(4) == 0) s.world.profile = fabric::LinkProfile::kFull;
  constexpr std::array<std::uint16_t, 4> kCells{64, 256, 256, 1024};
  if (r.below(4) == 0) s.world.cell_bytes = kCells[r.below(kCells.size())];
  // One in eight asks for several queues; the unit may give fewer.
  if (r.below(8) == 0) {
    s.world.host_pair.queues = static_cast<std::uint32_t>(2 + r.below(7));
    s.world.iou_pair.queues = r.below(4) == 0 ? static_cast<std::uint32_t>(1 + r.below(8)) : 8;
  }
  return s;
}

std::string describe(const Scenario& s) {
  const fabric::FaultConfig& f = s.world.faults;
  std::string text =
      "datagram " + std::to_string(s.world.path.datagram_bytes_max) + ", loss " +
      std::to_string(f.loss_ppm) + "ppm x" + std::to_string(f.loss_burst) + ", dup " +
      std::to_string(f.duplicate_ppm) + ", reorder " + std::to_string(f.reorder_ppm) +
      ", corrupt " + std::to_string(f.corrupt_ppm) + ", truncate " +
      std::to_string(f.truncate_ppm) + ", delay " + std::to_string(f.delay.count() / 1000) +
      "us, jitter " + std::to_string(f.jitter.count() / 1000) + "us, burst " +
      std::to_string(s.burst_max) + ", super " + std::to_string(s.super_percent) + "%, pools";
  for (const messaging::PairConfig* pair : {&s.world.host_pair, &s.world.iou_pair}) {
    for (const messaging::PoolSpec& p : pair->pools) {
      text += " " + std::to_string(p.count) + "x" + std::to_string(p.size);
    }
    text += pair == &s.world.host_pair ? " /" : "";
  }
  text += ", " + std::string(fabric::name(s.world.profile)) + " profile";
  if (s.world.cell_bytes != 0) text += ", cells of " + std::to_string(s.world.cell_bytes);
  if (const std::uint32_t asked = s.world.host_pair.queues; asked > 1) {
    text += ", " + std::to_string(asked) + " queues of at most " +
            std::to_string(s.world.iou_pair.queues);
  }
  for (const Event event : s.events) text += ", " + std::string(name(event));
  if (s.world.hostility == Hostility::kHostile) text += ", with a hostile host";
  return text;
}

Outcome run(const Scenario& scenario) { return Run(scenario).outcome(); }

namespace {

// Of one world. Pools that are short settle in one of several rhythms, and whatever delays a frame
// may change which; a pause now and then, drawn from `r`, does so too.
std::uint64_t goodput_of(World& world, std::size_t bytes, base::Random& r) {
  if (!world.run_until(kConnectWithin, [&] { return world.connected(); })) return 0;
  if (world.hostile) {
    const bool is_there = world.run_until(2s, [&] { return world.hostile->is_attached(); });
    if (!is_there) return 0;
  }
  const std::uint64_t before = world.to_lan.taken() + world.to_host.taken();
  const base::Time end = world.clock.now() + kGoodputSpan;
  base::Time pause_at = world.clock.now();
  while (world.clock.now() < end) {
    if (world.clock.now() >= pause_at) {
      world.run(std::chrono::microseconds(r.below(300)));
      pause_at = world.clock.now() + std::chrono::microseconds(500 + r.below(1000));
    }
    while (world.tap.queued() < kGoodputWaiting) world.send_to_lan(bytes);
    while (world.lan.queued() < kGoodputWaiting) world.send_to_host(bytes);
    world.run(50us);
  }
  return world.to_lan.taken() + world.to_host.taken() - before;
}

}  // namespace

std::uint64_t goodput(std::uint64_t seed, Hostility hostility) {
  base::SeededRandom r(seed ^ 0x600DULL << 32);
  WorldConfig config{.seed = seed, .hostility = hostility};
  config.faults.delay = std::chrono::microseconds(20 + r.below(80));
  config.host_pair.window_bytes_max = config.iou_pair.window_bytes_max = 64 * 1024;
  config.host_pair.pools = config.iou_pair.pools = draw_pools(r);
  const std::size_t bytes = 300 + r.below(1200);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < kGoodputWorlds; ++i) {
    config.seed = seed + (i << 32);
    base::SeededRandom pauses(config.seed);
    World world(config);
    sum += goodput_of(world, bytes, pauses);
  }
  return sum;
}

}  // namespace splitnic::sim
