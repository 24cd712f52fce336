// An end of an in-process fabric for which the kernel reports the users of its peers, as of shm:
// the peer at endpoint N + 1 is of user 1000 + N, unless a test changes that.
#pragma once

#include <map>
#include <optional>

#include "fabric_emul/underlay/in_process_underlay.h"
#include "fabric_emul/underlay/underlay_decorator.h"

namespace splitnic::iou::harness {

class UserUnderlay final : public fabric::UnderlayDecorator {
 public:
  static constexpr std::uint32_t kEndpointsMax = 100;

  using UnderlayDecorator::UnderlayDecorator;
  void set_user(const fabric::PeerAddress& peer, std::uint32_t user) { users_[peer] = user; }

  SendStatus send(const fabric::PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    return below_.send(to, bytes, stride);
  }
  std::optional<Received> receive() override { return below_.receive(); }
  base::Time deadline() const override { return below_.deadline(); }
  std::optional<std::uint32_t> user_of(const fabric::PeerAddress& peer) const override {
    if (const auto found = users_.find(peer); found != users_.end()) return found->second;
    for (std::uint32_t number = 1; number < kEndpointsMax; ++number) {
      if (peer == fabric::InProcessHub::address_of(number + 1)) return 1000 + number;
    }
    return std::nullopt;
  }

 private:
  std::map<fabric::PeerAddress, std::uint32_t> users_;
};

}  // namespace splitnic::iou::harness
