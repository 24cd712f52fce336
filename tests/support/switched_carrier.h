// A carrier whose ends are attached to switches, which run with the ends; the carriers of
// SpinesPair and RoutedPair are such. The derived class has what is between the ends.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "fabric_emul/switching/attachment.h"
#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing {

class SwitchedCarrier : public Carrier {
 public:
  Underlay& underlay(std::size_t end) final { return attachment(end); }
  base::Clock& clock() final { return time(); }
  void wait(base::Time until) final {
    if (has_traffic(0)) until = time().now();  // of a switch, since the last step
    until = std::min(until, deadline());
    time().set(std::max(until, time().now() + std::chrono::microseconds(1)));
  }
  void after_step() final {
    time().advance(std::chrono::microseconds(2));
    step();
  }
  // For PairOptions.
  void assign_lids(std::size_t end, PortConfig& config) {
    config.lids = [this, end](const PeerAddress& peer) { return attachment(end).lids_of(peer); };
  }

  virtual Attachment& attachment(std::size_t end) = 0;

 private:
  virtual base::ManualClock& time() = 0;
  // Of the switches.
  virtual void step() = 0;
  virtual base::Time deadline() const = 0;
};

// The ends of an AdapterPair over such a carrier.
template <class Switches>
class SwitchedPair {
 public:
  explicit SwitchedPair(std::unique_ptr<Switches> carrier)
      : fabric(*carrier), pair(options_of(fabric), std::move(carrier)) {
    CHECK(pair.run_until([this] { return !pair.b().links.empty(); }));
  }

  Switches& fabric;
  AdapterPair pair;

 private:
  static PairOptions options_of(Switches& carrier) {
    PairOptions options;
    options.adjust = [&carrier](std::size_t end, PortConfig& config) {
      carrier.assign_lids(end, config);
    };
    return options;
  }
};

}  // namespace splitnic::fabric::testing
