// Raw between two subnets: the queue pairs of two end nodes exchange whole IPv6 datagrams through a
// router, by their network addresses.
#include <gtest/gtest.h>

#include "fabric_emul/verbs/adapter.h"
#include "tests/support/test_memory.h"
#include "tests/unit/fabric_emul/switching/attached_node.h"
#include "tests/unit/fabric_emul/switching/router_world.h"

namespace splitnic::fabric::testing::raw_router_test {

using namespace router_world;

constexpr std::uint8_t kTcp = 6, kUdp = 17;

// An adapter behind a switch.
class RoutedNode final : public ConnectionHandler {
 public:
  RoutedNode(Underlay& carrier, const PeerAddress& switch_at, std::uint64_t eui64,
             base::Clock& time)
      : random(eui64),
        attachment(carrier, switch_at, link_world::config_of(eui64, eui64 + 1), time, random),
        adapter({}, random),
        clock_(time) {
    adapter.connections().set_handler(*this);
    PortConfig config = link_world::config_of(eui64, eui64 + 1, true);
    config.lids = [this](const PeerAddress& peer) { return attachment.lids_of(peer); };
    port = adapter.add_port(attachment, config).value();
    pd_ = adapter.alloc_pd();
    cq_ = adapter.create_cq(64).value();
  }
  // Some memory of the node.
  Memory& memory(std::size_t bytes) {
    Memory& m = memories_.emplace_back();
    m.bytes.resize(bytes);
    m.handle = adapter.memory().regions().register_region(pd_, m.bytes, kAccessRights).value();
    m.start = adapter.memory().start_of(m.handle);
    return m;
  }
  // A queue pair with a receive that takes what has this next header.
  Qpn make(std::uint8_t next_header) {
    QpInit init;
    init.service = Service::kRaw;
    init.common.pd = pd_;
    init.common.send_cq = init.common.recv_cq = cq_;
    const Qpn qpn = adapter.create_qp(init, clock_.now()).value();
    QpAttr attr;
    attr.mcp = link->mcp();
    for (const QpState to : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      const QpState from = adapter.find_qp(qpn)->state();
      const AttrMask given = required_attributes(init.service, from, to);
      EXPECT_TRUE(adapter.modify_qp(qpn, to, given, attr));
    }
    EXPECT_TRUE(adapter.add_raw_filter(qpn, {.next_header = next_header}));
    Memory& room = memory(2000);
    rooms[qpn] = &room;
    EXPECT_TRUE(adapter.post_recv(qpn, RecvWr{0, std::array{room.sge()}}));
    return qpn;
  }
  bool poll() {
    bool made_progress = adapter.poll(clock_.now());
    WcBatch wcs;
    while (const std::size_t count = adapter.poll_cq(cq_, wcs)) {
      made_progress = true;
      for (const Wc& wc : std::span(wcs).first(count)) {
        EXPECT_EQ(wc.status, WcStatus::kSuccess);
        if (wc.op == WcOp::kReceive) received.push_back(wc);
      }
    }
    return made_progress;
  }
  base::Status send(Qpn from, const NetworkAddress& source, const NetworkAddress& destination,
                    std::uint8_t next_header) {
    sent = &memory(kGnhBytes + 100);
    sent->fill(7);
    const Gnh header{.traffic_class = 0xB8,
                     .flow_label = 0x12345,
                     .length = 100,
                     .next_header = next_header,
                     .hop_limit = 33,
                     .source = source.bytes,
                     .destination = destination.bytes};
    header.emit(sent->bytes.data());
    SendWr wr;
    const std::array pieces{sent->sge()};
    wr.gather = pieces;
    wr.destination_lid = link->remote_lid();
    return adapter.post_send(from, wr);
  }

  base::SeededRandom random;
  Attachment attachment;
  Adapter adapter;
  Port* port = nullptr;
  Link* link = nullptr;
  std::map<Qpn, Memory*> rooms;
  std::vector<Wc> received;
  Memory* sent = nullptr;

 private:
  void on_link_up(Link& up) override { link = &up; }
  void on_link_down(Link&, std::string_view) override {}
  MgmtReject on_connect_request(ConnectionId, Link&, const Mgmt&, Mgmt&) override {
    return MgmtReject::kRefused;
  }
  bool on_connected(ConnectionId, Link&, const Mgmt&) override { return false; }
  void on_rejected(ConnectionId, MgmtReject, base::Bytes) override {}
  void on_disconnected(ConnectionId, std::string_view) override {}

  base::Clock& clock_;
  PdId pd_;
  CqId cq_;
  std::deque<Memory> memories_;
};

struct RawOverRouter : ::testing::Test, RouterWorld {
  RawOverRouter()
      : h(hub.add_endpoint(), carriers[1]->address(), 0xE1, clock),
        u(hub.add_endpoint(), carriers[2]->address(), 0xE0, clock) {
    h.port->connect(h.attachment.peer("office"), clock.now());
    run(2s);
  }
  void run(base::Duration time) {
    for (const base::Time end = clock.now() + time; clock.now() < end; clock.advance(10ms)) {
      for (bool made_progress = true; made_progress;) {
        made_progress = step();
        made_progress |= h.poll();
        made_progress |= u.poll();
      }
    }
  }
  // The datagram of `from` has arrived at this queue pair, with one hop less.
  void expect_at(const RoutedNode& to, Qpn qpn, const RoutedNode& from) {
    ASSERT_EQ(to.received.size(), 1U);
    EXPECT_EQ(to.received[0].qpn, qpn);
    EXPECT_EQ(to.received[0].source_lid, to.link->remote_lid());
    ASSERT_EQ(to.received[0].bytes, from.sent->bytes.size());
    std::vector<std::byte> expected = from.sent->bytes;
    expected[7] = std::byte{32};  // hop limit
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to.rooms.at(qpn)->bytes.begin()));
  }
  RoutedNode h, u;
};

TEST_F(RawOverRouter, S000_33_S000_48_datagrams_of_queue_pairs_cross_a_router_both_ways) {
  ASSERT_TRUE(h.link != nullptr && h.link->up() && u.link != nullptr && u.link->up());
  const Qpn udp_of_h = h.make(kUdp), udp_of_u = u.make(kUdp), tcp_of_u = u.make(kTcp);
  ASSERT_TRUE(h.send(udp_of_h, kH, kU, kTcp));
  run(10ms);
  expect_at(u, tcp_of_u, h);
  u.received.clear();
  ASSERT_TRUE(h.send(udp_of_h, kH, kU, kUdp));
  run(10ms);
  expect_at(u, udp_of_u, h);
  ASSERT_TRUE(u.send(udp_of_u, kU, kH, kUdp));
  run(10ms);
  expect_at(h, udp_of_h, u);
  EXPECT_TRUE(is_balanced());
}

TEST_F(RawOverRouter, S000_33_S000_48_a_datagram_in_the_name_of_another_node_ends_at_the_router) {
  ASSERT_TRUE(h.link != nullptr && u.link != nullptr);
  const Qpn from = h.make(kUdp);
  u.make(kUdp);
  ASSERT_TRUE(h.send(from, address(0xA, Lid(12)), kU, kUdp));
  run(10ms);
  EXPECT_TRUE(u.received.empty());
  EXPECT_EQ(count(RouterCounter::kDropSource), 1U);
  ASSERT_TRUE(h.send(from, kH, kU, kUdp));
  run(10ms);
  EXPECT_EQ(u.received.size(), 1U);
}

}  // namespace splitnic::fabric::testing::raw_router_test
