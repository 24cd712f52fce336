// The host as the target of the suite, in this process and with a manual clock: whenever the suite
// waits, the host runs, and when neither has anything to do time passes. With keys the link is
// sealed. Between the two may be a relay that breaks a rule.
//
//   HostTarget target({.is_keyed = true, .rule = rule});
//   UnitSuite suite(target.line(), {});
#pragma once

#include <memory>

#include "base/check.h"
#include "conformance/unit_suite.h"
#include "control/daemon/pool_options.h"
#include "fabric_emul/session/keyed_underlay.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "host_module/host.h"
#include "tests/conformance/relay.h"
#include "tests/conformance/run_target.h"
#include "tests/conformance/target_path.h"
#include "tests/conformance/target_port.h"
#include "tests/sim/fake_port.h"

namespace splitnic::conformance {

struct HostTargetConfig {
  bool is_keyed = false;
  Rule rule{};  // none: the host as it is
  messaging::Channels channels = messaging::Channels::kTwo;
  std::optional<messaging::IdataForm> idata_form = messaging::IdataForm::kPoolElement;
  bool is_full = false;    // full profile, as between programs
  base::Duration delay{};  // of each datagram, on the way in and out
};

class HostTarget {
 public:
  explicit HostTarget(const HostTargetConfig& config)
      : hub_({.datagram_bytes_max = 1472, .batch_queue_max = 4096}),
        end_(hub_.add_endpoint()),
        unit_end_(hub_.add_endpoint()),
        path_(end_, clock_, config.delay, config.rule),
        tap_(lan::MacAddress{0x02, 0, 0, 0, 0, 0xA0}),
        carrier_(unit_end_, std::nullopt, clock_, [this](base::Time until) { run(until); }) {
    fabric::PeerAddress unit = unit_end_.address();
    if (config.is_keyed) unit = put_keys();
    line_ = config.is_keyed ? std::make_unique<Line>(carrier_, responder_.get())
                            : std::make_unique<Line>(carrier_);
    start(unit, config);
  }
  ~HostTarget() { host_->abandon(clock_.now()); }

  Line& line() { return *line_; }
  base::ManualClock& clock() { return clock_; }
  // The host takes nothing and sends nothing any more.
  void hang() { is_hanging_ = true; }

 private:
  fabric::PeerAddress put_keys() {
    const session::Secret own = session::random_private_key(random_);
    const session::Secret of_unit = session::random_private_key(random_);
    session::SessionConfig config;
    config.private_key = own;
    config.instance = 77;
    config.stamp = [this] { return ++stamp_; };
    auto keyed = std::make_unique<session::KeyedUnderlay>(*underlay_, config, clock_, random_);
    const auto peer = keyed->allow({session::public_key_of(of_unit), {}, unit_end_.address()});
    CHECK(peer.has_value());
    keyed_ = std::move(keyed);
    underlay_ = keyed_.get();
    responder_ = std::make_unique<Responder>(of_unit, session::public_key_of(own),
                                             session::Secret{}, random_);
    eui64_ = fabric::Eui64(session::eui64_of(session::public_key_of(own)));
    return *peer;
  }
  void start(const fabric::PeerAddress& unit, const HostTargetConfig& target) {
    adapter_ = std::make_unique<fabric::Adapter>(
        fabric::AdapterLimits{.profile = fabric::MrwtProfile::kStrictWindows}, random_);
    const auto added = adapter_->add_port(*underlay_, target_port(eui64_, target.is_full));
    CHECK(added.has_value());
    host::HostConfig config;
    config.pair.node_name = "host";
    config.pair.channels = target.channels;
    config.pair.idata_form = target.idata_form;
    if (target.idata_form == messaging::IdataForm::kOffsetLength) {
      config.pair.pools = {{64, 2048}};  // form B names elements of one pool
    }
    config.pair.flow_context_of = &control::flow_context_of;
    if (target.channels == messaging::Channels::kSeparate) {
      config.pair.mode = messaging::Mode::kSend;
    }
    config.addresses = [] {
      lan::LocalAddress address;
      address.bytes = {10, 77, 0, 1};
      return std::vector{address};
    };
    host_ = std::make_unique<host::Host>(config, *adapter_, tap_, random_);
    host_->add_unit(0, **added, unit, clock_.now());
  }
  void run(base::Time until) {
    run_target(unit_end_, clock_, until,
               [this](base::Time now) { return !is_hanging_ && host_->step(now, true); });
  }

  base::ManualClock clock_;
  base::SeededRandom random_{7};
  std::uint64_t stamp_ = 1000;
  fabric::Eui64 eui64_{0x20};
  fabric::InProcessHub hub_;
  fabric::InProcessUnderlay& end_;
  fabric::InProcessUnderlay& unit_end_;
  TargetPath path_;
  fabric::Underlay* underlay_ = &path_.top();
  std::unique_ptr<session::KeyedUnderlay> keyed_;
  sim::FakePort tap_;
  Carrier carrier_;
  std::unique_ptr<Responder> responder_;
  std::unique_ptr<Line> line_;
  std::unique_ptr<fabric::Adapter> adapter_;
  std::unique_ptr<host::Host> host_;
  bool is_hanging_ = false;
};

}  // namespace splitnic::conformance
