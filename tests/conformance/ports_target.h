// A switch in this process and with a manual clock, with a line of the suite at each of its ports.
// With keys every port is sealed. Between a port and the suite may be a relay that breaks a rule.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "conformance/line.h"
#include "fabric_emul/session/keyed_underlay.h"
#include "fabric_emul/switching/switch.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "switch_module/topology_file.h"
#include "tests/conformance/relay.h"
#include "tests/conformance/run_target.h"
#include "tests/conformance/target_path.h"
#include "tests/conformance/target_port.h"

namespace splitnic::conformance {

struct PortsTargetConfig {
  bool is_keyed = false;
  base::Duration delay{};                           // of each datagram, on the way in and out
  std::function<Rule(std::size_t port)> rule_at{};  // none: the switch as it is
};

class PortsTarget {
 public:
  // The switch `name` of a topology file, at its first `ports` ports.
  PortsTarget(const std::string& file, const std::string& name, std::size_t ports,
              const PortsTargetConfig& config)
      : topology_(fabric_switch::parse_topology(file).value().topology),
        hub_({.datagram_bytes_max = 1472, .batch_queue_max = 4096}),
        switch_(fabric::plan_of(topology_, name).value(), random_) {
    switch_key_ = session::random_private_key(random_);
    for (std::size_t port = 1; port <= ports; ++port) add_port(config, port);
  }
  virtual ~PortsTarget() = default;
  PortsTarget(const PortsTarget&) = delete;
  PortsTarget& operator=(const PortsTarget&) = delete;

  std::vector<Line*> lines() const {
    std::vector<Line*> out;
    for (const auto& line : lines_) out.push_back(line.get());
    return out;
  }

 protected:
  // Returns whether it made progress.
  virtual bool step(base::Time now) { return switch_.step(now); }
  fabric::Switch& tested() { return switch_; }
  const fabric::Topology& topology() const { return topology_; }
  base::Random& random() { return random_; }

 private:
  void add_port(const PortsTargetConfig& config, std::size_t port) {
    fabric::InProcessUnderlay& at_switch = hub_.add_endpoint();
    fabric::InProcessUnderlay& end = hub_.add_endpoint();
    paths_.emplace_back(at_switch, clock_, config.delay,
                        config.rule_at ? config.rule_at(port) : Rule());
    fabric::Underlay* underlay = &paths_.back().top();
    fabric::PortConfig port_config = target_port(fabric::Eui64(0x100 + port), false);
    Session* keys = nullptr;
    if (config.is_keyed) {
      const session::Secret of_node = session::random_private_key(random_);
      session::SessionConfig sessions;
      sessions.private_key = switch_key_;
      sessions.instance = 77;
      keyed_.push_back(
          std::make_unique<session::KeyedUnderlay>(*underlay, sessions, clock_, random_));
      CHECK(keyed_.back()->allow({session::public_key_of(of_node), {}, {}}).has_value());
      underlay = keyed_.back().get();
      port_config.eui64 = fabric::Eui64(session::eui64_of(session::public_key_of(switch_key_)));
      sessions_.push_back(
          std::make_unique<Session>(HostKeys{of_node, session::public_key_of(switch_key_), {}},
                                    random_, [this] { return ++stamp_; }));
      keys = sessions_.back().get();
    }
    switch_.add_port(static_cast<std::uint8_t>(port), *underlay, port_config, nullptr,
                     clock_.now());
    carriers_.push_back(std::make_unique<Carrier>(
        end, at_switch.address(), clock_, [this, &end](base::Time until) { run(end, until); }));
    lines_.push_back(std::make_unique<Line>(*carriers_.back(), keys));
  }
  void run(fabric::InProcessUnderlay& end, base::Time until) {
    run_target(end, clock_, until, [this](base::Time now) { return step(now); });
  }

  const fabric::Topology topology_;
  base::ManualClock clock_;
  base::SeededRandom random_{7};
  std::uint64_t stamp_ = 1000;
  fabric::InProcessHub hub_;
  fabric::Switch switch_;
  session::Secret switch_key_;
  std::vector<TargetPath> paths_;
  std::vector<std::unique_ptr<session::KeyedUnderlay>> keyed_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<std::unique_ptr<Carrier>> carriers_;
  std::vector<std::unique_ptr<Line>> lines_;
};

}  // namespace splitnic::conformance
