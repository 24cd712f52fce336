// A decorator that keeps the DSCP of each datagram that is sent, with its flits, and can hold those
// of one class back. Thread: the test.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fabric_emul/underlay/underlay_decorator.h"
#include "fabric_emul/wire/flit.h"

namespace splitnic::fabric {

// Keeps which DSCP each datagram had, and the lanes and types of its flits.
class DscpRecorder final : public UnderlayDecorator {
 public:
  struct Sent {
    std::uint8_t dscp;
    std::vector<std::pair<FlitType, unsigned>> flits;  // type and lane
  };
  using UnderlayDecorator::UnderlayDecorator;
  void set_dscp(std::uint8_t of_batches, std::uint8_t) override { dscp_ = of_batches; }
  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    if (blocks) return SendStatus::kBlocked;
    for (std::size_t at = 0; at < bytes.size(); at += stride) {
      Sent one{dscp_, {}};
      FlitWalker walker(bytes.subspan(at, std::min(stride, bytes.size() - at)));
      for (FlitView flit; walker.next(flit) == FlitWalker::Step::kFlit;) {
        one.flits.emplace_back(flit.header.type, flit.header.vl);
      }
      sent.push_back(std::move(one));
    }
    if (dscp_ != holds) return below_.send(to, bytes, stride);
    held_.push_back({to, {bytes.begin(), bytes.end()}, stride});
    return SendStatus::kSent;
  }
  // Sends all that was held back, in its order.
  void deliver_held() {
    for (const Held& one : std::exchange(held_, {})) below_.send(one.to, one.bytes, one.stride);
  }
  std::optional<Received> receive() override { return below_.receive(); }
  base::Time deadline() const override { return below_.deadline(); }
  std::uint8_t dscp() const { return dscp_; }

  bool blocks = false;
  std::optional<std::uint8_t> holds;  // the class that is held back
  std::vector<Sent> sent;

 private:
  struct Held {
    PeerAddress to;
    std::vector<std::byte> bytes;
    std::size_t stride;
  };
  std::uint8_t dscp_ = 0;
  std::vector<Held> held_;
};

}  // namespace splitnic::fabric
