// Partitions at end nodes: a queue pair and a connection belong to one, and cells of others are
// dropped and counted, whatever service they are of.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/cell_maker.h"
#include "tests/support/counter_sum.h"

namespace splitnic::fabric::testing::partition_test {

using namespace std::chrono_literals;

constexpr PartitionKey kOffice(0x8001), kOfficeGuest(0x0001), kLab(0x8002);

PairOptions in(const std::vector<PartitionKey>& a, const std::vector<PartitionKey>& b) {
  PairOptions options;
  options.partitions = {PartitionTable(a), PartitionTable(b)};
  return options;
}

class EachService : public ::testing::TestWithParam<Service> {
 protected:
  static QpInit init(PartitionKey partition = kDefaultPartition) {
    return {.common = {.partition = partition}, .service = GetParam()};
  }
};
INSTANTIATE_TEST_SUITE_P(All, EachService,
                         ::testing::Values(Service::kRc, Service::kUc, Service::kUd),
                         [](const auto& test) { return std::string(name(test.param)); });

// A hostile peer has the right numbers and the wrong partition.
TEST_P(EachService, S004_20_a_cell_of_another_partition_is_dropped_and_counted) {
  AdapterPair pair;
  QpPair qp;
  if (GetParam() == Service::kUd) {
    qp = {pair.make_ud(pair.a()), pair.make_ud(pair.b())};
  } else {
    qp = pair.connect_by_hand(init());
  }
  Memory& to = pair.a().memory(100);
  ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge()}));
  CellMaker maker(pair, 1, qp.b, 0, qp.a);
  const std::vector<std::byte> payload(50, std::byte{1});
  auto cell = maker.next(Op::kSend, Pos::kOnly, payload);
  std::uint64_t dropped = 0;
  for (const auto foreign :
       std::to_array<std::uint16_t>({0x8001, 0x7FFE, 0x0001, 0x8000, 0x0000})) {
    auto other = cell;
    base::store_be(&other[24], foreign);
    reseal(other);
    maker.inject(other);
    pair.run_for(1ms);
    EXPECT_EQ(pair.a().count(TransportCounter::kCellDropPartition), ++dropped);
  }
  EXPECT_TRUE(to.is_zero());
  EXPECT_TRUE(pair.a().received.empty());
  EXPECT_EQ(pair.a().count(TransportCounter::kTxNaks), 0U);
  // A limited member of the same partition is heard.
  base::store_be(&cell[24], std::uint16_t{0x7FFF});
  reseal(cell);
  maker.inject(cell);
  pair.run_for(1ms);
  EXPECT_EQ(pair.a().received.size(), 1U);
  EXPECT_EQ(pair.a().count(TransportCounter::kCellDropPartition), dropped);
}

// Data, ACKs and MGMT.
class EachConnectedService : public EachService {};
INSTANTIATE_TEST_SUITE_P(All, EachConnectedService, ::testing::Values(Service::kRc, Service::kUc),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(EachConnectedService, S004_20_what_a_queue_pair_sends_has_its_partition) {
  AdapterPair pair(in({kOffice, kLab}, {kLab}));
  pair.a().tap.is_recording = true;
  const auto qps = pair.connect_all({init(kLab)});
  ASSERT_EQ(qps.size(), 1U);
  Memory& to = pair.a().memory(5000);
  Memory& from = pair.b().memory(5000, 1);
  ASSERT_TRUE(pair.a().post_recv(qps[0].a, {to.sge()}));
  ASSERT_TRUE(pair.b().post_send(qps[0].b, {from.sge()}));
  ASSERT_TRUE(pair.run_until([&] { return !pair.a().received.empty(); }));
  pair.run_for(10ms);
  EXPECT_EQ(to.bytes, from.bytes);
  std::size_t mgmt = 0, others = 0;
  for (const TappedCell& cell : pair.a().tap.cells) {
    EXPECT_EQ(cell.header().partition, kLab);
    ++(cell.header().service == Service::kMgmt ? mgmt : others);
  }
  EXPECT_GE(mgmt, 2U);
  EXPECT_GE(others, 4U);
}

// Nobody who is in no partition notices that there are any.
TEST(PartitionOfNodes, S004_20_without_a_partition_cells_have_0xffff) {
  AdapterPair pair;
  pair.a().tap.is_recording = true;
  const QpPair qp = pair.connect(QpInit{});
  Memory& to = pair.a().memory(100);
  Memory& from = pair.b().memory(100, 1);
  ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge()}));
  ASSERT_TRUE(pair.b().post_send(qp.b, {from.sge()}));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  ASSERT_GE(pair.a().tap.cells.size(), 4U);
  for (const TappedCell& cell : pair.a().tap.cells) {
    EXPECT_EQ(cell.bytes[24], std::byte{0xFF});
    EXPECT_EQ(cell.bytes[25], std::byte{0xFF});
  }
}

TEST(PartitionOfNodes, S004_20_a_queue_pair_has_one_of_its_node) {
  AdapterPair pair(in({kOffice, kLab}, {kLab}));
  End& a = pair.a();
  QpInit init{.common = {.pd = a.pd, .send_cq = a.send_cq, .recv_cq = a.recv_cq}};
  for (const PartitionKey foreign : {kDefaultPartition, kOfficeGuest, PartitionKey(0x8003)}) {
    init.common.partition = foreign;
    EXPECT_EQ(a.adapter->create_qp(init, a.now()).error().errno_value(), EINVAL);
  }
  init.common.partition = kLab;
  EXPECT_TRUE(a.adapter->create_qp(init, a.now()));
}

// The request of a stranger is dropped before anybody looks at what it asks for.
TEST(PartitionOfNodes, S004_20_a_connection_in_a_foreign_partition_gets_no_reply) {
  for (const auto& [unit, host] : {std::pair{kOffice, kLab}, {kOfficeGuest, kOfficeGuest}}) {
    AdapterPair pair(in({unit}, {host}));
    End& b = pair.b();
    const Qpn own = b.create_qp(
        {.common = {.pd = b.pd, .send_cq = b.send_cq, .recv_cq = b.recv_cq, .partition = host}});
    const std::array pairs{b.adapter->describe(own, 0, 0)};
    b.adapter->connections().connect(b.link(), pairs, {}, b.now(), host);
    pair.a().tap.is_recording = true;
    pair.run_for(1s);
    EXPECT_EQ(pair.a().adapter->connections().size(), 0U);
    EXPECT_GE(pair.a().tap.cells.size(), 5U);  // it was asked again and again
    for (const TappedCell& cell : pair.a().tap.cells) EXPECT_FALSE(cell.sent);
    EXPECT_EQ(support::counter_of(*pair.a().adapter, "fabric.mgmt.drop.partition"),
              pair.a().tap.cells.size());
  }
}

// A connection is ended in its own partition only, though the node is in both.
TEST(PartitionOfNodes, S004_20_a_connection_belongs_to_one_partition) {
  AdapterPair pair(in({kOffice, kLab}, {kOffice, kLab}));
  const auto qps = pair.connect_all({{.common = {.partition = kLab}}});
  ASSERT_EQ(qps.size(), 1U);
  pair.b().tap.is_recording = true;
  pair.b().adapter->connections().disconnect(pair.b().last_connection, pair.now());
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().tap.cells.empty(); }));
  auto disc = pair.b().tap.cells.front().bytes;
  ASSERT_EQ(MacHeader::parse(disc.data()).partition, kLab);
  pair.run_for(10ms);
  ASSERT_EQ(pair.a().disconnects, 1);

  const auto again = pair.connect_all({{.common = {.partition = kLab}}});
  ASSERT_EQ(again.size(), 1U);
  base::store_be(&disc[24], kOffice.value);
  constexpr std::size_t kTransactionAt = kMacHeaderBytes + 8;
  base::store_be(&disc[kTransactionAt], pair.a().last_connection.value);
  reseal(disc);
  pair.a().tap.inject(pair.address(1), disc);
  pair.run_for(10ms);
  EXPECT_EQ(pair.a().disconnects, 1);
  base::store_be(&disc[24], kLab.value);
  reseal(disc);
  pair.a().tap.inject(pair.address(1), disc);
  pair.run_for(10ms);
  EXPECT_EQ(pair.a().disconnects, 2);
}

}  // namespace splitnic::fabric::testing::partition_test
