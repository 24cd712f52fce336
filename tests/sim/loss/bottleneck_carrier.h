// Two ends joined by a Bottleneck in each direction, in virtual time. Thread: one.
#pragma once

#include <algorithm>

#include "tests/sim/loss/bottleneck.h"
#include "tests/support/adapter_pair.h"

namespace splitnic::sim {

class BottleneckCarrier final : public fabric::testing::Carrier {
 public:
  // An iteration of both ends takes `iteration`: datagrams that arrive meanwhile wait.
  BottleneckCarrier(const PathConfig& path, std::uint64_t seed, base::Duration iteration)
      : path_(path), iteration_(iteration), random_(seed) {
    there_.join(back_);
    back_.join(there_);
  }
  // Set-up is not what is measured.
  void begin() {
    there_.set_config(path_);
    back_.set_config(path_);
  }
  std::uint64_t dropped() const { return there_.dropped() + back_.dropped(); }
  fabric::Underlay& underlay(std::size_t end) override { return of(end); }
  fabric::PeerAddress address(std::size_t end) override { return of(end).address(); }
  base::Clock& clock() override { return clock_; }
  bool has_traffic(std::size_t) override { return there_.has_arrived() || back_.has_arrived(); }
  void wait(base::Time until) override { clock_.set(std::max(until, clock_.now())); }
  void after_step() override { clock_.advance(iteration_); }

 private:
  Bottleneck& of(std::size_t end) { return end == 0 ? back_ : there_; }

  const PathConfig path_;
  const base::Duration iteration_;
  base::ManualClock clock_;
  base::SeededRandom random_;
  Bottleneck back_{1, clock_, random_};
  Bottleneck there_{2, clock_, random_};
};

}  // namespace splitnic::sim
