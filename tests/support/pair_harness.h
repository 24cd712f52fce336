// Two sides over two adapters and an underlay in memory, in one thread with a manual clock: the
// common part of the fixtures of channel pairs and of connections. Side 0 is the I/O unit
// (passive), side 1 the host (active).
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "fabric_emul/verbs/adapter.h"
#include "messaging/channel_pair.h"
#include "tests/support/fault_underlay.h"
#include "tests/support/recording_underlay.h"
#include "tests/support/run_loop.h"

namespace splitnic::messaging::harness {

// An adapter with one port, and the owner of the pairs on it. The derived side implements step(),
// deadline() and the connection handler.
class PairSide : public PairOwner, protected fabric::ConnectionHandler {
 public:
  PairSide(std::size_t number, fabric::InProcessUnderlay& endpoint, base::ManualClock& clock,
           std::uint64_t seed, const PairConfig& config_in)
      : random(seed * 100 + number),
        tap(endpoint),
        faults(tap, random, clock),
        config(config_in),
        clock_(clock) {
    adapter = std::make_unique<fabric::Adapter>(
        fabric::AdapterLimits{.profile = fabric::MrwtProfile::kStrictWindows}, random);
    fabric::PortConfig port_config;
    port_config.eui64 = fabric::Eui64(0x10 + number);
    port_config.instance = random.next() | 1;
    port_config.listens = number == 0;
    port = adapter->add_port(faults, port_config).value();
    adapter->connections().set_handler(*this);
  }

  base::SeededRandom random;
  fabric::testing::RecordingUnderlay tap;
  fabric::FaultUnderlay faults;
  PairConfig config;
  std::unique_ptr<fabric::Adapter> adapter;
  fabric::Port* port = nullptr;
  fabric::Link* link = nullptr;
  int ups = 0;
  std::vector<std::string> downs;  // why

 protected:
  void on_link_up(fabric::Link& up) override { link = &up; }
  void on_link_down(fabric::Link&, std::string_view) override {}
  void on_pair_up(ChannelPair&) override { ++ups; }
  void on_pair_down(ChannelPair&, const std::string& why) override { downs.push_back(why); }

  base::ManualClock& clock_;
};

struct HarnessConfig {
  PairConfig unit{};
  PairConfig host{};
  std::uint64_t seed = 1;
  fabric::InProcessConfig hub{};
};

template <class Side>
class PairHarness : public support::RunLoop<PairHarness<Side>> {
 public:
  explicit PairHarness(const HarnessConfig& config = {}) : hub_(config.hub) {
    for (std::size_t i = 0; i < 2; ++i) {
      endpoints_[i] = &hub_.add_endpoint();
      PairConfig pair = i == 0 ? config.unit : config.host;
      if (pair.node_name.empty()) pair.node_name = i == 0 ? "unit" : "host";
      sides_[i] = std::make_unique<Side>(i, *endpoints_[i], clock, config.seed, pair);
    }
  }

  Side& unit() { return *sides_[0]; }
  Side& host() { return *sides_[1]; }
  Side& side(std::size_t i) { return *sides_[i]; }

  // Connects the link, if there is none yet.
  void link_up() {
    if (host().link != nullptr) return;
    host().port->connect(endpoints_[0]->address(), clock.now());
    CHECK(this->run_until([&] { return host().link != nullptr && unit().link != nullptr; }));
  }
  base::Time now() { return clock.now(); }
  void step(base::Time until = base::kNever) {
    bool made_progress = false;
    for (auto& side : sides_) made_progress |= side->step(clock.now());
    for (auto* endpoint : endpoints_) made_progress |= endpoint->queued_batches() > 0;
    clock.advance(std::chrono::microseconds(2));
    if (made_progress) return;
    base::Time next = until;
    for (auto& side : sides_) {
      next = std::min({next, side->deadline(), side->faults.deadline()});
    }
    if (next != base::kNever) clock.set(std::max(next, clock.now()));
  }

  base::ManualClock clock;

 private:
  fabric::InProcessHub hub_;
  std::array<fabric::InProcessUnderlay*, 2> endpoints_{};
  std::array<std::unique_ptr<Side>, 2> sides_;
};

}  // namespace splitnic::messaging::harness
