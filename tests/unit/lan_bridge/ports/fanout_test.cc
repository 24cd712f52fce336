// The fanout program in the kernel, on a real veth: which member of a group gets which frame.
#include "lan_bridge/ports/fanout.h"

#include <gtest/gtest.h>
#include <linux/if_ether.h>

#include <algorithm>

#include "lan_bridge/ports/packet_port.h"
#include "lan_bridge/ports/packet_socket.h"
#include "tests/unit/lan_bridge/queue_harness.h"

namespace splitnic::lan::fanout_test {

using frame_builder::Bytes;
using namespace port_harness;
using namespace queue_harness;

Ports open_vb(std::uint32_t queues) {
  return *PacketPort::open_queues({.interface = "vb"}, queues);
}

// Writes the frames to the other end, and returns the queues that got any of them.
std::set<std::size_t> queues_of(FramePort& lan, const Ports& ports,
                                const std::vector<Bytes>& frames) {
  write_all(lan, frames);
  const auto got = take_of_all(ports, frames.size());
  std::set<std::size_t> queues;
  std::size_t total = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!got[i].empty()) queues.insert(i);
    total += got[i].size();
  }
  EXPECT_EQ(total, frames.size());
  return queues;
}
std::size_t l3_of(const Bytes& frame) {
  return parse_frame(frame_builder::ethernet_of(frame))->l3_offset + VnetHeader::kBytes;
}

TEST(FanoutTest, both_directions_of_a_flow_have_the_same_queue) {
  on_veth([] {
    auto lan = *PacketPort::open({.interface = "va"});
    const Ports ports = open_vb(4);
    const auto flows = flows_of_every_kind(32);
    std::vector<Bytes> sent = frames_of(flows, 2);
    for (const Flow& flow : flows) sent.push_back(reversed(frame_of(flow, 2)));
    write_all(*lan, sent);
    expect_spread(take_of_all(ports, sent.size()), flows, 3);
  });
}

// Also where the sum of the two ports is constant, or their exclusive or.
TEST(FanoutTest, a_few_flows_whose_ports_are_alike_spread) {
  struct Steps {
    int source;
    int target;
  };
  on_veth([] {
    auto lan = *PacketPort::open({.interface = "va"});
    const Ports ports = open_vb(2);
    for (const auto& [source, target] :
         {Steps{1, 0}, Steps{0, 1}, Steps{0, 2}, Steps{0, 256}, Steps{1, 1}, Steps{1, -1}}) {
      std::vector<Bytes> sent;
      for (int i = 0; i < 32; ++i) {
        sent.push_back(frame_of({false, false, static_cast<std::uint16_t>(4096 + i * target)}, 0));
        base::store_be<std::uint16_t>(sent.back().data() + l3_of(sent.back()) + 20,
                                      static_cast<std::uint16_t>(32768 + i * source));
      }
      write_all(*lan, sent);
      const auto got = take_of_all(ports, sent.size());
      EXPECT_GE(std::min(got[0].size(), got[1].size()), 8U) << source << " " << target;
    }
  });
}

TEST(FanoutTest, what_has_no_flow_goes_by_the_processor_that_sends_it) {
  on_veth([] {
    auto lan = *PacketPort::open({.interface = "va"});
    const Ports ports = open_vb(2);
    Bytes unknown = arp();
    unknown[VnetHeader::kBytes + 12] = std::byte{0x88};
    unknown[VnetHeader::kBytes + 13] = std::byte{0xB5};
    const std::vector<Bytes> sent{arp(), unknown};
    for_each_processor([&](int cpu) {
      EXPECT_EQ(queues_of(*lan, ports, sent),
                std::set<std::size_t>{static_cast<unsigned>(cpu) % 2});
    });
  });
}

TEST(FanoutTest, fragments_and_frames_with_two_tags_stay_on_one_queue) {
  on_veth([] {
    auto lan = *PacketPort::open({.interface = "va"});
    const Ports ports = open_vb(4);
    const auto flows = flows_of_every_kind(8);
    std::vector<Bytes> fragments;
    std::vector<Bytes> others;
    for (const Flow& flow : flows) {
      const Bytes frame = frame_of(flow, 0);
      const std::size_t l3 = l3_of(frame);
      for (const std::byte bits :
           {std::byte{0x20}, std::byte{0}}) {  // the first one and the last one
        if (flow.is_ip6) break;
        fragments.push_back(frame);
        fragments.back()[l3 + 6] = bits;
        if (bits == std::byte{0}) fragments.back()[l3 + 7] = std::byte{9};
      }
      others.push_back(frame);
      others.back()[l3 + (flow.is_ip6 ? 6 : 9)] = std::byte{47};  // GRE
    }
    EXPECT_EQ(queues_of(*lan, ports, fragments).size(), 1U);
    EXPECT_EQ(queues_of(*lan, ports, frames_of(flows, 1, {100, 5})).size(), 1U);
    EXPECT_LE(queues_of(*lan, ports, others).size(), 2U);  // one of each IP version
  });
}

TEST(FanoutTest, the_hash_of_the_kernel_serves_where_the_program_is_refused) {
  on_veth([] {
    auto lan = *PacketPort::open({.interface = "va"});
    const auto link = *NetlinkLink::open("vb");
    FanoutGroup group(false);
    std::vector<base::UniqueFd> members;
    for (int i = 0; i < 2; ++i) {
      members.push_back(*open_packet_socket());
      ASSERT_TRUE(bind_packet_socket(members.back().get(), link->index(), ETH_P_ALL));
      ASSERT_TRUE(group.join(members.back().get()));
    }
    const auto sent = frames_of(flows_of_every_kind(32), 1);
    write_all(*lan, sent);
    std::array<std::size_t, 2> got{};
    EXPECT_TRUE(eventually([&] {
      std::array<std::byte, 2048> room;
      for (std::size_t i = 0; i < 2; ++i) {
        while (::recv(members[i].get(), room.data(), room.size(), 0) > 0) ++got[i];
      }
      return got[0] + got[1] >= sent.size();
    }));
    EXPECT_EQ(got[0] + got[1], sent.size());
    EXPECT_GE(std::min(got[0], got[1]), sent.size() / 8);
  });
}

TEST(FanoutTest, two_groups_of_one_interface_each_get_every_frame) {
  on_veth([] {
    auto lan = *PacketPort::open({.interface = "va"});
    const Ports one = open_vb(2);
    const Ports other = open_vb(2);
    const auto flows = flows_of_every_kind(32);
    write_all(*lan, frames_of(flows, 1));
    const auto first = expect_spread(take_of_all(one, flows.size()), flows, 1);
    const auto second = expect_spread(take_of_all(other, flows.size()), flows, 1);
    EXPECT_EQ(first, second);
  });
}

TEST(FanoutTest, the_filter_of_a_member_accepts_no_frame_that_leaves) {
  on_veth([] {
    auto here = *PacketPort::open({.interface = "va"});
    auto there = *PacketPort::open({.interface = "vb"});
    const auto link = *NetlinkLink::open("va");
    for (const bool is_excluded : {false, true}) {
      auto socket = *open_packet_socket();
      std::vector<sock_filter> filter{{BPF_RET | BPF_K, 0, 0, 0x7FFFFFFF}};
      if (is_excluded) exclude_outgoing(filter);
      const sock_fprog code{static_cast<unsigned short>(filter.size()), filter.data()};
      ASSERT_TRUE(set_option(socket.get(), SOL_SOCKET, SO_ATTACH_FILTER, code));
      ASSERT_TRUE(bind_packet_socket(socket.get(), link->index(), ETH_P_ALL));
      write_all(*here, {arp()});
      write_all(*there, {arp()});
      ASSERT_EQ(Inbox(*here).take(1).size(), 1U);
      int got = 0;
      std::array<std::byte, 2048> room;
      while (::recv(socket.get(), room.data(), room.size(), 0) > 0) ++got;
      EXPECT_EQ(got, is_excluded ? 1 : 2);
    }
  });
}

}  // namespace splitnic::lan::fanout_test
