// --allow CIDR: drops and counts batches from other addresses before anything in them is read. Each
// refused batch is returned as an empty one, so that a flood of them takes no more of its owner's
// iteration than the traffic that is admitted. Thread: one owner, the data thread.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "control/ip_address.h"
#include "fabric_emul/underlay/udp_address.h"
#include "fabric_emul/underlay/underlay_decorator.h"

namespace splitnic::iou {

class AllowUnderlay final : public fabric::UnderlayDecorator {
 public:
  // Without blocks every address is allowed.
  AllowUnderlay(fabric::Underlay& below, std::vector<control::Cidr> allowed)
      : UnderlayDecorator(below), allowed_(std::move(allowed)) {}

  SendStatus send(const fabric::PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    return below_.send(to, bytes, stride);
  }
  std::optional<Received> receive() override {
    auto received = below_.receive();
    if (received && !allowed_.empty() && !is_allowed(received->from)) {
      received->bytes = {};
      ++refused_;
    }
    return received;
  }
  base::Time deadline() const override { return below_.deadline(); }

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

  std::vector<control::Cidr> allowed_;
  std::optional<bool> last_;  // the result for last_from_
  fabric::PeerAddress last_from_;
  std::uint64_t refused_ = 0;
};

}  // namespace splitnic::iou
