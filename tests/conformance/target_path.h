// The path between a target and the suite, at the target: datagrams may take a while on it, and a
// relay on it may break a rule.
#pragma once

#include <memory>

#include "base/clock.h"
#include "tests/conformance/late_underlay.h"
#include "tests/conformance/relay.h"

namespace splitnic::conformance {

class TargetPath {
 public:
  // `below` and `clock` outlive this. No delay: datagrams arrive at once. An empty rule: there is
  // no relay.
  TargetPath(fabric::Underlay& below, base::Clock& clock, base::Duration delay, const Rule& rule)
      : top_(&below) {
    if (delay > base::Duration()) {
      late_ = std::make_unique<LateUnderlay>(*top_, clock, delay);
      top_ = late_.get();
    }
    if (rule) {
      relay_ = std::make_unique<Relay>(*top_, rule);
      top_ = relay_.get();
    }
  }

  fabric::Underlay& top() const { return *top_; }  // that the target uses

 private:
  std::unique_ptr<LateUnderlay> late_;
  std::unique_ptr<Relay> relay_;
  fabric::Underlay* top_;
};

}  // namespace splitnic::conformance
