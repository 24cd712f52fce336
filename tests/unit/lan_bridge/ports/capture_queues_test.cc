// Several queues of a captured LAN NIC, on a real veth: packet: and pcap: are one fanout group.
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>

#include "lan_bridge/ports/packet_port.h"
#include "tests/support/open_lan_port.h"
#include "tests/support/refuse_call.h"
#include "tests/unit/lan_bridge/queue_harness.h"

namespace splitnic::lan::capture_queues_test {

using frame_builder::Bytes;
using frame_builder::make_frame;
using namespace port_harness;
using namespace queue_harness;

base::SystemClock system_clock;

Ports open_ports(const std::string& spec, std::uint32_t queues, const PortOptions& options = {}) {
  auto ports = support::open_lan_queues(spec, options, system_clock, queues);
  EXPECT_TRUE(ports) << ports.error().text();
  return std::move(*ports);
}
// Runs `body` for every kind of port, with the other end of the veth.
void on_every_kind(const std::function<void(const std::string& spec, FramePort& lan)>& body) {
  for (const std::string spec : {"packet:vb", "pcap:vb", "pcap:vb,inject=pcap"}) {
    SCOPED_TRACE(spec);
    on_veth([&] {
      auto lan = *PacketPort::open({.interface = "va"});
      body(spec, *lan);
    });
  }
}
std::size_t sum(const std::vector<std::vector<Bytes>>& queues) {
  std::size_t frames = 0;
  for (const auto& queue : queues) frames += queue.size();
  return frames;
}

TEST(CaptureQueuesTest, every_flow_has_one_queue_and_every_queue_has_flows) {
  on_every_kind([](const std::string& spec, FramePort& lan) {
    for (const std::uint32_t count : {2U, 4U}) {
      const Ports ports = open_ports(spec, count);
      ASSERT_EQ(ports.size(), count);
      const auto flows = flows_of_every_kind(32);
      for (const std::vector<std::uint16_t>& tags : {std::vector<std::uint16_t>{}, {5}}) {
        write_all(lan, frames_of(flows, 4, tags));
        expect_spread(take_of_all(ports, flows.size() * 4), flows, 4);
      }
      expect_balance(*ports[0], counters_of(*ports[0])["rx.frames"], 0);
    }
  });
}

TEST(CaptureQueuesTest, a_frame_that_is_written_to_any_queue_leaves_once_and_comes_back_to_none) {
  on_every_kind([](const std::string& spec, FramePort& lan) {
    const Ports ports = open_ports(spec, 2);
    Inbox inbox(lan);
    for (const auto& port : ports) {
      const std::vector<Bytes> sent{make_frame({}), make_frame({.is_ip6 = true, .is_udp = true})};
      write_all(*port, sent);
      EXPECT_EQ(rebuilt(inbox.take(3, true)), sent);
    }
    auto other = *PacketPort::open({.interface = "vb"});
    write_all(*other, {make_frame({})});
    EXPECT_EQ(inbox.take(1).size(), 1U);
    EXPECT_EQ(sum(take_of_all(ports, 0)), 0U);
  });
}

// A socket captures from its bind on, and joins later.
TEST(CaptureQueuesTest, no_frame_is_read_twice_while_the_queues_are_opened) {
  on_every_kind([](const std::string& spec, FramePort& lan) {
    // The ring of pcap: has room for 256 frames.
    const bool is_slow = spec.starts_with("pcap");
    const auto pause = std::chrono::microseconds(is_slow ? 100 : 0);
    std::vector<Bytes> sent;
    for (std::uint16_t port = 1; port < 10000; ++port) {
      sent.push_back(frame_of({false, true, port}, 0));
    }
    const std::vector<base::Bytes> views(sent.begin(), sent.end());
    for (int round = 0; round < 8; ++round) {
      std::atomic<bool> is_open = false;
      std::thread traffic([&] {
        std::span<const base::Bytes> left(views);
        while (!is_open && !left.empty()) {
          left = left.subspan(lan.write(left.first(std::min(left.size(), is_slow ? 1UL : 16UL))));
          const auto end = std::chrono::steady_clock::now() + pause;
          while (std::chrono::steady_clock::now() < end) continue;
        }
      });
      const Ports ports = open_ports(spec, 2);
      is_open = true;
      traffic.join();
      std::map<Flow, int> seen;
      for (const auto& frames : take_of_all(ports, 0)) {
        for (const Bytes& frame : frames) ++seen[flow_of(frame)];
      }
      for (const auto& [flow, times] : seen) ASSERT_EQ(times, 1) << flow.port;
    }
  });
}

TEST(CaptureQueuesTest, the_units_own_fabric_datagrams_reach_no_queue) {
  on_every_kind([](const std::string& spec, FramePort& lan) {
    const Ports ports = open_ports(spec, 2, {.exclude = {{7471}}});
    const auto flood = [&](const MacAddress& mac) {
      std::vector<Bytes> frames;
      for (std::uint16_t source = 1; source <= 32; ++source) {
        frames.push_back(make_frame({.is_udp = true, .port = 7471, .destination = mac}));
        const auto at = frames.back().data() + VnetHeader::kBytes + 34;
        base::store_be<std::uint16_t>(at, source);
      }
      write_all(lan, frames);
      return sum(take_of_all(ports, 0));
    };
    const MacAddress before = ports[0]->state().mac;
    const MacAddress after{0x02, 0, 0, 0, 0, 0x77};
    EXPECT_EQ(flood(before), 0U);
    EXPECT_EQ(flood(after), 32U);
    EXPECT_TRUE(ports[1]->set_mac({0x02, 1, 1, 1, 1, 1}));
    EXPECT_EQ(ports[0]->state().mac, before);
    EXPECT_TRUE(ports[0]->set_mac(after));
    EXPECT_EQ(ports[1]->state().mac, after);
    EXPECT_EQ(flood(before), 32U);
    EXPECT_EQ(flood(after), 0U);
  });
}

TEST(CaptureQueuesTest, an_additional_queue_sees_every_change_and_makes_none) {
  on_every_kind([](const std::string& spec, FramePort& lan) {
    (void)lan;
    const Ports ports = open_ports(spec, 2);
    const auto promiscuity = [] { run("ip -d link show vb | grep -q 'promiscuity 1 '"); };
    promiscuity();
    run("ip link set vb mtu 1400 address 02:00:00:00:00:77");
    const PortState seen = ports[1]->state();
    EXPECT_EQ(seen.mtu, 1400U);
    EXPECT_EQ(seen.mac, (MacAddress{0x02, 0, 0, 0, 0, 0x77}));
    EXPECT_TRUE(ports[1]->set_mtu(1300));
    EXPECT_TRUE(ports[1]->set_carrier(false));
    EXPECT_TRUE(ports[1]->set_promiscuous(false));
    EXPECT_TRUE(ports[1]->set_promiscuous(true));
    EXPECT_TRUE(ports[1]->attach_queue(false));
    promiscuity();
    EXPECT_EQ(ports[0]->state(), seen);
    EXPECT_EQ(ports[1]->state(), seen);
    run("ip link del vb");
    for (const auto& port : ports) {
      EXPECT_FALSE(port->state().admin_up);
      EXPECT_TRUE(port->is_gone());
    }
  });
}

// Another interface of that name is not used: it is reported once it is up, and not when it is
// down.
TEST(CaptureQueuesTest, B_05_an_interface_that_is_back_is_noticed) {
  on_every_kind([](const std::string& spec, FramePort& lan) {
    (void)lan;
    const Ports ports = open_ports(spec, 2);
    const auto are_back = [&] {
      return std::ranges::all_of(ports, [](const auto& port) {
        EXPECT_FALSE(port->state().link_up);
        return port->is_back();
      });
    };
    run("ip link del vb");
    EXPECT_FALSE(are_back());
    run("ip link add vb type veth peer name vc");
    EXPECT_FALSE(are_back());
    run("ip link set vb up");
    EXPECT_TRUE(are_back());
    run("ip link set vb down");
    EXPECT_FALSE(are_back());
    run("ip link set vb up");
    EXPECT_TRUE(are_back());
    run("ip link set vb down && ip link set vb name vd && ip link set vd up");
    EXPECT_FALSE(are_back()) << "it has another name";
    run("ip link set vd down && ip link set vd name vb && ip link set vb up");
    EXPECT_TRUE(are_back());
    run("ip link del vb");
    EXPECT_FALSE(are_back());
  });
}

TEST(CaptureQueuesTest, what_one_queue_got_goes_to_the_others_when_it_is_closed) {
  on_every_kind([](const std::string& spec, FramePort& lan) {
    Ports ports = open_ports(spec, 2);
    ports.pop_back();
    const auto sent = frames_of(flows_of_every_kind(8), 2);
    write_all(lan, sent);
    EXPECT_EQ(Inbox(*ports[0]).take(sent.size() + 1, true).size(), sent.size());
  });
}

TEST(CaptureQueuesTest, a_kernel_that_refuses_the_group_leaves_one_queue_and_one_line) {
  for (const auto option : {std::uint32_t{PACKET_FANOUT}, std::uint32_t{PACKET_FANOUT_DATA}}) {
    on_every_kind([option](const std::string& spec, FramePort& lan) {
      splitnic::support::refuse_call(SYS_setsockopt, 1, SOL_PACKET, splitnic::support::Next::kIs,
                                     option);
      ::testing::internal::CaptureStderr();
      const Ports ports = open_ports(spec, 4);
      const std::string log = ::testing::internal::GetCapturedStderr();
      const std::size_t line = log.find(spec + ": 1 of 4 queues are in use: ");
      EXPECT_NE(line, std::string::npos) << log;
      EXPECT_EQ(line, log.rfind(spec)) << log;
      ASSERT_EQ(ports.size(), 1U);
      const auto sent = frames_of(flows_of_every_kind(8), 2);
      write_all(lan, sent);
      EXPECT_EQ(Inbox(*ports[0]).take(sent.size() + 1, true).size(), sent.size());
    });
  }
}

TEST(CaptureQueuesTest, one_queue_of_a_file_and_a_specification_that_is_none) {
  PortSpec file;
  file.kind = PortSpec::Kind::kFile;
  ::testing::internal::CaptureStderr();
  const Ports ports = open_queues(file, {}, system_clock, 4).value();
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(ports.size(), 1U);
  EXPECT_NE(log.find("1 of 4 queues is in use: a capture file has one"), std::string::npos) << log;
  EXPECT_FALSE(support::open_lan_queues("nothing:x", {}, system_clock, 2));
  EXPECT_FALSE(support::open_lan_queues("packet:nope0", {}, system_clock, 2));
}

}  // namespace splitnic::lan::capture_queues_test
