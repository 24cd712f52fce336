// A path on which each datagram takes a while, in both directions.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "fabric_emul/underlay/underlay_decorator.h"

namespace splitnic::conformance {

class LateUnderlay final : public fabric::UnderlayDecorator {
 public:
  // `clock` outlives this.
  LateUnderlay(fabric::Underlay& below, base::Clock& clock, base::Duration delay)
      : UnderlayDecorator(below), clock_(clock), delay_(delay) {}

  base::Time deadline() const override {
    base::Time next = below_.deadline();
    for (const auto* queue : {&out_, &in_}) {
      if (!queue->empty()) next = std::min(next, queue->front().due);
    }
    return next;
  }
  SendStatus send(const fabric::PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    out_.push_back(batch(to, bytes, stride));
    return SendStatus::kSent;
  }
  std::optional<Received> receive() override {
    for (; !out_.empty() && out_.front().due <= clock_.now(); out_.pop_front()) {
      const Batch& one = out_.front();
      static_cast<void>(below_.send(one.peer, one.bytes, one.stride));
    }
    while (const auto come = below_.receive()) {
      in_.push_back(batch(come->from, come->bytes, come->stride));
    }
    if (in_.empty() || in_.front().due > clock_.now()) return std::nullopt;
    current_ = std::move(in_.front());
    in_.pop_front();
    return Received{current_.bytes, current_.stride, current_.peer};
  }

 private:
  struct Batch {
    base::Time due;
    fabric::PeerAddress peer;
    std::vector<std::byte> bytes;
    std::size_t stride = 0;
  };
  Batch batch(const fabric::PeerAddress& peer, base::Bytes bytes, std::size_t stride) const {
    return {clock_.now() + delay_, peer, {bytes.begin(), bytes.end()}, stride};
  }

  base::Clock& clock_;
  base::Duration delay_;
  std::deque<Batch> out_, in_;
  Batch current_;
};

}  // namespace splitnic::conformance
