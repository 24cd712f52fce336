// --allow CIDR: batches from other addresses are dropped before anything is read from them, and
// counted. Each is given up as a batch of nothing, so that a flood of them takes no more of the
// owner's turn than what it lets in.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "control/values.h"
#include "fabric_emul/underlay/udp_address.h"
#include "fabric_emul/underlay/underlay_decorator.h"

namespace splitnic::iou {

class AllowUnderlay final : public fabric::UnderlayDecorator {
 public:
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
  bool is_allowed(const fabric::PeerAddress& from) const {
    if (!last_ || from != last_from_) {
      const std::string text = fabric::UdpAddress(from).text();
      std::string_view host(text);
      host = host.substr(0, host.rfind(':'));
      if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
      host = host.substr(0, host.find('%'));
      const auto ip = control::parse_ip(host);
      last_ = ip && std::ranges::any_of(allowed_, [&](const auto& c) { return c.contains(*ip); });
      last_from_ = from;
    }
    return *last_;
  }

  std::vector<control::Cidr> allowed_;
  mutable std::optional<bool> last_;  // of the address that was judged last
  mutable fabric::PeerAddress last_from_;
  std::uint64_t refused_ = 0;
};

}  // namespace splitnic::iou
