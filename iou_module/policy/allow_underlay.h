// --allow CIDR: drops and counts batches from other addresses before anything in them is read. Each
// refused batch is returned as an empty one, so that a flood of them takes no more of its owner's
// iteration than the traffic that is admitted. One address per minute is reported: a stranger can
// forge any number of them. Thread: one owner, the data thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/event.h"
#include "base/rate_limit.h"
#include "control/config/ip_address.h"
#include "fabric_emul/underlay/udp_address.h"
#include "fabric_emul/underlay/underlay_decorator.h"

namespace splitnic::iou {

class AllowUnderlay final : public fabric::UnderlayDecorator {
 public:
  // Without blocks every address is allowed. `clock` outlives this.
  AllowUnderlay(fabric::Underlay& below, std::vector<control::Cidr> allowed, base::Clock& clock)
      : UnderlayDecorator(below), allowed_(std::move(allowed)), clock_(clock) {}

  SendStatus send(const fabric::PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    return below_.send(to, bytes, stride);
  }
  std::optional<Received> receive() override {
    auto received = below_.receive();
    if (received && !allowed_.empty() && !is_allowed(received->from)) {
      received->bytes = {};
      ++refused_;
      report(received->from);
    }
    return received;
  }
  base::Time deadline() const override { return below_.deadline(); }

  void set_allowed(std::vector<control::Cidr> allowed) {
    allowed_ = std::move(allowed);
    last_.reset();
  }

  std::uint64_t refused() const { return refused_; }

 private:
  bool is_allowed(const fabric::PeerAddress& from) {
    if (!last_ || from != last_from_) {
      const auto ip = control::ip_of(*fabric::UdpAddress(from).get());
      last_ = ip && std::ranges::any_of(allowed_, [&](const auto& c) { return c.contains(*ip); });
      last_from_ = from;
    }
    return *last_;
  }

  void report(const fabric::PeerAddress& from) {
    if (!reports_.take(clock_.now())) return;
    const std::string name = below_.name_of(from);
    base::log_warn({base::EventKind::kRefused, name},
                   "a host at " + name + " gets no reply: --allow does not name its address");
  }

  std::vector<control::Cidr> allowed_;
  base::Clock& clock_;
  base::RateLimit reports_{std::chrono::minutes(1), 1};
  std::optional<bool> last_;  // the result for last_from_
  fabric::PeerAddress last_from_;
  std::uint64_t refused_ = 0;
};

}  // namespace splitnic::iou
