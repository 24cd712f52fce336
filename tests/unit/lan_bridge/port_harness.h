// For tests of ports on real interfaces: network namespaces, and an inbox that reads what a port
// receives.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lan_bridge/frame/segment.h"
#include "lan_bridge/frame_port.h"
#include "tests/support/network_namespace.h"
#include "tests/unit/lan_bridge/frame_builder.h"

namespace splitnic::lan::port_harness {

using frame_builder::Bytes;

using support::run;

// As support::in_namespace(), and without the frames that IPv6 sends on new interfaces.
inline void in_namespace(const std::function<void()>& body) {
  support::in_namespace([&] {
    run("echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6");
    body();
  });
}
// The same with a veth pair va - vb in it, both up.
inline void on_veth(const std::function<void()>& body, const std::string& mtu = "1500") {
  in_namespace([&] {
    run("ip link add va mtu " + mtu + " type veth peer name vb mtu " + mtu);
    run("ip link set va up && ip link set vb up");
    // The kernel drops frames until it has noticed both carriers.
    run("for i in va vb; do until ip -br link show $i | grep -q ' UP '; do sleep 0.01; done; done");
    body();
  });
}

class Inbox {
 public:
  explicit Inbox(FramePort& port, std::size_t arena_bytes = 4U << 20)
      : port_(port), arena_(arena_bytes), ring_(arena_, 1024) {}

  // Reads up to `count` frames. `quiet`: only those that arrive without a gap of 100 ms; else all
  // of them must arrive, however busy the machine is.
  std::vector<Bytes> take(std::size_t count, bool quiet = false) {
    const auto patience = std::chrono::milliseconds(quiet ? 100 : 60'000);
    auto end = std::chrono::steady_clock::now() + patience;
    std::vector<Bytes> frames;
    std::array<base::Bytes, 8> batch;
    while (frames.size() < count) {
      // Before the read: a thread that was kept from running after it finds out by one more.
      const bool is_over = std::chrono::steady_clock::now() > end;
      const auto [n, more] = port_.read(
          ring_, std::span(batch).first(std::min<std::size_t>(8, count - frames.size())));
      for (std::size_t i = 0; i < n; ++i) frames.emplace_back(batch[i].begin(), batch[i].end());
      for (std::size_t i = 0; i < n; ++i) ring_.release();
      if (n > 0 || more) {
        end = std::chrono::steady_clock::now() + patience;
        continue;
      }
      if (is_over || port_.input_ended()) break;
      pollfd wait{port_.fd(), POLLIN, 0};
      ::poll(&wait, 1, 10);
    }
    return frames;
  }
  std::vector<Bytes> take_all() { return take(1000000, true); }
  FrameRing& ring() { return ring_; }

 private:
  FramePort& port_;
  std::vector<std::byte> arena_;
  FrameRing ring_;
};

// Writes all frames, and waits while the port would block.
inline void write_all(FramePort& port, const std::vector<Bytes>& frames) {
  std::vector<base::Bytes> views(frames.begin(), frames.end());
  std::span<const base::Bytes> left(views);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while ((!left.empty() || port.write_pending()) && std::chrono::steady_clock::now() < end) {
    left = left.subspan(port.write(left));
    pollfd wait{port.write_fd(), POLLOUT, 0};
    if (!left.empty() || port.write_pending()) ::poll(&wait, 1, 10);
  }
  ASSERT_TRUE(left.empty());
  ASSERT_FALSE(port.write_pending());
}

inline std::map<std::string, std::uint64_t> counters_of(const FramePort& port) {
  std::map<std::string, std::uint64_t> out;
  port.visit_counters(
      [&](std::string_view name, std::uint64_t value) { out[std::string(name)] = value; });
  return out;
}
inline std::uint64_t sum_of(const std::map<std::string, std::uint64_t>& counters,
                            std::string_view prefix) {
  std::uint64_t sum = 0;
  for (const auto& [name, value] : counters) {
    if (name.starts_with(prefix) && name != "rx.drop.kernel") sum += value;
  }
  return sum;
}
// Appends the frames that software GSO makes of this frame.
inline void append_finished(Bytes frame, std::vector<Bytes>& out) {
  auto segmenter = Segmenter::of(frame, Segmenter::Mode::kFinished);
  if (!segmenter) {
    ASSERT_TRUE(finish_checksum(frame));
    out.push_back(frame);
    return;
  }
  Piece piece;
  while (segmenter->next(piece)) {
    out.emplace_back(piece.size());
    piece.copy_to(out.back());
  }
}
inline std::vector<Bytes> finished(std::span<const Bytes> frames) {
  std::vector<Bytes> out;
  for (const Bytes& frame : frames) append_finished(frame, out);
  return out;
}

// Checks the two balances of lan_bridge/ports/port_counters.h.
inline void expect_balance(const FramePort& port, std::uint64_t frames_read,
                           std::uint64_t frames_written) {
  const auto c = counters_of(port);
  EXPECT_EQ(c.at("rx.frames") + c.at("rx.split"), frames_read + sum_of(c, "rx.drop."));
  EXPECT_EQ(frames_written + c.at("tx.split"), c.at("tx.frames") + sum_of(c, "tx.drop."));
}

// The kernel reports a carrier up to a second late, and later where it is busy.
inline bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

// Returns the frame with the header as its receiver rebuilds it, because hdr_len depends on the
// kernel.
inline Bytes rebuilt(Bytes frame, std::uint32_t mtu = 1500) {
  EXPECT_EQ(rebuild(frame, kOffloadChecksum | kOffloadTso4 | kOffloadTso6 | kOffloadUso, mtu),
            VnetVerdict::kGood);
  return frame;
}
inline std::vector<Bytes> rebuilt(const std::vector<Bytes>& frames, std::uint32_t mtu = 1500) {
  std::vector<Bytes> out;
  for (const Bytes& frame : frames) out.push_back(rebuilt(frame, mtu));
  return out;
}

}  // namespace splitnic::lan::port_harness
