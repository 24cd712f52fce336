// Two ends behind switches: leaf "a" with the host (end 1), leaf "b" with the unit (end 0), and
// spines between them, each of which is another way. The port of the unit has as many LIDs as
// there are spines, that of the host too. Spines can be slow, far away or dead.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fabric_emul/switching/attachment.h"
#include "fabric_emul/switching/switch.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "tests/support/adapter_pair.h"
#include "tests/support/fault_underlay.h"
#include "tests/support/switched_carrier.h"

namespace splitnic::fabric::testing {

// Takes a number of bytes per second, in bursts of a batch.
class PacedUnderlay final : public UnderlayDecorator {
 public:
  PacedUnderlay(Underlay& below, base::Clock& clock) : UnderlayDecorator(below), clock_(clock) {}
  void set_rate(std::uint64_t bytes_per_second) { rate_ = bytes_per_second; }
  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    if (rate_ != 0 && clock_.now() < free_at_) return SendStatus::kBlocked;
    const SendStatus status = below_.send(to, bytes, stride);
    if (rate_ == 0 || status != SendStatus::kSent) return status;
    free_at_ = std::max(free_at_, clock_.now()) +
               std::chrono::nanoseconds(bytes.size() * 1'000'000'000 / rate_);
    return status;
  }
  std::optional<Received> receive() override { return below_.receive(); }
  base::Time deadline() const override {
    return clock_.now() < free_at_ ? std::min(free_at_, below_.deadline()) : below_.deadline();
  }

 private:
  base::Clock& clock_;
  std::uint64_t rate_ = 0;
  base::Time free_at_{};
};

class SpinesCarrier final : public SwitchedCarrier {
 public:
  struct Options {
    unsigned spines = 2;
    std::uint8_t lmc = 1;
    unsigned path = kAllPaths;  // by which the host knows the unit
    // With updown the base LIDs of host and unit have different spines.
    RoutingKind routing = RoutingKind::kShortest;
  };
  explicit SpinesCarrier(const Options& options) : options_(options) {
    const Topology topology = topology_of(options);
    for (const Topology::Switch& one : topology.switches) {
      switches_.push_back(std::make_unique<Switch>(plan_of(topology, one.name).value(), random_));
    }
    for (const Topology::Cable& cable : topology.cables) {
      add_port(cable.b, nullptr);
      add_port(cable.a, &ends_.at(cable.b)->endpoint.address());
    }
    for (const Topology::Node& node : topology.nodes) {
      add_port(node.at, nullptr);
      InProcessUnderlay& endpoint = hub_.add_endpoint();
      endpoints_.push_back(&endpoint);
      nodes_.push_back(std::make_unique<Attachment>(endpoint, ends_.at(node.at)->endpoint.address(),
                                                    config_of(node.lid.value), clock_, random_));
    }
  }

  PeerAddress address(std::size_t /*end*/) override {
    return attachment(1).peer("unit", options_.path);
  }
  bool has_traffic(std::size_t) override {
    return std::ranges::any_of(endpoints_, [](auto* one) { return one->queued_batches() > 0; });
  }
  Attachment& attachment(std::size_t end) override { return *nodes_[end]; }

  // Both directions of the cables of this spine, numbered from 1.
  void set_rate(unsigned spine, std::uint64_t bytes_per_second) {
    for_each(spine, [&](End& end) { end.paced.set_rate(bytes_per_second); });
  }
  void set_faults(unsigned spine, const FaultConfig& faults) {
    for_each(spine, [&](End& end) { end.faults.set_config(faults); });
  }
  // It loses all that it gets.
  void kill(unsigned spine) { set_faults(spine, kAllLost); }
  // It loses what comes from the leaf of the host, or from that of the unit.
  void kill_way_to_unit(unsigned spine) { end_of_spine(spine, 1).faults.set_config(kAllLost); }
  void kill_way_to_host(unsigned spine) { end_of_spine(spine, 2).faults.set_config(kAllLost); }
  // Cells that it has forwarded.
  std::uint64_t cells_of(unsigned spine) const {
    return switches_[1 + spine]->counters()[SwitchCounter::kTxCell];
  }

 private:
  struct End {
    End(InProcessUnderlay& at, base::Random& random, base::Clock& clock)
        : endpoint(at), faults(at, random, clock), paced(faults, clock) {}
    InProcessUnderlay& endpoint;
    FaultUnderlay faults;
    PacedUnderlay paced;
  };

  static constexpr FaultConfig kAllLost{.loss_ppm = 1'000'000};

  base::ManualClock& time() override { return clock_; }
  void step() override {
    for (const auto& one : switches_) one->step(clock_.now());
  }
  base::Time deadline() const override {
    base::Time at = base::kNever;
    for (const auto& one : switches_) at = std::min(at, one->deadline());
    for (const auto& [place, end] : ends_) at = std::min(at, end->paced.deadline());
    return at;
  }

  // Its port 1 is at the leaf of the host, port 2 at that of the unit.
  End& end_of_spine(unsigned spine, std::uint8_t port) { return *ends_.at({name_of(spine), port}); }
  static Topology topology_of(const Options& options) {
    Topology t;
    t.routing = options.routing;
    t.switches = {{"a", Lid(1)}, {"b", Lid(2)}};
    t.nodes = {{"unit", Lid(16), {"b", 32}, {}, options.lmc},
               {"host", Lid(32), {"a", 32}, {}, options.lmc}};
    for (std::uint8_t spine = 1; spine <= options.spines; ++spine) {
      const std::string name = name_of(spine);
      t.switches.push_back({name, Lid(std::uint16_t{2} + spine)});
      t.cables.push_back({{"a", spine}, {name, 1}});
      t.cables.push_back({{"b", spine}, {name, 2}});
    }
    return t;
  }
  static std::string name_of(unsigned spine) { return "s" + std::to_string(spine); }
  static PortConfig config_of(std::uint64_t number) {
    PortConfig config;
    config.eui64 = Eui64(0x0200000000000500ULL + number);
    config.instance = 7000 + number;
    return config;
  }
  void add_port(const PortPlace& place, const PeerAddress* to) {
    InProcessUnderlay& endpoint = hub_.add_endpoint();
    endpoints_.push_back(&endpoint);
    auto& end = ends_[place] = std::make_unique<End>(endpoint, random_, clock_);
    const auto at = std::ranges::find_if(
        switches_, [&](const auto& one) { return one->plan().name == place.of_switch; });
    (*at)->add_port(place.port, end->paced, config_of(0x1000 + ends_.size()), to, clock_.now());
  }
  template <class Do>
  void for_each(unsigned spine, Do&& act) {
    for (const char* leaf : {"a", "b"}) {
      act(*ends_.at({leaf, static_cast<std::uint8_t>(spine)}));
    }
    for (const std::uint8_t port : {std::uint8_t{1}, std::uint8_t{2}}) {
      act(end_of_spine(spine, port));
    }
  }

  const Options options_;
  base::ManualClock clock_;
  base::SeededRandom random_{5};
  InProcessHub hub_;
  std::vector<InProcessUnderlay*> endpoints_;
  std::map<PortPlace, std::unique_ptr<End>> ends_;
  std::vector<std::unique_ptr<Switch>> switches_;
  std::vector<std::unique_ptr<Attachment>> nodes_;
};

// The ends of an AdapterPair behind such switches.
class SpinesPair : public SwitchedPair<SpinesCarrier> {
 public:
  explicit SpinesPair(const SpinesCarrier::Options& options = {})
      : SwitchedPair(std::make_unique<SpinesCarrier>(options)) {
    pair.run_for(std::chrono::seconds(1));  // each knows the LIDs of the other
  }
};

}  // namespace splitnic::fabric::testing
