// Two ports over one hub; the batches that one of them sends are kept for inspection.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "link_world.h"

namespace splitnic::fabric::link_cells_test {

using namespace link_world;

// Keeps a copy of each batch that its port sends.
class SendRecorder final : public UnderlayDecorator {
 public:
  struct Call {
    std::vector<std::byte> bytes;
    std::size_t stride;
  };
  using UnderlayDecorator::UnderlayDecorator;
  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    if (result != SendStatus::kSent) return result;
    calls.push_back({{bytes.begin(), bytes.end()}, stride});
    return below_.send(to, bytes, stride);
  }
  std::optional<Received> receive() override { return below_.receive(); }
  base::Time deadline() const override { return below_.deadline(); }

  std::vector<Call> calls;
  SendStatus result = SendStatus::kSent;
};

// Listener a, client b; the batches that b sends are kept.
struct Pair {
  explicit Pair(const InProcessConfig& config = {}, std::uint16_t mcp = 0,
                bool uses_fragments = true)
      : hub(config),
        a_at(hub.add_endpoint()),
        b_at(hub.add_endpoint()),
        recorder(b_at),
        a(a_at, config_of(0xA, 100, true)),
        b(recorder, with(mcp, uses_fragments)) {
    b.port.connect(a_at.address(), now);
    pump();
    recorder.calls.clear();
    a.batches.clear();
  }
  static PortConfig with(std::uint16_t mcp, bool uses_fragments) {
    PortConfig config = config_of(0xB, 200);
    config.mcp_wanted = mcp;
    config.uses_fragments = uses_fragments;
    return config;
  }
  void pump() {
    for (int i = 0; i < 4; ++i) {
      a.receive(now);
      b.receive(now);
    }
  }
  Link& link() { return b.link(); }

  base::Time now = base::ManualClock().now();
  InProcessHub hub;
  InProcessUnderlay& a_at;
  InProcessUnderlay& b_at;
  SendRecorder recorder;
  End a, b;
};

inline std::vector<std::byte> flit_of(const FlitHeader& header,
                                      const std::vector<std::byte>& payload) {
  std::vector<std::byte> flit(kFlitHeaderBytes + payload.size());
  emit_flit(flit, header, payload);
  return flit;
}

inline FlitHeader data_header() {
  FlitHeader header;
  header.ctl = kFlitSof | kFlitEof | kFlitHeaderCrcOnly;
  return header;
}

}  // namespace splitnic::fabric::link_cells_test
