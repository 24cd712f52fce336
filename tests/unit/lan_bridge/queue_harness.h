// For tests of ports with several queues: flows with numbered frames, and checks of where they
// arrive.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/endian.h"
#include "lan_bridge/ports/packet_port.h"
#include "lan_bridge/ports/tap_port.h"
#include "tests/support/one_cpu.h"
#include "tests/unit/lan_bridge/port_harness.h"

namespace splitnic::lan::queue_harness {

using frame_builder::Bytes;

struct Flow {
  bool is_ip6 = false;
  bool is_udp = false;
  std::uint16_t port = 0;
  auto operator<=>(const Flow&) const = default;
};

// `per_kind` flows each of TCP and UDP over IPv4 and IPv6.
inline std::vector<Flow> flows_of_every_kind(std::uint16_t per_kind) {
  std::vector<Flow> flows;
  for (std::uint16_t i = 0; i < per_kind; ++i) {
    for (const bool is_ip6 : {false, true}) {
      for (const bool is_udp : {false, true}) {
        flows.push_back({is_ip6, is_udp, static_cast<std::uint16_t>(5000 + i)});
      }
    }
  }
  return flows;
}

// The frame `number` of a flow. Its number is its length.
inline Bytes frame_of(const Flow& flow, std::size_t number,
                      const std::vector<std::uint16_t>& tags = {}) {
  return frame_builder::make_frame({.is_ip6 = flow.is_ip6,
                                    .is_udp = flow.is_udp,
                                    .tags = tags,
                                    .payload_bytes = 100 + number,
                                    .port = flow.port});
}
// Interleaves `count` frames of each flow.
inline std::vector<Bytes> frames_of(std::span<const Flow> flows, std::size_t count,
                                    const std::vector<std::uint16_t>& tags = {}) {
  std::vector<Bytes> frames;
  for (std::size_t number = 0; number < count; ++number) {
    for (const Flow& flow : flows) frames.push_back(frame_of(flow, number, tags));
  }
  return frames;
}
// Exchanges the source and the destination of addresses and ports, as in a reply.
inline Bytes reversed(Bytes frame) {
  const auto layout = *parse_frame(frame_builder::ethernet_of(frame));
  const auto exchange = [&](std::size_t offset, std::size_t bytes) {
    const auto at = frame.begin() + static_cast<std::ptrdiff_t>(VnetHeader::kBytes + offset);
    std::swap_ranges(at, at + static_cast<std::ptrdiff_t>(bytes),
                     at + static_cast<std::ptrdiff_t>(bytes));
  };
  exchange(0, 6);
  if (layout.l3 == L3::kIp4) exchange(layout.l3_offset + 12, 4);
  if (layout.l3 == L3::kIp6) exchange(layout.l3_offset + 8, 16);
  if (layout.l4_offset != 0) exchange(layout.l4_offset, 2);
  return frame;
}

// The flow of a frame in either direction.
inline Flow flow_of(const Bytes& frame) {
  const base::Bytes ethernet = frame_builder::ethernet_of(frame);
  const auto layout = *parse_frame(ethernet);
  const auto source = base::load_be<std::uint16_t>(ethernet.data() + layout.l4_offset);
  const auto target = base::load_be<std::uint16_t>(ethernet.data() + layout.l4_offset + 2);
  return {layout.l3 == L3::kIp6, layout.l4 == L4::kUdp, source == 40000 ? target : source};
}

using Ports = std::vector<std::unique_ptr<FramePort>>;
using Taps = std::vector<std::unique_ptr<TapPort>>;

inline Taps open_taps(const TapOptions& options, std::uint32_t queues) {
  auto taps = TapPort::open_queues(options, queues);
  EXPECT_TRUE(taps) << taps.error().text();
  return std::move(*taps);
}
inline Ports as_ports(Taps taps) {
  return {std::make_move_iterator(taps.begin()), std::make_move_iterator(taps.end())};
}
inline void attach_all(const Ports& ports) {
  for (const auto& port : ports) ASSERT_TRUE(port->attach_queue(true));
}

// The interface nic0 of a TAP, up and with all its queues attached, and a packet port on it, which
// is the stack.
struct AttachedTap {
  explicit AttachedTap(Taps taps) : ports(as_ports(std::move(taps))) {
    attach_all(ports);
    port_harness::run("ip link set nic0 up");
    stack = *PacketPort::open({.interface = "nic0"});
  }
  explicit AttachedTap(std::uint32_t queues) : AttachedTap(open_taps({.name = "nic0"}, queues)) {}

  Ports ports;
  std::unique_ptr<PacketPort> stack;
};

// Runs `body` on each of up to four processors.
inline void for_each_processor(const std::function<void(int cpu)>& body) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  for (int cpu = 0; cpu < 4; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const support::OneCpu pinned(cpu);
    body(cpu);
  }
}

inline int times(const std::string& log, const std::string& text) {
  int count = 0;
  for (auto at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++count;
  return count;
}

// Reads from all ports until `count` frames are there, and what else arrives within 100 ms.
inline std::vector<std::vector<Bytes>> take_of_all(const Ports& ports, std::size_t count) {
  std::vector<std::unique_ptr<port_harness::Inbox>> inboxes;
  for (const auto& port : ports) {
    inboxes.push_back(std::make_unique<port_harness::Inbox>(*port));
  }
  std::vector<std::vector<Bytes>> out(ports.size());
  std::size_t total = 0;
  (void)port_harness::eventually([&] {
    for (std::size_t i = 0; i < ports.size(); ++i) {
      for (Bytes& frame : inboxes[i]->take_all()) {
        out[i].push_back(std::move(frame));
        ++total;
      }
    }
    return total >= count;
  });
  return out;
}

// Checks that each flow has one queue, where its `count` frames are in order and complete, and that
// every queue has flows. Returns the queue of each flow.
inline std::map<Flow, std::size_t> expect_spread(const std::vector<std::vector<Bytes>>& queues,
                                                 std::span<const Flow> flows, std::size_t count) {
  std::map<Flow, std::size_t> queue_of;
  std::map<Flow, std::size_t> next;
  for (std::size_t i = 0; i < queues.size(); ++i) {
    std::set<Flow> here;
    for (const Bytes& frame : queues[i]) {
      const Flow flow = flow_of(frame);
      here.insert(flow);
      queue_of.emplace(flow, i);
      EXPECT_EQ(queue_of[flow], i) << "a flow on two queues";
      const std::size_t number = frame_builder::payload_of(frame).size() - 100;
      EXPECT_EQ(number, next[flow]++) << "out of order";
    }
    EXPECT_GE(here.size(), flows.size() / queues.size() / 4) << "queue " << i;
  }
  EXPECT_EQ(next.size(), flows.size());
  for (const auto& [flow, frames] : next) EXPECT_EQ(frames, count);
  return queue_of;
}

inline Bytes arp() {
  Bytes frame(VnetHeader::kBytes);
  const Bytes request = frame_builder::from_hex(
      "ffffffffffff 02000000000a 0806 0001080006040001 02000000000a 0a00000a 000000000000 0a00000b"
      "000000000000000000000000000000000000");
  frame.insert(frame.end(), request.begin(), request.end());
  return frame;
}
// A frame of a flow that has become ICMP or ICMPv6.
inline Bytes icmp(bool is_ip6) {
  Bytes frame = frame_of({is_ip6, true, 9}, 0);
  const auto l3 = parse_frame(frame_builder::ethernet_of(frame))->l3_offset + VnetHeader::kBytes;
  frame[l3 + (is_ip6 ? 6 : 9)] = std::byte{static_cast<unsigned char>(is_ip6 ? 58 : 1)};
  return frame;
}

// Opens the TAP nic0 with four queues, of which the kernel refuses all but the first: frames of
// every flow arrive there. Returns the log.
inline std::string use_one_of_four_queues() {
  ::testing::internal::CaptureStderr();
  const Taps taps = open_taps({.name = "nic0"}, 4);
  std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(times(log, "nic0: 1 of 4 queues are in use"), 1) << log;
  EXPECT_EQ(taps.size(), 1U);
  port_harness::run("ip link set nic0 up");
  const auto stack = *PacketPort::open({.interface = "nic0"});
  const auto sent = frames_of(flows_of_every_kind(4), 2);
  port_harness::write_all(*stack, sent);
  EXPECT_EQ(port_harness::Inbox(*taps[0]).take(sent.size()).size(), sent.size());
  return log;
}

}  // namespace splitnic::lan::queue_harness
