// The adapter: ports, queue pairs, completion queues and their limits.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing::adapter_test {

using namespace std::chrono_literals;

PortConfig port_config(std::uint64_t eui64) {
  PortConfig config;
  config.eui64 = Eui64(eui64);
  config.instance = 1;
  config.listens = true;
  return config;
}

TEST(AdapterTest, S001_29_two_ports_and_no_address_twice) {
  InProcessHub hub;
  base::SeededRandom random(1);
  Adapter hca(AdapterLimits{}, random);
  ASSERT_TRUE(hca.add_port(hub.add_endpoint(), port_config(1)));
  ASSERT_TRUE(hca.add_port(hub.add_endpoint(), port_config(2)));
  const auto twice = hca.add_port(hub.add_endpoint(), port_config(2));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().text(), "another port of this adapter has the same address");
  EXPECT_EQ(hca.ports().size(), 2U);

  Adapter tca(AdapterLimits{.ports = 1}, random);
  ASSERT_TRUE(tca.add_port(hub.add_endpoint(), port_config(3)));
  EXPECT_FALSE(tca.add_port(hub.add_endpoint(), port_config(4)));
}

// Two listening ports of one adapter, and a peer that has a link to each.
TEST(AdapterTest, S001_29_no_two_links_have_one_address) {
  AdapterPair pair;
  End& a = pair.a();
  End& b = pair.b();
  InProcessHub& hub = pair.in_process().hub();
  InProcessUnderlay& second = hub.add_endpoint();
  Port* here = a.adapter->add_port(second, port_config(77)).value();
  PortConfig config = port_config(78);
  config.listens = false;
  Port* there = b.adapter->add_port(hub.add_endpoint(), config).value();
  there->connect(second.address(), pair.now());
  ASSERT_TRUE(pair.run_until([&] { return a.links.size() == 2 && b.links.size() == 2; }));
  std::map<Lid, int> lids;
  for (const Link* link : a.links) {
    ++lids[link->local_lid()];
    ++lids[link->remote_lid()];
  }
  EXPECT_EQ(lids.size(), 4U);

  // A cell without a connection goes to the port that the address belongs to.
  const Qpn from = pair.make_ud(a);
  const Qpn to = pair.make_ud(b);
  const Memory& text = a.memory(100, 5);
  const Memory& room = b.memory(100);
  const std::vector<Sge> gather{text.sge()};
  SendWr wr;
  wr.gather = gather;
  wr.destination_qpn = to;
  for (int i = 0; i < 2; ++i) {
    const Port& port = i == 0 ? *b.port : *there;
    const auto before = port.counters()[LinkCounter::kRxCell];
    wr.destination_lid = a.links[static_cast<std::size_t>(i)]->remote_lid();
    ASSERT_TRUE(b.post_recv(to, {room.sge()}));
    ASSERT_TRUE(a.adapter->post_send(from, wr));
    pair.run_for(1ms);
    EXPECT_EQ(port.counters()[LinkCounter::kRxCell] - before, 1U) << i;
    EXPECT_EQ(b.received.size(), static_cast<std::size_t>(i) + 1);
  }

  // So does a queue pair that is bound by hand.
  const Qpn bound = a.create_qp({.service = Service::kUc});
  QpAttr attr;
  attr.mcp = here->config().mcp_wanted == 0 ? a.links[1]->mcp() : here->config().mcp_wanted;
  attr.remote_lid = a.links[1]->remote_lid();
  attr.remote_qpn = to;
  ASSERT_TRUE(a.adapter->modify_qp(bound, QpState::kRtr,
                                   required_attributes(Service::kUc, QpState::kInit, QpState::kRtr),
                                   attr));
  EXPECT_EQ(a.qp(bound).link(), a.links[1]);
}

TEST(AdapterTest, S001_29_addresses_end_at_sixteen_bits) {
  InProcessHub hub;
  base::SeededRandom random(1);
  Adapter adapter(AdapterLimits{}, random);
  PortConfig config = port_config(1);
  config.links_max = 40000;
  ASSERT_TRUE(adapter.add_port(hub.add_endpoint(), config));
  config.eui64 = Eui64(2);
  const auto second = adapter.add_port(hub.add_endpoint(), config);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().text(), "the ports of an adapter have too many links");
  config.links_max = 25533;
  EXPECT_TRUE(adapter.add_port(hub.add_endpoint(), config));
}

struct Verbs {
  explicit Verbs(const AdapterLimits& limits) : random(1), adapter(limits, random) {
    init.common.pd = adapter.alloc_pd();
    init.common.send_cq = init.common.recv_cq = adapter.create_cq(16).value();
    init.common.send_depth = init.common.receive_depth = 4;
  }
  base::SeededRandom random;
  Adapter adapter;
  QpInit init;
};

TEST(AdapterTest, S000_01_a_host_adapter_holds_thousands_of_queue_pairs) {
  Verbs hca{AdapterLimits{}};
  std::map<Qpn, int> seen;
  for (int i = 0; i < 4096; ++i) ++seen[hca.adapter.create_qp(hca.init, base::Time{}).value()];
  EXPECT_EQ(seen.size(), 4096U);
  EXPECT_FALSE(hca.adapter.create_qp(hca.init, base::Time{}));
}

TEST(AdapterTest, S000_01_an_io_adapter_holds_few) {
  Verbs tca{AdapterLimits{.qps = 8}};
  Qpn last;
  for (int i = 0; i < 8; ++i) last = tca.adapter.create_qp(tca.init, base::Time{}).value();
  EXPECT_FALSE(tca.adapter.create_qp(tca.init, base::Time{}));
  tca.adapter.destroy_qp(last, base::Time{});
  EXPECT_TRUE(tca.adapter.create_qp(tca.init, base::Time{}));
}

// Start numbers of many objects; a number has `bits` bits.
struct StartNumbers {
  void expect_random(unsigned bits) const {
    const std::set<std::uint32_t> distinct(all.begin(), all.end());
    EXPECT_GE(distinct.size(), all.size() - 2);
    for (unsigned bit = 0; bit < bits; ++bit) {
      const auto set =
          std::ranges::count_if(all, [&](std::uint32_t n) { return (n >> bit & 1U) != 0; });
      EXPECT_NEAR(static_cast<double>(set), static_cast<double>(all.size()) / 2, 25) << bit;
    }
  }
  std::vector<std::uint32_t> all;
};

TEST(AdapterTest, X_46_start_numbers_are_random) {
  constexpr std::size_t kObjects = 100;
  Verbs verbs(AdapterLimits{});
  StreamInit stream;
  stream.common = verbs.init.common;
  std::array<StartNumbers, 3> psns;
  std::array<StartNumbers, 2> lcns;
  for (std::size_t i = 0; i < kObjects; ++i) {
    Adapter& adapter = verbs.adapter;
    const std::array<MgmtPair, 3> made{
        adapter.describe(adapter.create_qp(verbs.init, base::Time{}).value(), 0, 0),
        adapter.describe(adapter.create_stream(stream, base::Time{}).value(), 0, 0),
        adapter.contexts().describe(adapter.contexts().create({}).value(), 0)};
    for (std::size_t k = 0; k < psns.size(); ++k) psns[k].all.push_back(made[k].start_psn.value);
    for (std::size_t k = 0; k < lcns.size(); ++k) lcns[k].all.push_back(made[k].start_lcn.value);
  }
  for (const StartNumbers& of : psns) of.expect_random(24);
  for (const StartNumbers& of : lcns) of.expect_random(16);
}

TEST(AdapterTest, S000_01_the_service_is_fixed_at_creation) {
  AdapterPair pair;
  const Qpn uc = pair.a().create_qp({.service = Service::kUc});
  const Qpn rc = pair.b().create_qp({.service = Service::kRc});
  const MgmtPair theirs = pair.b().adapter->describe(rc, 0, 0);
  const MgmtPair mine = pair.a().adapter->describe(uc, 0, 0);
  EXPECT_FALSE(pair.a().adapter->connect_qp(mine, theirs, pair.a().link()));
  EXPECT_EQ(pair.a().qp(uc).service(), Service::kUc);
  EXPECT_EQ(pair.a().qp(uc).state(), QpState::kInit);
  QpInit init;
  init.service = Service::kStream;
  init.common.pd = pair.a().pd;
  init.common.send_cq = pair.a().send_cq;
  init.common.recv_cq = pair.a().recv_cq;
  EXPECT_FALSE(pair.a().adapter->create_qp(init, pair.now()));
  init.service = Service::kRc;
  EXPECT_TRUE(pair.a().adapter->create_qp(init, pair.now())) << "all but the service was right";
}

TEST(AdapterTest, S000_11_a_second_connect_is_refused_and_changes_nothing) {
  PairOptions options;
  options.ends = 3;
  AdapterPair pair(options);
  const QpPair qp = pair.connect(QpInit{});
  const Qpn other = pair.end(2).create_qp(QpInit{});
  const QpAttr before = pair.a().qp(qp.a).attr();
  EXPECT_FALSE(pair.a().adapter->connect_qp(pair.a().adapter->describe(qp.a, 0, 0),
                                            pair.end(2).adapter->describe(other, 0, 0),
                                            pair.a().link(1)));
  EXPECT_EQ(pair.a().qp(qp.a).attr().remote_qpn, before.remote_qpn);
  EXPECT_EQ(pair.a().qp(qp.a).link(), &pair.a().link(0));
  Memory& m = pair.b().memory(10, 1);
  Memory& to = pair.a().memory(10);
  ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge()}));
  ASSERT_TRUE(pair.b().post_send(qp.b, {m.sge()}));
  EXPECT_TRUE(pair.run_until([&] { return !pair.a().received.empty(); }));
  EXPECT_EQ(to.bytes, m.bytes);
}

// Refuses every RDMA write, by the choice of the adapter or the queue pair, or by its rights.
void expect_rdma_refused(AdapterPair& pair, const QpPair& qp) {
  Memory& to = pair.a().memory(100);
  Memory& from = pair.b().memory(100, 1);
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, 9));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kRemoteInvalid);
  EXPECT_TRUE(to.is_zero());
  EXPECT_EQ(pair.a().qp(qp.a).state(), QpState::kErr);
  EXPECT_EQ(pair.b().qp(qp.b).state(), QpState::kErr);
  EXPECT_EQ(pair.a().count(TransportCounter::kTxNaks), 1U);
}

TEST(AdapterTest, S000_01_an_adapter_may_refuse_incoming_rdma) {
  PairOptions options;
  options.limits.accepts_rdma = false;
  AdapterPair pair(options);
  expect_rdma_refused(pair, pair.connect(QpInit{}));
}

TEST(AdapterTest, S000_01_a_queue_pair_may_refuse_incoming_rdma) {
  AdapterPair pair;
  expect_rdma_refused(pair, pair.connect({.accepts_rdma = false}));
}

TEST(AdapterTest, M_05_a_queue_pair_without_the_right_refuses_rdma) {
  AdapterPair pair;
  QpAttr attr;
  attr.rights = kRemoteRead;
  expect_rdma_refused(pair, pair.connect_by_hand(QpInit{}, attr));
}

TEST(AdapterTest, S000_02_ten_queue_pairs_complete_on_one_queue) {
  AdapterPair pair;
  std::map<std::pair<Qpn, std::uint64_t>, int> expected;
  base::SeededRandom random(7);
  Memory& from = pair.b().memory(5000, 2);
  Memory& to = pair.a().memory(5000);
  std::vector<QpPair> qps;
  for (int i = 0; i < 10; ++i) qps.push_back(pair.connect(QpInit{}));
  for (std::uint64_t wr_id = 1; wr_id <= 200; ++wr_id) {
    const QpPair& qp = qps[random.below(qps.size())];
    ASSERT_TRUE(
        pair.b().post_write(qp.b, {from.sge(0, random.below(5000))}, to.start, to.handle, wr_id));
    ++expected[{qp.b, wr_id}];
  }
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 200; }));
  std::map<std::pair<Qpn, std::uint64_t>, int> got;
  for (const Wc& wc : pair.b().sent) {
    EXPECT_EQ(wc.status, WcStatus::kSuccess);
    ++got[{wc.qpn, wc.wr_id}];
  }
  EXPECT_EQ(got, expected);
}

TEST(AdapterTest, S004_01_a_completion_names_queue_pair_and_work_request) {
  AdapterPair pair;
  std::vector<QpPair> qps;
  for (int i = 0; i < 10; ++i) qps.push_back(pair.connect(QpInit{}));
  base::SeededRandom random(3);
  Memory& from = pair.b().memory(2000, 2);
  Memory& to = pair.a().memory(2000);
  std::map<Qpn, std::vector<std::uint64_t>> sends, receives, sent, received;
  for (int i = 0; i < 100; ++i) {
    const QpPair& qp = qps[random.below(qps.size())];
    const std::uint64_t wr_id = random.next();
    ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge()}, wr_id + 1));
    receives[qp.a].push_back(wr_id + 1);
    ASSERT_TRUE(pair.b().post_send(qp.b, {from.sge(0, 1 + random.below(1999))}, wr_id));
    sends[qp.b].push_back(wr_id);
  }
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 100; }));
  for (const Wc& wc : pair.b().sent) sent[wc.qpn].push_back(wc.wr_id);
  for (const Wc& wc : pair.a().received) received[wc.qpn].push_back(wc.wr_id);
  EXPECT_EQ(sent, sends);
  EXPECT_EQ(received, receives);
}

TEST(AdapterTest, S000_02_an_overflow_is_reported_and_ends_the_queue_pair) {
  AdapterPair pair;
  QpInit init;
  init.common.pd = pair.b().pd;
  init.common.send_cq = pair.b().adapter->create_cq(3).value();
  init.common.recv_cq = pair.b().recv_cq;
  const Qpn b = pair.b().create_qp(init);
  const Qpn a = pair.a().create_qp(QpInit{});
  Adapter& at_a = *pair.a().adapter;
  Adapter& at_b = *pair.b().adapter;
  const MgmtPair of_a = at_a.describe(a, 0, 0), of_b = at_b.describe(b, 0, 0);
  ASSERT_TRUE(at_a.connect_qp(of_a, of_b, pair.a().link()));
  ASSERT_TRUE(at_b.connect_qp(of_b, of_a, pair.b().link()));
  Memory& from = pair.b().memory(16, 1);
  Memory& to = pair.a().memory(16);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(pair.b().post_write(b, {from.sge()}, to.start, to.handle));
  }
  EXPECT_EQ(pair.b().count(TransportCounter::kCqOverflow), 0U);
  ASSERT_TRUE(pair.run_until([&] { return pair.b().count(TransportCounter::kCqOverflow) > 0; }));
  EXPECT_EQ(pair.b().qp(b).state(), QpState::kErr);
  std::array<Wc, 8> wcs;
  EXPECT_EQ(at_b.poll_cq(init.common.send_cq, wcs), 3U);  // what fitted is still there
}

// Queue pairs come and go from within the loop; the list of active ones follows.
TEST(AdapterTest, S000_01_queue_pairs_may_go_while_others_send) {
  AdapterPair pair;
  Memory& from = pair.b().memory(50'000, 2);
  Memory& to = pair.a().memory(50'000);
  std::vector<QpPair> qps;
  for (int i = 0; i < 8; ++i) qps.push_back(pair.connect(QpInit{}));
  for (const QpPair& qp : qps) {
    ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle));
  }
  for (std::size_t i = 0; i < qps.size(); i += 2) {
    pair.step();
    pair.b().adapter->destroy_qp(qps[i].b, pair.now());
    pair.a().adapter->destroy_qp(qps[i].a, pair.now());
  }
  pair.run_for(100ms);
  for (const Wc& wc : pair.b().sent) EXPECT_EQ(wc.status, WcStatus::kSuccess);
  for (std::size_t i = 1; i < qps.size(); i += 2) {
    EXPECT_EQ(std::ranges::count(pair.b().sent, qps[i].b, &Wc::qpn), 1);
  }
  EXPECT_EQ(pair.a().adapter->qp_count(), 4U);
}

}  // namespace splitnic::fabric::testing::adapter_test
