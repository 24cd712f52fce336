// A filter between the I/O unit and the fabric that breaks one rule of the protocol: to the suite
// the unit behind it is a wrong implementation. What the unit sends is taken apart into datagrams
// of one flit, so that a rule sees one INIT or one cell at a time; what it receives passes as it
// came.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <vector>

#include "fabric_emul/underlay/underlay_decorator.h"
#include "fabric_emul/wire/flit.h"

namespace splitnic::conformance {

using RelayBytes = std::vector<std::byte>;

// Blocks that a target of the full profile grants to each lane: fewer than a cell has bytes.
inline constexpr std::uint32_t kFullTargetBlocks = 192;

enum class To : std::uint8_t { kTarget, kSuite };
// Changes a datagram. Returns false to drop it.
using Rule = std::function<bool(To to, RelayBytes& datagram)>;

class Relay final : public fabric::UnderlayDecorator {
 public:
  Relay(fabric::Underlay& below, Rule rule) : UnderlayDecorator(below), rule_(std::move(rule)) {}

  base::Time deadline() const override { return below_.deadline(); }
  SendStatus send(const fabric::PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    while (!bytes.empty()) {
      const base::Bytes datagram = bytes.first(std::min(stride, bytes.size()));
      bytes = bytes.subspan(datagram.size());
      for (RelayBytes& one : parts(datagram)) {
        if (!rule_(To::kSuite, one) || one.empty()) continue;
        static_cast<void>(below_.send(to, one, one.size()));
      }
    }
    return SendStatus::kSent;
  }
  std::optional<Received> receive() override {
    for (;;) {
      if (!waiting_.empty()) {
        current_ = std::move(waiting_.front());
        waiting_.pop_front();
        return Received{current_, current_.size(), from_};
      }
      const auto batch = below_.receive();
      if (!batch) return std::nullopt;
      from_ = batch->from;
      for (base::Bytes rest = batch->bytes; !rest.empty();) {
        const base::Bytes datagram = rest.first(std::min(batch->stride, rest.size()));
        rest = rest.subspan(datagram.size());
        RelayBytes one(datagram.begin(), datagram.end());
        if (rule_(To::kTarget, one) && !one.empty()) waiting_.push_back(std::move(one));
      }
    }
  }

 private:
  static std::vector<RelayBytes> parts(base::Bytes datagram) {
    std::vector<RelayBytes> out;
    fabric::FlitWalker walker(datagram);
    fabric::FlitView flit;
    while (walker.next(flit) == fabric::FlitWalker::Step::kFlit) {
      out.emplace_back(datagram.begin(),
                       datagram.begin() + static_cast<std::ptrdiff_t>(flit.bytes()));
      datagram = datagram.subspan(flit.bytes());
    }
    if (out.empty()) out.emplace_back(datagram.begin(), datagram.end());  // of the session layer
    return out;
  }

  Rule rule_;
  std::deque<RelayBytes> waiting_;
  RelayBytes current_;
  fabric::PeerAddress from_;
};

}  // namespace splitnic::conformance
