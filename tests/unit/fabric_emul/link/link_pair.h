// Two ports over one hub, and what one of them sends kept for inspection.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "link_world.h"

namespace splitnic::fabric::link_cells_test {

using namespace link_world;

// Stands between a port and its underlay and keeps what was sent.
class Tap final : public Underlay {
 public:
  struct Call {
    std::vector<std::byte> bytes;
    std::size_t stride;
  };
  explicit Tap(Underlay& below) : below_(below) {}
  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    if (answer != SendStatus::kSent) return answer;
    calls.push_back({{bytes.begin(), bytes.end()}, stride});
    return below_.send(to, bytes, stride);
  }
  std::optional<Received> receive() override { return below_.receive(); }
  std::size_t datagram_bytes_max(const PeerAddress& to) const override {
    return below_.datagram_bytes_max(to);
  }
  std::size_t receive_buffer_bytes() const override { return below_.receive_buffer_bytes(); }
  std::string name_of(const PeerAddress& peer) const override { return below_.name_of(peer); }

  std::vector<Call> calls;
  SendStatus answer = SendStatus::kSent;

 private:
  Underlay& below_;
};

// Listener a, client b; what b sends is kept.
struct Pair {
  explicit Pair(const InProcessConfig& config = {}, std::uint16_t mcp = 0)
      : hub(config),
        a_at(hub.add_endpoint()),
        b_at(hub.add_endpoint()),
        tap(b_at),
        a(a_at, config_of(0xA, 100, true)),
        b(tap, with_mcp(mcp)) {
    b.port.connect(a_at.address(), now);
    pump();
    tap.calls.clear();
    a.batches.clear();
  }
  static PortConfig with_mcp(std::uint16_t mcp) {
    PortConfig config = config_of(0xB, 200);
    config.mcp_wanted = mcp;
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
  Tap tap;
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
