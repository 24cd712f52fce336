// The flow program of a TAP in the kernel, on real TAPs: a packet port on the interface is the
// stack.
#include "lan_bridge/ports/steering.h"

#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <sys/syscall.h>

#include "lan_bridge/ports/packet_port.h"
#include "tests/support/refuse_call.h"
#include "tests/unit/lan_bridge/queue_harness.h"

namespace splitnic::lan::steering_test {

using frame_builder::Bytes;
using namespace port_harness;
using namespace queue_harness;

constexpr std::uint32_t kQueues = 4;

// Both directions of flows, fragments of them, GRE, and frames with two tags. (One tag is out of
// band at the LAN, and in band in a frame that a packet port writes to the TAP.)
std::vector<Bytes> frames_with_a_flow() {
  std::vector<Bytes> frames = frames_of(flows_of_every_kind(16), 1);
  const auto tagged = frames_of(flows_of_every_kind(4), 1, {100, 5});
  frames.insert(frames.end(), tagged.begin(), tagged.end());
  const std::size_t whole = frames.size();
  for (std::size_t i = 0; i < whole; ++i) {
    frames.push_back(reversed(frames[i]));
    const auto layout = *parse_frame(frame_builder::ethernet_of(frames[i]));
    if (layout.l3 != L3::kIp4) continue;
    const std::size_t l3 = layout.l3_offset + VnetHeader::kBytes;
    frames.push_back(frames[i]);
    frames.back()[l3 + 6] = std::byte{0x20};  // a fragment
    frames.push_back(frames[i]);
    frames.back()[l3 + 9] = std::byte{47};  // GRE
  }
  return frames;
}

// The queue of each frame, one after the other.
std::vector<std::size_t> queues_of_each(FramePort& writer, const Ports& ports,
                                        const std::vector<Bytes>& frames) {
  std::vector<std::unique_ptr<Inbox>> inboxes;
  for (const auto& port : ports) inboxes.push_back(std::make_unique<Inbox>(*port, 1U << 18));
  std::vector<std::size_t> queues;
  for (const Bytes& frame : frames) {
    write_all(writer, {frame});
    EXPECT_TRUE(eventually([&] {
      for (std::size_t i = 0; i < ports.size(); ++i) {
        std::array<base::Bytes, 1> got;
        if (ports[i]->read(inboxes[i]->ring(), got).frames == 0) continue;
        inboxes[i]->ring().release();
        queues.push_back(i);
        return true;
      }
      return false;
    }));
  }
  return queues;
}

TEST(SteeringTest, a_frame_has_the_same_queue_at_the_tap_and_at_the_lan) {
  on_veth([] {
    const auto frames = frames_with_a_flow();
    auto far = *PacketPort::open({.interface = "va"});
    const Ports lan = *PacketPort::open_queues({.interface = "vb"}, kQueues);
    const AttachedTap nic(kQueues);
    const auto at_tap = queues_of_each(*nic.stack, nic.ports, frames);
    EXPECT_EQ(at_tap, queues_of_each(*far, lan, frames));
    EXPECT_EQ(std::set<std::size_t>(at_tap.begin(), at_tap.end()).size(), kQueues);
  });
}

// As the kernel would take the queue of a frame of the reverse direction.
TEST(SteeringTest, a_flow_stays_on_its_queue_wherever_the_reverse_direction_is) {
  in_namespace([] {
    const AttachedTap nic(kQueues);
    const auto frames = frames_of(flows_of_every_kind(4), 1);
    const auto before = queues_of_each(*nic.stack, nic.ports, frames);
    for (const auto& tap : nic.ports) {
      for (const Bytes& frame : frames) write_all(*tap, {reversed(frame)});
      EXPECT_EQ(queues_of_each(*nic.stack, nic.ports, frames), before);
    }
  });
}

// As a datagram of a flow that is longer than the MTU becomes fragments, and the next one does not.
TEST(SteeringTest, whole_datagrams_stay_with_the_fragments_of_their_flow) {
  in_namespace([] {
    const AttachedTap nic(kQueues);
    std::vector<Bytes> frames;
    for (std::uint16_t port = 5000; port < 5016; ++port) {
      frames.push_back(frame_of({false, true, port}, 0));
      frames.push_back(frames.back());
      frames.back()[VnetHeader::kBytes + 14 + 6] = std::byte{0x20};
    }
    const auto queues = queues_of_each(*nic.stack, nic.ports, frames);
    EXPECT_EQ(std::set<std::size_t>(queues.begin(), queues.end()).size(), 1U);
  });
}

TEST(SteeringTest, what_has_no_flow_goes_by_the_processor_that_sends_it) {
  in_namespace([] {
    const AttachedTap nic(2);
    for_each_processor([&](int cpu) {
      const std::vector<std::size_t> expected(1, static_cast<unsigned>(cpu) % 2);
      EXPECT_EQ(queues_of_each(*nic.stack, nic.ports, {arp()}), expected);
    });
  });
}

// The reply comes to the thread that has just carried the request, whichever processor sends
// either: another thread would have to wake up for it, on both sides.
TEST(SteeringTest, a_ping_and_its_reply_have_one_queue_on_every_processor) {
  on_veth([] {
    auto far = *PacketPort::open({.interface = "va"});
    const Ports lan = *PacketPort::open_queues({.interface = "vb"}, kQueues);
    const AttachedTap nic(kQueues);
    for (const bool is_ip6 : {false, true}) {
      const Bytes request = icmp(is_ip6);
      std::set<std::size_t> queues;
      for_each_processor([&](int) {
        queues.insert(queues_of_each(*nic.stack, nic.ports, {request}).at(0));
        queues.insert(queues_of_each(*far, lan, {reversed(request)}).at(0));
      });
      EXPECT_EQ(queues.size(), 1U) << (is_ip6 ? "ICMPv6" : "ICMP");
    }
  });
}

TEST(SteeringTest, a_tap_has_one_queue_where_the_kernel_refuses_the_program) {
  in_namespace([] {
    splitnic::support::refuse_call(SYS_bpf, 0, BPF_PROG_LOAD, splitnic::support::Next::kHasAnyOf,
                                   ~0U);
    const std::string log = use_one_of_four_queues();
    EXPECT_EQ(times(log, "in use: keeping flows in order: "), 1) << log;
    EXPECT_EQ(times(log, "run as root or with CAP_BPF"), 1) << log;
  });
}

}  // namespace splitnic::lan::steering_test
