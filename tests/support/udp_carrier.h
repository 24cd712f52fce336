// Real UDP sockets on the loopback address and real time.
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
  bool has_traffic(std::size_t) override { return false; }
  void wait(base::Time until) override {
    const auto left =
        std::chrono::duration_cast<std::chrono::nanoseconds>(until - clock_.now()).count();
    if (left <= 0) return;
    std::vector<pollfd> fds;
    for (const auto& socket : sockets_) fds.push_back({socket->fd(), POLLIN, 0});
    const timespec time{left / 1'000'000'000, left % 1'000'000'000};
    ::ppoll(fds.data(), fds.size(), &time, nullptr);
  }

 private:
  base::SystemClock clock_;
  std::vector<std::unique_ptr<UdpUnderlay>> sockets_;
};

}  // namespace splitnic::fabric::testing
