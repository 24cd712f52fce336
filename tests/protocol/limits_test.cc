// Every table up to its limit and one more, and depths of nothing and of too much: a clear error,
// and existing objects continue.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing::limits_test {

constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();

// A pair whose first adapter has small tables, and a queue pair that must survive whatever happens.
struct Limits {
  explicit Limits(const AdapterLimits& limits) : pair(options(limits)) {
    qp = pair.connect(QpInit{});
    from = &pair.b().memory(3000, 5);
    to = &pair.a().memory(3000);
  }
  static PairOptions options(const AdapterLimits& limits) {
    PairOptions o;
    o.limits = limits;
    return o;
  }
  Adapter& adapter() { return *pair.a().adapter; }
  void expect_others_go_on() {
    pair.b().sent.clear();
    ASSERT_TRUE(pair.b().post_write(qp.b, {from->sge()}, to->start, to->handle));
    ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
    EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
    EXPECT_EQ(to->bytes, from->bytes);
  }
  AdapterPair pair;
  QpPair qp;
  Memory* from = nullptr;
  Memory* to = nullptr;
};

TEST(LimitsTest, R_62_queue_pairs_up_to_the_limit_and_one_more) {
  Limits limits({.qps = 5});
  std::vector<Qpn> made;
  while (limits.adapter().qp_count() < 5) made.push_back(limits.pair.a().create_qp(QpInit{}));
  QpInit init;
  init.common.pd = limits.pair.a().pd;
  init.common.send_cq = init.common.recv_cq = limits.adapter().create_cq(4).value();
  const auto more = limits.adapter().create_qp(init, limits.pair.now());
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().text(), "the adapter has no queue pair left");
  EXPECT_EQ(limits.adapter().qp_count(), 5U);
  limits.expect_others_go_on();
  limits.adapter().destroy_qp(made.back(), limits.pair.now());
  EXPECT_TRUE(limits.adapter().create_qp(init, limits.pair.now()));
}

TEST(LimitsTest, R_62_regions_and_windows_up_to_the_limit_and_one_more) {
  Limits limits({.memory_entries = 8});
  Mrwt& memory = limits.adapter().memory();
  const PdId pd = limits.pair.a().pd;
  std::vector<std::byte> bytes(64);
  const auto region = memory.regions().register_region(pd, bytes, kLocalRead | kWindowBind);
  ASSERT_TRUE(region);
  const VirtualAddress start = memory.start_of(*region);
  std::vector<MemoryHandle> windows;
  while (memory.live_count() < 8) {
    windows.push_back(
        memory.windows().bind_window(pd, *region, start, 8, kRemoteRead, Qpn{}).value());
  }
  const auto window = memory.windows().bind_window(pd, *region, start, 8, kRemoteRead, Qpn{});
  ASSERT_FALSE(window);
  EXPECT_NE(window.error().text().find("full (8 entries)"), std::string::npos);
  const auto another = memory.regions().register_region(pd, bytes, kLocalRead);
  ASSERT_FALSE(another);
  EXPECT_NE(another.error().text().find("full (8 entries)"), std::string::npos);
  EXPECT_FALSE(memory.windows().reserve_window(pd));
  EXPECT_EQ(memory.live_count(), 8U);
  EXPECT_EQ(memory.entry(*region)->windows_bound, windows.size());
  limits.expect_others_go_on();
  ASSERT_TRUE(memory.windows().unbind(windows.back()));
  EXPECT_TRUE(memory.regions().register_region(pd, bytes, kLocalRead));
}

TEST(LimitsTest, R_62_completion_queues_up_to_the_limit_and_one_more) {
  Limits limits({.cqs = 6});
  std::vector<CqId> made;
  for (auto cq = limits.adapter().create_cq(1); cq; cq = limits.adapter().create_cq(1)) {
    made.push_back(*cq);
    ASSERT_LE(made.size(), 6U);
  }
  ASSERT_FALSE(made.empty());
  EXPECT_EQ(limits.adapter().create_cq(1).error().text(), "no completion queue is left");
  limits.expect_others_go_on();
  limits.adapter().destroy_cq(made.back());
  EXPECT_TRUE(limits.adapter().create_cq(1));
}

TEST(LimitsTest, R_62_depths_of_nothing_and_of_too_much) {
  Limits limits(AdapterLimits{});
  for (const std::size_t depth : {std::size_t{0}, kCqDepthMax + 1, kHuge}) {
    EXPECT_FALSE(limits.adapter().create_cq(depth)) << depth;
  }
  QpInit good;
  good.common.pd = limits.pair.a().pd;
  good.common.send_cq = good.common.recv_cq = limits.adapter().create_cq(4).value();
  const std::size_t before = limits.adapter().qp_count();
  for (const std::size_t depth : {std::size_t{0}, kWorkQueueDepthMax + 1, kHuge}) {
    QpInit init = good;
    init.common.send_depth = depth;
    EXPECT_FALSE(limits.adapter().create_qp(init, limits.pair.now())) << depth;
    init = good;
    init.common.receive_depth = depth;
    EXPECT_FALSE(limits.adapter().create_qp(init, limits.pair.now())) << depth;
  }
  EXPECT_EQ(limits.adapter().qp_count(), before);
  limits.expect_others_go_on();
}

TEST(LimitsTest, R_62_depths_of_a_stream_of_nothing_and_of_too_much) {
  Limits limits(AdapterLimits{});
  StreamInit good;
  good.common.pd = limits.pair.a().pd;
  good.common.send_cq = good.common.recv_cq = limits.adapter().create_cq(4).value();
  const std::size_t before = limits.adapter().qp_count();
  for (const std::size_t depth : {std::size_t{0}, kWorkQueueDepthMax + 1, kHuge}) {
    StreamInit init = good;
    init.common.send_depth = depth;
    EXPECT_FALSE(limits.adapter().create_stream(init, limits.pair.now())) << depth;
    init = good;
    init.common.receive_depth = depth;
    EXPECT_FALSE(limits.adapter().create_stream(init, limits.pair.now())) << depth;
  }
  EXPECT_EQ(limits.adapter().qp_count(), before);
  limits.expect_others_go_on();
}

// One entry in each queue is enough to work with.
TEST(LimitsTest, R_62_the_smallest_queues_work) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.common = {.send_depth = 1, .receive_depth = 1}});
  Memory& from = pair.b().memory(9000, 3);
  Memory& to = pair.a().memory(9000);
  for (int round = 0; round < 3; ++round) {
    to.bytes.assign(to.bytes.size(), std::byte{0});
    pair.b().sent.clear();
    ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge()}));
    EXPECT_FALSE(pair.a().post_recv(qp.a, {to.sge()}));
    ASSERT_TRUE(pair.b().post_send(qp.b, {from.sge()}));
    EXPECT_FALSE(pair.b().post_send(qp.b, {from.sge()}));
    ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
    EXPECT_EQ(to.bytes, from.bytes);
  }
}

// Reads: none accepted, none requested, more than possible.
TEST(LimitsTest, R_62_reads_of_nothing_and_of_too_many) {
  Limits limits(AdapterLimits{});
  QpInit init;
  init.common.pd = limits.pair.a().pd;
  init.common.send_cq = init.common.recv_cq = limits.adapter().create_cq(4).value();
  for (const std::uint16_t reads : {std::uint16_t{kReadsMax + 1}, std::uint16_t{0xFFFF}}) {
    init.common.max_dest_rd_atomic = reads;
    init.common.max_rd_atomic = 0;
    EXPECT_FALSE(limits.adapter().create_qp(init, limits.pair.now()));
    init.common.max_dest_rd_atomic = 0;
    init.common.max_rd_atomic = reads;
    EXPECT_FALSE(limits.adapter().create_qp(init, limits.pair.now()));
  }
  AdapterPair pair;
  const QpPair qp = pair.connect({.common = {.max_dest_rd_atomic = 0, .max_rd_atomic = 0}});
  Memory& into = pair.b().memory(8);
  const Sge piece = into.sge();
  SendWr wr;
  wr.op = WrOp::kRdmaRead;
  wr.gather = {&piece, 1};
  EXPECT_FALSE(pair.b().adapter->post_send(qp.b, wr));
}

TEST(LimitsTest, M_2_a_queue_pair_of_short_cells_is_not_connected) {
  PairOptions options;
  options.mcp_min = 256;
  AdapterPair pair(options);
  const auto connects = [&](std::uint16_t mcp) {
    const Qpn ours = pair.a().create_qp(QpInit{});
    MgmtPair theirs = pair.b().adapter->describe(pair.b().create_qp(QpInit{}), 0, 0);
    theirs.mcp = mcp;
    Adapter& adapter = *pair.a().adapter;
    return adapter.connect_qp(adapter.describe(ours, 0, 0), theirs, pair.a().link()).has_value();
  };
  EXPECT_FALSE(connects(4));
  EXPECT_FALSE(connects(252));
  EXPECT_TRUE(connects(256));
}

// Its CONNECT names more reads than a queue pair can have open.
TEST(LimitsTest, T_21_a_peer_that_serves_any_number_of_reads_is_connected) {
  AdapterPair pair;
  const Qpn ours = pair.a().create_qp(QpInit{});
  MgmtPair theirs = pair.b().adapter->describe(pair.b().create_qp(QpInit{}), 0, 0);
  theirs.max_dest_rd_atomic = 0xFFFF;
  Adapter& adapter = *pair.a().adapter;
  ASSERT_TRUE(adapter.connect_qp(adapter.describe(ours, 0, 0), theirs, pair.a().link()));
  EXPECT_EQ(pair.a().qp(ours).attr().max_rd_atomic, kReadsMax);
}

// Of tables of a queue pair and of a completion queue: what one peer may use.
TEST(LimitsTest, M_1_tables_beyond_the_memory_of_a_peer) {
  Limits limits(AdapterLimits{});
  base::MemoryAccount account(std::uint64_t{256} << 10);
  EXPECT_FALSE(limits.adapter().create_cq(1 << 16, &account));
  EXPECT_EQ(account.used(), 0U);
  const CqId cq = limits.adapter().create_cq(64, &account).value();
  const std::uint64_t of_cq = account.used();
  EXPECT_GE(of_cq, 64 * sizeof(Wc));
  QpInit init;
  init.common.pd = limits.pair.a().pd;
  init.common.send_cq = init.common.recv_cq = cq;
  init.common.memory = &account;
  const auto refused = limits.adapter().create_qp(init, limits.pair.now());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value(), ENOMEM);
  EXPECT_EQ(account.used(), of_cq);
  account.set_limit(std::uint64_t{1} << 20);
  const auto made = limits.adapter().create_qp(init, limits.pair.now());
  ASSERT_TRUE(made);
  EXPECT_GT(account.used(), of_cq + init.common.send_depth * sizeof(SendWr));
  limits.adapter().destroy_qp(*made, limits.pair.now());
  limits.adapter().destroy_cq(cq);
  EXPECT_EQ(account.used(), 0U);
  limits.expect_others_go_on();
}

// The table of one peer fills; the other peer's queue pair and memory do not notice.
TEST(LimitsTest, R_62_a_full_table_is_felt_by_nobody_who_has_his_entries) {
  PairOptions options;
  options.ends = 3;
  options.limits.memory_entries = 16;
  AdapterPair pair(options);
  const QpPair qp = pair.connect(QpInit{});
  Memory& from = pair.b().memory(5000, 1);
  Memory& to = pair.a().memory(5000);
  Mrwt& memory = pair.a().adapter->memory();
  const PdId other = pair.a().adapter->alloc_pd();
  std::vector<std::byte> bytes(16);
  while (memory.regions().register_region(other, bytes, kLocalRead)) {
  }
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_EQ(to.bytes, from.bytes);
  pair.a().adapter->free_pd(other);
  EXPECT_TRUE(memory.regions().register_region(pair.a().pd, bytes, kLocalRead));
}

}  // namespace splitnic::fabric::testing::limits_test
