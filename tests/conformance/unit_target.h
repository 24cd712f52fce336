// The I/O unit as the target of the suite, in this process and with a manual clock: whenever the
// suite waits, the unit runs, and when neither has anything to do time passes. With keys every link
// is sealed. Between the two may be a relay that breaks a rule.
//
//   UnitTarget target({.is_keyed = true, .rule = rule});
//   Suite suite(target.lines(), {});
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "conformance/suite.h"
#include "control/daemon/pool_options.h"
#include "fabric_emul/session/keyed_underlay.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "iou_module/iou.h"
#include "tests/conformance/relay.h"
#include "tests/conformance/run_target.h"
#include "tests/conformance/target_path.h"
#include "tests/conformance/target_port.h"
#include "tests/sim/fake_port.h"

namespace splitnic::conformance {

struct UnitTargetConfig {
  bool is_keyed = false;
  Rule rule{};  // none: the unit as it is
  bool wants_cookies = false;
  std::optional<messaging::IdataForm> idata_form = messaging::IdataForm::kPoolElement;
  std::uint32_t message_max = messaging::kMsgMaxControl;
  bool is_full = false;              // full profile, as between programs
  base::Duration delay{};            // of each datagram, on the way in and out
  std::uint8_t eui64_begins = 0;     // the first byte of every EUI-64; with keys 0 is any
  std::uint32_t send_threshold = 0;  // bytes: frames up to this go as SendData
};

class UnitTarget {
 public:
  explicit UnitTarget(const UnitTargetConfig& config)
      : hub_({.datagram_bytes_max = 1472, .batch_queue_max = 4096}),
        end_(hub_.add_endpoint()),
        path_(end_, clock_, config.delay, config.rule),
        lan_(lan::MacAddress{0x02, 0, 0, 0, 0, 0xE0}) {
    for (std::size_t i = 0; i < kLines; ++i) {
      secrets_.push_back(random_key(config));
    }
    unit_key_ = session::random_private_key(random_);
    if (config.is_keyed) put_keys(config);
    start(config);
    for (std::size_t i = 0; i < kLines; ++i) add_line(config.is_keyed, secrets_[i]);
  }
  ~UnitTarget() { unit_->abandon(clock_.now()); }

  std::vector<Line*> lines() const {
    std::vector<Line*> out;
    for (const auto& line : lines_) out.push_back(line.get());
    return out;
  }
  base::ManualClock& clock() { return clock_; }
  // The unit takes nothing and sends nothing any more.
  void hang() { is_hanging_ = true; }

 private:
  static constexpr std::size_t kLines = 8;

  session::Secret random_key(const UnitTargetConfig& target) {
    while (true) {
      const session::Secret key = session::random_private_key(random_);
      const auto first = session::eui64_of(session::public_key_of(key)) >> 56;
      if (target.eui64_begins == 0 || first == target.eui64_begins) return key;
    }
  }
  void put_keys(const UnitTargetConfig& target) {
    session::SessionConfig config;
    config.private_key = unit_key_;
    config.instance = 77;
    if (target.wants_cookies) config.cookies_below = config.agreements_burst + 1;
    auto keyed = std::make_unique<session::KeyedUnderlay>(*underlay_, config, clock_, random_);
    for (const session::Secret& secret : secrets_) {
      CHECK(keyed->allow({session::public_key_of(secret), {}, {}}).has_value());
    }
    keyed_ = std::move(keyed);
    underlay_ = keyed_.get();
  }
  void start(const UnitTargetConfig& target) {
    adapter_ = std::make_unique<fabric::Adapter>(
        fabric::AdapterLimits{.profile = fabric::MrwtProfile::kStrictWindows}, random_);
    const fabric::Eui64 eui64(std::uint64_t{target.eui64_begins} << 56 | 0x10);
    fabric::PortConfig port = target_port(eui64, target.is_full);
    port.listens = true;
    CHECK(adapter_->add_port(*underlay_, port).has_value());
    iou::IouConfig config;
    config.host.pair.node_name = "unit";
    config.host.pair.pools = {{64, 2048}, {8, 65536}};
    config.host.pair.idata_form = target.idata_form;
    config.host.pair.queues = 4;  // that a host may ask for
    config.host.pair.control_message_max = target.message_max;
    config.host.pair.send_threshold = target.send_threshold;
    config.host.pair.flow_context_of = &control::flow_context_of;
    config.host.ring_bytes = 256 << 10;
    lan::FramePort* const lan = &lan_;
    unit_ = std::make_unique<iou::Iou>(config, *adapter_, std::span(&lan, 1), random_);
  }
  void add_line(bool is_keyed, const session::Secret& secret) {
    fabric::InProcessUnderlay& end = hub_.add_endpoint();
    carriers_.push_back(std::make_unique<Carrier>(
        end, end_.address(), clock_, [this, &end](base::Time until) { run(end, until); }));
    Session* keys = nullptr;
    if (is_keyed) {
      const HostKeys of_host{secret, session::public_key_of(unit_key_), {}};
      sessions_.push_back(std::make_unique<Session>(of_host, random_, [this] { return ++stamp_; }));
      keys = sessions_.back().get();
    }
    lines_.push_back(std::make_unique<Line>(*carriers_.back(), keys));
  }
  void run(fabric::InProcessUnderlay& end, base::Time until) {
    run_target(end, clock_, until,
               [this](base::Time now) { return !is_hanging_ && unit_->step(now, true); });
  }

  base::ManualClock clock_;
  base::SeededRandom random_{7};
  std::uint64_t stamp_ = 1000;
  fabric::InProcessHub hub_;
  fabric::InProcessUnderlay& end_;
  TargetPath path_;
  fabric::Underlay* underlay_ = &path_.top();
  std::vector<session::Secret> secrets_;
  session::Secret unit_key_;
  std::unique_ptr<session::KeyedUnderlay> keyed_;
  sim::FakePort lan_;
  std::unique_ptr<fabric::Adapter> adapter_;
  std::unique_ptr<iou::Iou> unit_;
  std::vector<std::unique_ptr<Carrier>> carriers_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<std::unique_ptr<Line>> lines_;
  bool is_hanging_ = false;
};

}  // namespace splitnic::conformance
