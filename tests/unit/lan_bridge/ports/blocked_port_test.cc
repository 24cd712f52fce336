// Ports with software GSO on an interface slower than their writers: two writers alternate, and a
// writer's memory is freed as soon as its frame was taken.
#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <deque>
#include <memory>

#include "lan_bridge/ports/packet_port.h"
#include "lan_bridge/ports/pcap_port.h"
#include "lan_bridge/ports/tap_port.h"
#include "tests/unit/lan_bridge/port_harness.h"

namespace splitnic::lan::blocked_port_test {

using frame_builder::Bytes;
using frame_builder::make_frame;
using namespace port_harness;

constexpr int kSendBuffer = 8192;  // a few frames
constexpr const char* kSlow = " root tbf rate 8mbit burst 3kb limit 10mb";
constexpr const char* kHardlyAny = " root tbf rate 8kbit burst 2kb limit 10mb";  // frame leaves

struct Writer {
  std::deque<Bytes> frames;

  // Offers the next frame in memory that is overwritten when the call returns.
  bool offer(FramePort& port) {
    const Bytes& frame = frames.front();
    auto memory = std::make_unique<std::byte[]>(frame.size());
    std::memcpy(memory.get(), frame.data(), frame.size());
    const base::Bytes view(memory.get(), frame.size());
    const bool is_taken = port.write({&view, 1}) == 1;
    std::memset(memory.get(), 0xEE, frame.size());
    if (is_taken) frames.pop_front();
    return is_taken;
  }
};

std::array<Writer, 2> two_writers() {
  std::array<Writer, 2> out;
  for (std::uint64_t i = 0; i < 4; ++i) {
    out[0].frames.push_back(make_frame({.payload_bytes = 20000, .gso_size = 1000, .seed = i}));
    out[1].frames.push_back(make_frame({.is_ip6 = true,
                                        .is_udp = true,
                                        .payload_bytes = 15300,
                                        .gso_size = 1000,
                                        .seed = 100 + i}));
    out[1].frames.push_back(make_frame({.is_udp = true, .is_partial = true, .seed = 200 + i}));
  }
  return out;
}

// Every segment of every frame arrives once, and the segments of two frames never mix.
void expect_whole_frames(FramePort& port, FramePort& lan) {
  std::array<Writer, 2> writers = two_writers();
  std::vector<Bytes> expected;
  std::size_t taken = 0;
  std::size_t times_pending = 0;
  std::size_t times_refused = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (std::size_t round = 0; std::chrono::steady_clock::now() < end; ++round) {
    Writer& writer = writers[round % 2];
    if (writer.frames.empty()) {
      const bool has_ended = writers[0].frames.empty() && writers[1].frames.empty();
      if (has_ended && !port.write_pending()) {
        if (times_pending > 4 && times_refused > 4) break;
        writers = two_writers();  // the port was faster than this thread
      }
      port.flush();
    } else if (const Bytes frame = writer.frames.front(); writer.offer(port)) {
      append_finished(frame, expected);
      ++taken;
    } else {
      ++times_refused;
    }
    if (!port.write_pending()) continue;
    ++times_pending;
    // A frame that has been started continues unchanged.
    ASSERT_TRUE(port.set_offloads(kOffloadsAll));
    ASSERT_TRUE(port.set_offloads(0));
    pollfd wait{port.write_fd(), POLLOUT, 0};
    ::poll(&wait, 1, 10);
  }
  EXPECT_GE(taken, 12U);
  EXPECT_EQ(taken % 12, 0U);
  EXPECT_FALSE(port.write_pending());
  EXPECT_GT(times_pending, 4U);
  EXPECT_GT(times_refused, 4U);
  const auto got = rebuilt(Inbox(lan).take(expected.size()));
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], expected[i]) << i;
  EXPECT_TRUE(Inbox(lan).take_all().empty());
  EXPECT_EQ(counters_of(port)["tx.frames"], expected.size());
  expect_balance(port, 0, taken);
}

void shrink_send_buffer(const FramePort& port) {
  ASSERT_EQ(::setsockopt(port.write_fd(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer),
            0);
}

constexpr std::array kInjections = {Injection::kPacket, Injection::kPcap};

TEST(BlockedPortTest, pcap_without_offloads_ends_a_frame_before_it_takes_another_writers) {
  for (const Injection injection : kInjections) {
    on_veth([injection] {
      auto lan = *PacketPort::open({.interface = "va"});
      auto port = *PcapPort::open({.interface = "vb", .injection = injection});
      shrink_send_buffer(*port);
      ASSERT_TRUE(port->set_offloads(0));
      run(std::string("tc qdisc add dev vb") + kSlow);
      expect_whole_frames(*port, *lan);
    });
  }
}

// The port never keeps a frame that needs no software GSO: if it would block, its writer keeps it.
TEST(BlockedPortTest, pcap_loses_no_plain_frame_that_would_block) {
  for (const Injection injection : kInjections) {
    on_veth([injection] {
      auto lan = *PacketPort::open({.interface = "va"});
      auto port = *PcapPort::open({.interface = "vb", .injection = injection});
      shrink_send_buffer(*port);
      run(std::string("tc qdisc add dev vb") + kHardlyAny);
      std::vector<Bytes> frames;
      for (std::uint64_t i = 0; i < 100; ++i) frames.push_back(make_frame({.seed = i}));
      const std::vector<base::Bytes> views(frames.begin(), frames.end());
      const std::size_t taken = port->write(views);
      EXPECT_LT(taken, frames.size());
      EXPECT_FALSE(port->write_pending());
      EXPECT_EQ(counters_of(*port)["tx.frames"], taken);
      run(std::string("tc qdisc replace dev vb") + kSlow);
      write_all(*port, std::vector<Bytes>(frames.begin() + static_cast<std::ptrdiff_t>(taken),
                                          frames.end()));
      EXPECT_EQ(rebuilt(Inbox(*lan).take(frames.size())), frames);
      expect_balance(*port, 0, frames.size());
    });
  }
}

// libpcap's own socket, which only captures then, is writable all the time.
TEST(BlockedPortTest, pcap_reports_room_for_super_frames_by_the_socket_that_sends_them) {
  on_veth([] {
    auto lan = *PacketPort::open({.interface = "va"});
    auto port = *PcapPort::open({.interface = "vb"});
    ASSERT_NE(port->write_fd(), port->fd());
    shrink_send_buffer(*port);
    run(std::string("tc qdisc add dev vb") + kHardlyAny);
    std::vector<Bytes> frames;
    for (std::uint64_t i = 0; i < 20; ++i) {
      frames.push_back(make_frame({.payload_bytes = 20000, .gso_size = 1000, .seed = i}));
      frames.push_back(make_frame({.is_ip6 = true, .is_partial = true, .seed = i}));
    }
    const std::vector<base::Bytes> views(frames.begin(), frames.end());
    std::size_t taken = port->write(views);
    ASSERT_LT(taken, frames.size());
    EXPECT_FALSE(port->write_pending());  // nothing is segmented, so nothing is kept
    std::array<pollfd, 2> waits{{{port->fd(), POLLOUT, 0}, {port->write_fd(), POLLOUT, 0}}};
    ASSERT_EQ(::poll(waits.data(), waits.size(), 0), 1);
    EXPECT_EQ(waits[1].revents, 0);
    run(std::string("tc qdisc replace dev vb") + kSlow);
    while (taken < frames.size()) {
      ASSERT_EQ(::poll(&waits[1], 1, 60'000), 1);
      taken += port->write(std::span(views).subspan(taken));
    }
    EXPECT_EQ(finished(rebuilt(Inbox(*lan).take(frames.size() * 21 / 2))), finished(frames));
    EXPECT_EQ(counters_of(*port)["tx.split"], 0U);
    expect_balance(*port, 0, frames.size());
  });
}

TEST(BlockedPortTest, packet_without_offloads_ends_a_frame_before_it_takes_another_writers) {
  on_veth([] {
    auto lan = *PacketPort::open({.interface = "va"});
    auto port = *PacketPort::open({.interface = "vb"});
    shrink_send_buffer(*port);
    ASSERT_TRUE(port->set_offloads(0));
    run(std::string("tc qdisc add dev vb") + kSlow);
    expect_whole_frames(*port, *lan);
  });
}

// A TAP blocks while its frames wait at another interface.
TEST(BlockedPortTest, tap_without_offloads_ends_a_frame_before_it_takes_another_writers) {
  on_veth([] {
    auto lan = *PacketPort::open({.interface = "va"});
    auto port = *TapPort::open({.name = "nic0"});
    ASSERT_EQ(::ioctl(port->fd(), TUNSETSNDBUF, &kSendBuffer), 0);
    ASSERT_TRUE(port->set_offloads(0));
    run("ip link set nic0 up && tc qdisc add dev nic0 ingress");
    run("tc filter add dev nic0 ingress protocol all prio 1 u32 match u32 0 0"
        " action mirred egress redirect dev vb");
    run(std::string("tc qdisc add dev vb") + kSlow);
    expect_whole_frames(*port, *lan);
  });
}

TEST(BlockedPortTest, what_waits_is_dropped_and_counted_when_its_interface_goes) {
  on_veth([] {
    auto port = *PcapPort::open({.interface = "vb", .injection = Injection::kPcap});
    shrink_send_buffer(*port);
    run(std::string("tc qdisc add dev vb") + kHardlyAny);
    std::vector<Bytes> frames(4, make_frame({.payload_bytes = 20000, .gso_size = 1000}));
    const std::vector<base::Bytes> views(frames.begin(), frames.end());
    EXPECT_EQ(port->write(views), 1U);
    ASSERT_TRUE(port->write_pending());
    EXPECT_EQ(port->write(views), 0U);
    run("ip link del vb");
    port->flush();
    EXPECT_FALSE(port->write_pending());
    const auto c = counters_of(*port);
    EXPECT_GT(c.at("tx.drop.down"), 0U);
    EXPECT_EQ(c.at("tx.frames") + c.at("tx.drop.down"), 20U);
    expect_balance(*port, 0, 1);
  });
}

}  // namespace splitnic::lan::blocked_port_test
