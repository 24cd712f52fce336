// The leg to a LAN and the interface of an end node, over a switch and a router: subnet a
// (fd00:a::/64) with node h (LID 11) and the leg (LID 30), subnet b (fd00:b::/64) with node u (LID
// 20). To all else the leg leads.
#include "control/daemon/raw_leg.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "tests/services/routed_node.h"
#include "tests/support/counter_sum.h"

namespace splitnic::fabric::testing::raw_leg_test {

using namespace routed_node;
using control::RawLeg;
using Datagram = std::vector<std::byte>;

constexpr std::uint8_t kIcmp = 58, kSctp = 132;

Topology topology_of_leg() {
  Topology t;
  t.switches = {{"r", Lid(1)}};
  t.nodes = {{"h", Lid(11), {"r", 1}, {}}, {"lan", Lid(30), {"r", 4}, {}}};
  t.network = Topology::Network{subnet(0xA), {{{subnet(0xB), 64}, "r"}, {{}, "lan"}}, {}};
  return t;
}
Topology topology_beyond() {
  Topology t;
  t.switches = {{"r", Lid(2)}};
  t.nodes = {{"u", Lid(20), {"r", 2}, {}}};
  t.network = Topology::Network{subnet(0xB), {{{}, "r"}}, {{"lan", address(0xA, Lid(30))}}};
  return t;
}

NetworkAddress on_lan(std::uint8_t last) {
  NetworkAddress address;
  address.bytes[0] = std::byte{0x20};
  address.bytes[15] = std::byte{last};
  return address;
}

Datagram datagram(const NetworkAddress& from, const NetworkAddress& to, std::uint8_t next_header,
                  std::size_t payload = 100) {
  Datagram out(kGnhBytes + payload, std::byte{0x5A});
  const Gnh header{.traffic_class = 0x11,
                   .flow_label = 0x12345,
                   .length = static_cast<std::uint16_t>(payload),
                   .next_header = next_header,
                   .hop_limit = 33,
                   .source = from.bytes,
                   .destination = to.bytes};
  header.emit(out.data());
  return out;
}

class TestInterface final : public lan::DatagramPort {
 public:
  int fd() const override { return -1; }
  std::size_t read(base::MutableBytes out) override {
    if (input.empty()) return 0;
    const std::size_t bytes = std::min(out.size(), input.front().size());
    std::copy_n(input.front().begin(), bytes, out.begin());
    input.pop_front();
    return bytes;
  }
  bool write(base::Bytes datagram) override {
    if (takes) output.emplace_back(datagram.begin(), datagram.end());
    return takes;
  }
  std::deque<Datagram> input;
  std::vector<Datagram> output;
  bool takes = true;
};

// A node with an interface, behind a switch.
struct LegNode {
  LegNode(Underlay& carrier, const PeerAddress& switch_at, std::uint64_t eui64, base::Clock& clock,
          GateSide side)
      : random(eui64),
        attachment(carrier, switch_at, link_world::config_of(eui64, eui64 + 1), clock, random),
        adapter(RawLeg::limits(), random) {
    PortConfig config = link_world::config_of(eui64, eui64 + 1, true);
    config.lids = [this](const PeerAddress& peer) { return attachment.lids_of(peer); };
    port = adapter.add_port(attachment, config).value();
    leg = std::make_unique<RawLeg>(adapter, *port, attachment, interface, side);
    EXPECT_TRUE(leg->open(clock.now()));
  }
  std::uint64_t count(GateCounter which) const { return leg->counters()[which]; }
  std::uint64_t count(std::string_view counter) const { return support::counter_of(*leg, counter); }
  base::SeededRandom random;
  Attachment attachment;
  Adapter adapter;
  Port* port = nullptr;
  TestInterface interface;
  std::unique_ptr<RawLeg> leg;
};

TEST(RawLeg, X_17_no_region_of_it_serves_a_peer) {
  EXPECT_EQ(RawLeg::limits().profile, MrwtProfile::kStrictWindows);
}

struct RawLegTest : ::testing::Test {
  RawLegTest() {
    add(a, 1);
    add(a, 4);
    add(b, 2);
    lan = std::make_unique<LegNode>(hub.add_endpoint(), at(4), 0xE4, clock, GateSide::kLan);
  }
  void add(Switch& to, std::uint8_t number) {
    carriers.at(number) = &hub.add_endpoint();
    to.add_port(number, *carriers.at(number), link_world::config_of(0x100U + number, 7), nullptr,
                clock.now());
  }
  const PeerAddress& at(std::uint8_t number) const { return carriers.at(number)->address(); }
  bool step() {
    bool made_progress = a.step(clock.now());
    made_progress |= b.step(clock.now());
    for (LegNode* one : {lan.get(), end.get()}) {
      if (one != nullptr) made_progress |= one->leg->step(clock.now());
    }
    for (RoutedNode* one : {h.get(), u.get()}) {
      if (one != nullptr) made_progress |= one->poll();
    }
    return made_progress;
  }
  void run(base::Duration time) {
    link_world::run_for(clock, time, [this] { return step(); });
  }
  // A node that is not there yet, with a link to the leg.
  void start(std::unique_ptr<RoutedNode>& node, std::uint8_t number) {
    node = std::make_unique<RoutedNode>(hub.add_endpoint(), at(number), 0xE0U + number, clock);
    node->port->connect(node->attachment.peer("lan"), clock.now());
    run(2s);
    ASSERT_TRUE(node->link != nullptr && node->link->up());
  }
  // An end node with an interface, in place of h.
  void start_end() {
    end = std::make_unique<LegNode>(hub.add_endpoint(), at(1), 0xE1, clock, GateSide::kNode);
    end->port->connect(end->attachment.peer("lan"), clock.now());
    run(2s);
    ASSERT_TRUE(end->leg->link() != nullptr && end->leg->link()->up());
  }
  void from_lan(Datagram one) {
    lan->interface.input.push_back(std::move(one));
    run(20ms);
  }

  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub;
  std::array<InProcessUnderlay*, 5> carriers{};
  Switch a{plan_in(topology_of_leg(), 1), random}, b{plan_in(topology_beyond(), 2), random};
  std::array<Switch*, 2> both{&a, &b};
  Router router{both};
  std::unique_ptr<LegNode> lan, end;
  std::unique_ptr<RoutedNode> h, u;
};

TEST_F(RawLegTest, S000_14_S000_48_tcp_and_udp_of_a_lan_go_to_two_queue_pairs_and_a_reply_leaves) {
  start(h, 1);
  const Qpn tcp = h->make(kTcp), udp = h->make(kUdp);
  const Datagram first = datagram(on_lan(5), kH, kTcp), second = datagram(on_lan(5), kH, kUdp);
  from_lan(first);
  from_lan(second);
  ASSERT_EQ(h->received.size(), 2U);
  EXPECT_EQ(h->received[0].qpn, tcp);
  EXPECT_EQ(h->received[1].qpn, udp);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), h->rooms.at(tcp)->bytes.begin()));
  EXPECT_TRUE(std::equal(second.begin(), second.end(), h->rooms.at(udp)->bytes.begin()));
  from_lan(datagram(on_lan(5), kH, kSctp));
  EXPECT_EQ(h->received.size(), 2U);
  EXPECT_EQ(support::counter_of(h->adapter, "fabric.raw.drop.filter"), 1U);
  ASSERT_TRUE(h->send(udp, kH, on_lan(5), kUdp));
  run(20ms);
  ASSERT_EQ(lan->interface.output.size(), 1U);
  EXPECT_EQ(lan->interface.output[0], h->sent->bytes);
  EXPECT_EQ(lan->count(GateCounter::kToFabric), 3U);
  EXPECT_EQ(lan->count(GateCounter::kToInterface), 1U);
}

TEST_F(RawLegTest, S000_48_a_node_of_another_subnet_reaches_the_lan_over_the_router) {
  start(u, 2);
  const Qpn udp = u->make(kUdp);
  ASSERT_TRUE(u->send(udp, kU, on_lan(5), kUdp));
  run(20ms);
  ASSERT_EQ(lan->interface.output.size(), 1U);
  Datagram expected = u->sent->bytes;
  expected[7] = std::byte{32};  // hop limit
  EXPECT_EQ(lan->interface.output[0], expected);
  Datagram back = datagram(on_lan(5), kU, kUdp);
  from_lan(back);
  ASSERT_EQ(u->received.size(), 1U);
  back[7] = std::byte{32};
  EXPECT_TRUE(std::equal(back.begin(), back.end(), u->rooms.at(udp)->bytes.begin()));
}

TEST_F(RawLegTest, S000_48_the_router_takes_from_the_leg_what_its_routes_lead_to) {
  start(u, 2);
  u->make(kUdp);
  ASSERT_TRUE(u->send(u->make(kTcp), kU, on_lan(5), kTcp));  // the leg is known now
  run(20ms);
  // In the name of a node of the subnet of the leg, or of u itself.
  for (const NetworkAddress& source : {address(0xA, Lid(12)), kU}) {
    from_lan(datagram(source, kU, kUdp));
  }
  EXPECT_EQ(lan->count(GateCounter::kDropSource), 2U);
  EXPECT_TRUE(u->received.empty());
  from_lan(datagram(on_lan(5), kU, kUdp));
  EXPECT_EQ(u->received.size(), 1U);
}

TEST_F(RawLegTest, S000_48_what_has_no_path_or_place_is_dropped_and_counted) {
  run(1s);
  from_lan(datagram(on_lan(5), kH, kUdp));
  EXPECT_EQ(lan->count(GateCounter::kDropPath), 1U) << "h has no link";
  start(h, 1);
  const Qpn udp = h->make(kUdp);
  lan->interface.takes = false;
  ASSERT_TRUE(h->send(udp, kH, on_lan(5), kUdp));
  run(20ms);
  EXPECT_EQ(lan->count(GateCounter::kDropInterface), 1U);
  lan->interface.takes = true;
  ASSERT_TRUE(h->send(udp, address(0xA, Lid(12)), on_lan(5), kUdp));
  ASSERT_TRUE(h->send(udp, kH, address(0xA, Lid(12)), kUdp));
  run(20ms);
  EXPECT_EQ(lan->count(GateCounter::kDropSource), 1U);
  EXPECT_EQ(lan->count(GateCounter::kDropDestination), 1U);
  EXPECT_TRUE(lan->interface.output.empty());
  ASSERT_TRUE(h->send(udp, kH, on_lan(5), kUdp));
  run(20ms);
  EXPECT_EQ(lan->interface.output.size(), 1U);
}

TEST_F(RawLegTest, S000_14_two_interfaces_exchange_datagrams_of_any_length) {
  start_end();
  EXPECT_EQ(end->leg->address(), "fd00:a::b");
  constexpr std::size_t kMost = DatagramGate::kDatagramBytesMax - kGnhBytes;
  std::vector<Datagram> there, back;
  for (std::size_t i = 0; i < 500; ++i) {
    const std::uint8_t protocol = std::array{kTcp, kUdp, kIcmp}[i % 3];
    there.push_back(datagram(kH, on_lan(5), protocol, i * 7 % (kMost + 1)));
    back.push_back(datagram(on_lan(6), kH, protocol, i * 11 % (kMost + 1)));
  }
  there.push_back(datagram(kH, on_lan(5), kSctp, kMost));
  end->interface.input.assign(there.begin(), there.end());
  lan->interface.input.assign(back.begin(), back.end());
  run(100ms);
  EXPECT_EQ(lan->interface.output, there);
  EXPECT_EQ(end->interface.output, back);
  from_lan(datagram(on_lan(6), kH, kSctp));
  EXPECT_EQ(end->interface.output.size(), back.size());
  EXPECT_EQ(end->count("fabric.raw.drop.filter"), 1U);
  EXPECT_TRUE(end->leg->is_drained() && lan->leg->is_drained());
}

TEST_F(RawLegTest, S000_48_without_its_leg_an_end_node_drops_and_continues_when_it_is_back) {
  start_end();
  lan->leg->stop(clock.now());
  run(20ms);
  end->interface.input.push_back(datagram(kH, on_lan(5), kUdp));
  run(20ms);
  EXPECT_EQ(end->count(GateCounter::kDropPath), 1U);
  run(2s);
  ASSERT_TRUE(end->leg->link()->up());
  end->interface.input.push_back(datagram(kH, on_lan(5), kUdp));
  run(20ms);
  EXPECT_EQ(lan->interface.output.size(), 1U);
}

}  // namespace splitnic::fabric::testing::raw_leg_test
