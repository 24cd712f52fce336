// Raw: whole IPv6 datagrams between two nodes, and the queue pair that each goes to.
#include <gtest/gtest.h>

#include <cerrno>

#include "base/endian.h"
#include "tests/services/rd_fixture.h"

namespace splitnic::fabric::testing::raw_test {

using namespace std::chrono_literals;

constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;

class RawTest : public ::testing::Test {
 protected:
  Qpn make(std::size_t at) { return mesh_.make(at, mesh_.node(at).init(Service::kRaw)); }
  // A queue pair of node 1 that gets what matches, with some receives.
  Qpn listen(const RawFilter& filter, std::size_t receives = 4) {
    const Qpn qpn = make(1);
    EXPECT_TRUE(mesh_.node(1).adapter.add_raw_filter(qpn, filter));
    for (std::size_t i = 0; i < receives; ++i) {
      rooms_.push_back(&mesh_.node(1).memory(1000));
      EXPECT_TRUE(mesh_.node(1).adapter.post_recv(
          qpn, RecvWr{rooms_.size() - 1, std::array{rooms_.back()->sge()}}));
    }
    return qpn;
  }
  // A datagram of node 0, with every field of its header set.
  Memory& datagram(std::uint8_t next_header, std::uint16_t port, std::size_t payload = 60,
                   std::uint8_t last_of_destination = 9) {
    Memory& m = mesh_.node(0).memory(kGnhBytes + payload, payload);
    Gnh header{.traffic_class = 0xA5, .flow_label = 0x12345, .hop_limit = 33};
    header.length = static_cast<std::uint16_t>(payload);
    header.next_header = next_header;
    header.source[0] = std::byte{0x20};
    header.destination[15] = std::byte{last_of_destination};
    header.emit(m.bytes.data());
    base::store_be(m.bytes.data() + kGnhBytes + 2, port);
    return m;
  }
  base::Status send(const Sge& piece) {
    SendWr wr;
    wr.destination_lid = mesh_.node(0).links[1]->remote_lid();
    const std::array pieces{piece};
    wr.gather = pieces;
    return mesh_.node(0).adapter.post_send(from_, wr);
  }
  // The queue pair that gets it, byte for byte; 0: none does.
  Qpn taker_of(const Memory& sent) {
    mesh_.node(1).received.clear();
    EXPECT_TRUE(send(sent.sge()));
    mesh_.run_for(1ms);
    if (mesh_.node(1).received.empty()) return Qpn();
    const Wc& wc = mesh_.node(1).received[0];
    EXPECT_EQ(wc.bytes, sent.bytes.size());
    EXPECT_TRUE(std::equal(sent.bytes.begin(), sent.bytes.end(), rooms_[wc.wr_id]->bytes.begin()));
    return wc.qpn;
  }
  std::uint64_t count(TransportCounter which) { return mesh_.count(1, which); }

  RdMesh mesh_{2};
  const Qpn from_ = make(0);
  std::vector<Memory*> rooms_;
};

TEST_F(RawTest, S000_14_next_header_port_and_address_choose_the_queue_pair) {
  const Qpn web = listen({.next_header = kTcp, .port = 80});
  const Qpn tcp = listen({.next_header = kTcp});
  const Qpn udp = listen({.next_header = kUdp});
  std::array<std::byte, 16> mine{};
  mine[15] = std::byte{7};
  const Qpn other = listen({.next_header = 58, .port = {}, .destination = mine});
  EXPECT_EQ(taker_of(datagram(kTcp, 80)), web);
  EXPECT_EQ(taker_of(datagram(kTcp, 81)), tcp);
  EXPECT_EQ(taker_of(datagram(kUdp, 80)), udp);
  EXPECT_EQ(taker_of(datagram(58, 0, 60, 7)), other);
  EXPECT_EQ(count(TransportCounter::kDropRawFilter), 0U);
  EXPECT_EQ(taker_of(datagram(58, 0, 60, 8)), Qpn()) << "for another address";
  EXPECT_EQ(taker_of(datagram(59, 0)), Qpn()) << "nobody has registered it";
  EXPECT_EQ(count(TransportCounter::kDropRawFilter), 2U);
  mesh_.node(1).adapter.destroy_qp(web, mesh_.now());
  EXPECT_EQ(taker_of(datagram(kTcp, 80)), tcp) << "its filter is gone with it";
}

TEST_F(RawTest, S000_14_without_room_a_datagram_is_dropped_and_the_next_one_arrives) {
  const Qpn qpn = listen({.next_header = kUdp}, 0);
  EXPECT_EQ(taker_of(datagram(kUdp, 5)), Qpn());
  EXPECT_EQ(count(TransportCounter::kDropRawNoReceive), 1U);
  rooms_.push_back(&mesh_.node(1).memory(99));
  ASSERT_TRUE(mesh_.node(1).adapter.post_recv(qpn, RecvWr{0, std::array{rooms_[0]->sge()}}));
  EXPECT_EQ(taker_of(datagram(kUdp, 5)), Qpn()) << "100 bytes";
  EXPECT_EQ(count(TransportCounter::kDropRawLength), 1U);
  EXPECT_TRUE(rooms_[0]->is_zero());
  EXPECT_EQ(taker_of(datagram(kUdp, 5, 59)), qpn);
  EXPECT_EQ(mesh_.state(1, qpn), QpState::kRts);
}

TEST_F(RawTest, S000_14_only_whole_ipv6_datagrams_leave) {
  listen({.next_header = kUdp});
  EXPECT_FALSE(send(mesh_.node(0).memory(kGnhBytes - 1).sge())) << "no header";
  EXPECT_FALSE(send(datagram(kUdp, 1, 60'000).sge())) << "longer than a cell";
  const auto ends_queue = [&](Memory& wrong) {
    mesh_.node(0).sent.clear();
    EXPECT_TRUE(send(wrong.sge()));
    mesh_.run_for(1ms);
    EXPECT_EQ(mesh_.node(0).sent[0].status, WcStatus::kLocalLength);
    EXPECT_EQ(mesh_.state(0, from_), QpState::kSqe);
    EXPECT_TRUE(mesh_.node(0).adapter.modify_qp(from_, QpState::kRts, 0, {}));
  };
  Memory& ipv4 = datagram(kUdp, 1);
  ipv4.bytes[0] = std::byte{0x45};
  ends_queue(ipv4);
  Memory& longer = datagram(kUdp, 1);
  longer.bytes[5] = std::byte{61};
  ends_queue(longer);
  EXPECT_EQ(count(TransportCounter::kRxCells), 0U);
  EXPECT_NE(taker_of(datagram(kUdp, 1)), Qpn());
}

// As the service allows, it completes; the counter alone shows that it has not left.
TEST_F(RawTest, S001_32_a_datagram_that_no_link_leads_to_is_counted) {
  MeshNode& node = mesh_.node(0);
  const std::array pieces{datagram(kUdp, 1).sge()};
  std::uint64_t dropped = 0;
  for (const Service service : {Service::kRaw, Service::kUd}) {
    node.sent.clear();
    SendWr wr;
    wr.gather = pieces;
    wr.destination_lid = Lid(0x7777);
    wr.destination_qpn = Qpn(99);
    ASSERT_TRUE(node.adapter.post_send(mesh_.make(0, node.init(service)), wr));
    mesh_.run_for(1ms);
    ASSERT_EQ(node.sent.size(), 1U);
    EXPECT_EQ(node.sent[0].status, WcStatus::kSuccess);
    EXPECT_EQ(mesh_.count(0, TransportCounter::kDropNoLink), ++dropped);
  }
  EXPECT_EQ(mesh_.count(0, TransportCounter::kTxCells), 0U);
}

TEST_F(RawTest, S000_14_filters_that_cannot_be_are_refused) {
  const Qpn qpn = listen({.next_header = kTcp, .port = 80});
  Adapter& adapter = mesh_.node(1).adapter;
  EXPECT_EQ(
      adapter.add_raw_filter(make(1), {.next_header = kTcp, .port = 80}).error().errno_value(),
      EADDRINUSE);
  EXPECT_FALSE(adapter.add_raw_filter(qpn, {.next_header = 58, .port = 80})) << "it has no ports";
  EXPECT_FALSE(adapter.add_raw_filter(mesh_.make(1), {.next_header = 58})) << "no Raw queue pair";
  EXPECT_FALSE(adapter.add_raw_filter(Qpn(5), {.next_header = 58}));
  std::size_t added = 1;
  for (unsigned port = 1000;
       adapter.add_raw_filter(qpn, {.next_header = kTcp, .port = static_cast<std::uint16_t>(port)});
       ++port) {
    ++added;
  }
  EXPECT_EQ(added, RawFilters::kFiltersMax);
}

}  // namespace splitnic::fabric::testing::raw_test
