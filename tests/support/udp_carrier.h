// Real UDP sockets on the loopback address, and time that only the test moves: a machine that is
// busy elsewhere makes no timer expire.
#pragma once

#include <poll.h>

#include "fabric_emul/underlay/udp_underlay.h"
#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing {

class UdpCarrier final : public Carrier {
 public:
  explicit UdpCarrier(std::size_t ends) {
    for (std::size_t i = 0; i < ends; ++i) {
      UdpConfig config;
      config.bind = "127.0.0.1:0";
      sockets_.push_back(UdpUnderlay::open(config).value());
    }
  }
  Underlay& underlay(std::size_t end) override { return *sockets_[end]; }
  PeerAddress address(std::size_t end) override { return sockets_[end]->local_address(); }
  base::Clock& clock() override { return clock_; }
  bool has_traffic(std::size_t) override { return is_readable(0); }
  // Datagrams over loopback usually arrive at once; a busy kernel takes a little longer.
  void wait(base::Time until) override {
    if (!is_readable(kArrivalMs)) clock_.set(std::max(until, clock_.now()));
  }
  void after_step() override { clock_.advance(kIteration); }

 private:
  static constexpr int kArrivalMs = 2;
  static constexpr base::Duration kIteration = std::chrono::microseconds(2);

  bool is_readable(int timeout_ms) {
    std::vector<pollfd> fds;
    for (const auto& socket : sockets_) fds.push_back({socket->fd(), POLLIN, 0});
    return ::poll(fds.data(), fds.size(), timeout_ms) > 0;
  }

  base::ManualClock clock_;
  std::vector<std::unique_ptr<UdpUnderlay>> sockets_;
};

}  // namespace splitnic::fabric::testing
