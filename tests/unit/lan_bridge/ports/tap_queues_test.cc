// Real TAPs with several queues: a packet port on the same interface is the stack.
#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "lan_bridge/ports/packet_port.h"
#include "lan_bridge/ports/tap_port.h"
#include "tests/support/refuse_call.h"
#include "tests/unit/lan_bridge/queue_harness.h"

namespace splitnic::lan::tap_queues_test {

using frame_builder::Bytes;
using frame_builder::make_frame;
using namespace port_harness;
using namespace queue_harness;

bool exists() { return NetlinkLink::find("nic0")->has_value(); }
bool is_readable(int fd) {
  pollfd wait{fd, POLLIN, 0};
  return ::poll(&wait, 1, 100) != 0;
}

// Each of 32 flows of each kind has one queue, and every queue has some of them.
void expect_every_flow_on_one_queue(const AttachedTap& nic) {
  const auto flows = flows_of_every_kind(32);
  write_all(*nic.stack, frames_of(flows, 5));
  expect_spread(take_of_all(nic.ports, flows.size() * 5), flows, 5);
}

TEST(TapQueuesTest, every_flow_has_one_queue_and_every_queue_has_flows) {
  for (const std::uint32_t count : {2U, 4U}) {
    in_namespace([&] {
      const AttachedTap nic(count);
      ASSERT_EQ(nic.ports.size(), count);
      expect_every_flow_on_one_queue(nic);
      const std::vector<Bytes> others{arp(), icmp(false), icmp(true)};
      write_all(*nic.stack, others);
      std::size_t arrived = 0;
      for (const auto& frames : take_of_all(nic.ports, others.size())) arrived += frames.size();
      EXPECT_EQ(arrived, others.size());
      EXPECT_EQ(counters_of(*nic.ports[1])["rx.drop.kernel"], 0U);
    });
  }
}

TEST(TapQueuesTest, a_detached_queue_gets_no_frame_and_is_never_ready) {
  in_namespace([] {
    const Ports ports = as_ports(open_taps({.name = "nic0"}, 2));
    EXPECT_FALSE(is_readable(ports[1]->fd()));
    run("ip link set nic0 up");
    auto stack = *PacketPort::open({.interface = "nic0"});
    const auto flows = flows_of_every_kind(8);
    const auto sent = frames_of(flows, 2);
    const auto expect_all_by_first = [&] {
      write_all(*stack, sent);
      EXPECT_FALSE(is_readable(ports[1]->fd()));
      const auto got = take_of_all(ports, sent.size());
      EXPECT_EQ(got[0].size(), sent.size());
      EXPECT_TRUE(got[1].empty());
    };
    expect_all_by_first();
    EXPECT_EQ(counters_of(*ports[1])["rx.drop.detached"], 0U);
    for (int i = 0; i < 2; ++i) {  // what is done already is done again without effect
      ASSERT_TRUE(ports[1]->attach_queue(true));
      ASSERT_TRUE(ports[0]->attach_queue(true));
    }
    write_all(*stack, sent);
    expect_spread(take_of_all(ports, sent.size()), flows, 2);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(ports[1]->attach_queue(false));
    expect_all_by_first();
    ASSERT_TRUE(ports[0]->attach_queue(false));  // queue 0 always gets frames
    expect_all_by_first();
  });
}

TEST(TapQueuesTest, B_13_a_stored_tap_has_its_queues_again) {
  in_namespace([] {
    auto taps = open_taps({.name = "nic0", .is_stored = true}, 2);
    ASSERT_EQ(taps.size(), 2U);
    const base::UniqueFd kept(::dup(taps.front()->fd()));
    taps.clear();
    ASSERT_TRUE(exists());
    const AttachedTap nic(
        open_taps({.name = "nic0", .fd = ::dup(kept.get()), .is_stored = true}, 2));
    ASSERT_EQ(nic.ports.size(), 2U);
    expect_every_flow_on_one_queue(nic);
  });
}

// The kernel drops them, and counts nothing.
TEST(TapQueuesTest, frames_that_wait_in_a_queue_that_is_detached_are_counted) {
  in_namespace([] {
    const AttachedTap nic(2);
    const auto sent = frames_of(flows_of_every_kind(16), 3);
    write_all(*nic.stack, sent);
    ASSERT_TRUE(nic.ports[1]->attach_queue(false));
    const std::size_t got = Inbox(*nic.ports[0]).take_all().size();
    EXPECT_LT(got, sent.size());
    EXPECT_EQ(got + counters_of(*nic.ports[1])["rx.drop.detached"], sent.size());
    expect_balance(*nic.ports[1], 0, 0);
  });
}

TEST(TapQueuesTest, what_is_written_to_any_queue_arrives_attached_or_not) {
  in_namespace([] {
    const Ports ports = as_ports(open_taps({.name = "nic0"}, 2));
    run("ip link set nic0 up");
    auto stack = *PacketPort::open({.interface = "nic0"});
    Inbox inbox(*stack);
    for (const bool is_attached : {false, true}) {
      ASSERT_TRUE(ports[1]->attach_queue(is_attached));
      for (const auto& port : ports) {
        const std::vector<Bytes> sent{make_frame({}), make_frame({.is_ip6 = true, .is_udp = true})};
        write_all(*port, sent);
        EXPECT_EQ(rebuilt(inbox.take(2)), sent);
      }
    }
    expect_balance(*ports[1], 0, 4);
  });
}

TEST(TapQueuesTest, offloads_are_those_of_the_interface_on_every_queue) {
  in_namespace([] {
    const Ports ports = as_ports(open_taps({.name = "nic0"}, 2));
    EXPECT_EQ(ports[1]->offloads(), ports[0]->offloads());
    attach_all(ports);
    run("ip link set nic0 up");
    auto stack = *PacketPort::open({.interface = "nic0"});
    Inbox inbox(*stack);
    std::vector<Bytes> sent;
    for (std::uint16_t port = 1; port <= 16; ++port) {
      sent.push_back(
          make_frame({.is_ip6 = true, .payload_bytes = 9000, .gso_size = 1000, .port = port}));
    }
    for (const auto& port : ports) {
      ASSERT_TRUE(port->set_offloads(kOffloadChecksum | kOffloadTso6));
    }
    EXPECT_EQ(ports[1]->offloads(), ports[0]->offloads());
    write_all(*ports[1], {sent[0]});
    EXPECT_EQ(rebuilt(inbox.take(1)), std::vector<Bytes>{sent[0]});
    write_all(*stack, sent);
    const auto whole = take_of_all(ports, sent.size());
    EXPECT_EQ(whole[0].size() + whole[1].size(), sent.size());
    ASSERT_TRUE(ports[1]->set_offloads(0));  // not those of the interface
    write_all(*ports[1], {sent[0]});
    EXPECT_EQ(inbox.take(9).size(), 9U);
    write_all(*ports[0], {sent[0]});
    EXPECT_EQ(rebuilt(inbox.take(1)), std::vector<Bytes>{sent[0]});
  });
}

TEST(TapQueuesTest, an_additional_queue_sees_every_change_and_makes_none) {
  in_namespace([] {
    const MacAddress mac{0x02, 0, 0, 0, 0, 0x77};
    const Ports ports = as_ports(open_taps({.name = "nic0", .has_carrier = false}, 2));
    run("ip link set nic0 up mtu 1400 address 02:00:00:00:00:77 promisc on");
    EXPECT_TRUE(is_readable(ports[1]->event_fd()));
    const PortState seen = ports[1]->state();
    EXPECT_EQ(seen.mtu, 1400U);
    EXPECT_EQ(seen.mac, mac);
    EXPECT_TRUE(seen.promiscuous);
    EXPECT_TRUE(seen.admin_up);
    EXPECT_FALSE(seen.link_up);
    EXPECT_TRUE(ports[1]->set_mtu(9000));
    EXPECT_TRUE(ports[1]->set_mac({0x02, 1, 1, 1, 1, 1}));
    EXPECT_TRUE(ports[1]->set_promiscuous(false));
    EXPECT_TRUE(ports[1]->set_carrier(true));
    EXPECT_FALSE(is_readable(ports[1]->event_fd()));
    EXPECT_EQ(ports[0]->state(), seen);
    EXPECT_EQ(ports[1]->state(), seen);
    EXPECT_TRUE(ports[0]->set_carrier(true));
    EXPECT_TRUE(eventually([&] { return ports[1]->state().link_up; }));
    EXPECT_FALSE(ports[1]->is_gone());
    run("ip link del nic0");
    for (const auto& port : ports) {
      EXPECT_TRUE(is_readable(port->event_fd()));
      EXPECT_FALSE(port->state().admin_up);
      EXPECT_TRUE(port->is_gone());
      write_all(*port, {make_frame({})});
      EXPECT_EQ(counters_of(*port)["tx.drop.down"], 1U);
      EXPECT_TRUE(Inbox(*port).take_all().empty());
    }
    EXPECT_FALSE(ports[1]->attach_queue(true));
  });
}

TEST(TapQueuesTest, queue_0_alone_keeps_and_removes_the_tap) {
  in_namespace([] {
    AttachedTap nic(2);
    Ports& ports = nic.ports;
    ports.pop_back();
    EXPECT_TRUE(exists());
    run("ip -d link show nic0 | grep -q 'persist on'");
    const auto sent = frames_of(flows_of_every_kind(4), 2);
    write_all(*nic.stack, sent);
    EXPECT_EQ(Inbox(*ports[0]).take(sent.size()).size(), sent.size());
    write_all(*ports[0], {sent[0]});
    EXPECT_EQ(Inbox(*nic.stack).take(1).size(), 1U);
    ports.clear();
    EXPECT_FALSE(exists());
    open_taps({.name = "nic0"}, 3).clear();
    EXPECT_FALSE(exists());
    open_taps({.name = "nic0", .keep = true}, 3).clear();
    EXPECT_TRUE(exists());
  });
}

TEST(TapQueuesTest, F_51_a_tap_is_adopted_in_the_form_in_which_it_was_created) {
  in_namespace([] {
    open_taps({.name = "nic0", .keep = true}, 1).clear();
    ::testing::internal::CaptureStderr();
    Taps taps = open_taps({.name = "nic0"}, 4);
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(times(log, "nic0: 1 of 4 queues are in use: the TAP was created with one"), 1) << log;
    ASSERT_EQ(taps.size(), 1U);
    EXPECT_TRUE(taps[0]->is_adopted());
    taps.clear();
    EXPECT_FALSE(exists());
    open_taps({.name = "nic0", .keep = true}, 4).clear();
    ::testing::internal::CaptureStderr();
    taps = open_taps({.name = "nic0", .keep = true}, 1);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    ASSERT_EQ(taps.size(), 1U);
    EXPECT_TRUE(taps[0]->is_adopted());
    run("ip link set nic0 up");
    auto stack = *PacketPort::open({.interface = "nic0"});
    const auto sent = frames_of(flows_of_every_kind(4), 2);
    write_all(*stack, sent);
    EXPECT_EQ(Inbox(*taps[0]).take(sent.size()).size(), sent.size());
    taps.clear();
    taps = open_taps({.name = "nic0"}, 2);
    EXPECT_EQ(taps.size(), 2U);
  });
}

// The kernel would attach another program to it.
TEST(TapQueuesTest, F_51_a_tap_with_several_queues_that_another_program_holds_is_refused) {
  in_namespace([] {
    const Taps taps = open_taps({.name = "nic0"}, 2);
    for (const std::uint32_t queues : {1U, 2U}) {
      const auto held = TapPort::open_queues({.name = "nic0"}, queues);
      ASSERT_FALSE(held);
      EXPECT_EQ(held.error().text(), "nic0: the TAP is held by another program: stop it first");
    }
    EXPECT_TRUE(exists());
  });
}

TEST(TapQueuesTest, a_queue_that_the_kernel_refuses_is_reported_once_and_the_others_work) {
  in_namespace([] {
    splitnic::support::refuse_call(SYS_ioctl, 1, TUNSETQUEUE, splitnic::support::Next::kHasAnyOf,
                                   ~0U);
    use_one_of_four_queues();
  });
}

}  // namespace splitnic::lan::tap_queues_test
