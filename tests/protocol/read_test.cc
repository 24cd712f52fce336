// RDMA read: the requested data arrives, once and whole, whatever the path loses; what is refused
// touches nothing.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/adapter_pair.h"
#include "tests/support/cell_maker.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::read_test {

using namespace std::chrono_literals;

TEST(ReadTest, S000_04_a_remote_range_into_three_pieces) {
  AdapterPair pair;
  const QpPair qp = pair.connect(reading());
  Memory& from = pair.a().memory(12'000, 3);
  Memory& to = pair.b().memory(20'000);
  const std::vector<Sge> pieces{to.sge(1, 3333), to.sge(5000, 1), to.sge(9001, 6666)};
  ASSERT_TRUE(post_read(pair.b(), qp.b, pieces, from, 17, 5));
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 1; }));
  const Wc& wc = pair.b().sent[0];
  EXPECT_EQ(wc.status, WcStatus::kSuccess);
  EXPECT_EQ(wc.op, WcOp::kRdmaRead);
  EXPECT_EQ(wc.wr_id, 5U);
  EXPECT_EQ(wc.bytes, 10'000U);
  const auto* source = from.bytes.data() + 17;
  EXPECT_TRUE(std::equal(source, source + 3333, to.bytes.data() + 1));
  EXPECT_EQ(to.bytes[5000], source[3333]);
  EXPECT_TRUE(std::equal(source + 3334, source + 10'000, to.bytes.data() + 9001));
  EXPECT_EQ(to.bytes[0], std::byte{0});
  EXPECT_EQ(to.bytes[3334], std::byte{0});
  EXPECT_EQ(to.bytes[9001 + 6666], std::byte{0});
  EXPECT_TRUE(pair.a().received.empty()) << "its owner sees nothing";
}

TEST(ReadTest, S000_04_every_length_round_the_cell) {
  AdapterPair pair;
  const QpPair qp = pair.connect(reading());
  const std::size_t mcp = pair.b().link().mcp();
  Memory& from = pair.a().memory(1 << 20, 1);
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, mcp - 1, mcp, mcp + 1, 2 * mcp, mcp * kResponseCellsMax,
        mcp * kResponseCellsMax + 1, std::size_t{1} << 20}) {
    Memory& to = pair.b().memory(bytes + 1);
    pair.b().sent.clear();
    ASSERT_TRUE(post_read(pair.b(), qp.b, {to.sge(0, bytes)}, from));
    ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); })) << bytes;
    EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess) << bytes;
    EXPECT_TRUE(std::equal(to.bytes.begin(), to.bytes.end() - 1, from.bytes.begin())) << bytes;
    EXPECT_EQ(to.bytes[bytes], std::byte{0}) << bytes;
  }
  EXPECT_EQ(pair.b().count(TransportCounter::kTimeouts), 0U);
}

// Typical I/O: the command by Send, its data read by the other side, the status by Send.
TEST(ReadTest, S000_09_the_io_side_reads_what_the_command_names) {
  AdapterPair pair;
  const QpPair qp = pair.connect(reading());
  Memory& data = pair.b().memory(100'000, 9);
  Memory& command = pair.b().memory(64, 1);
  Memory& status = pair.b().memory(16);
  Memory& at_io = pair.a().memory(64);
  Memory& disk = pair.a().memory(100'000);
  ASSERT_TRUE(pair.a().post_recv(qp.a, {at_io.sge()}));
  ASSERT_TRUE(pair.b().post_recv(qp.b, {status.sge()}));
  ASSERT_TRUE(pair.b().post_send(qp.b, {command.sge()}));
  ASSERT_TRUE(pair.run_until([&] { return !pair.a().received.empty(); }));
  ASSERT_TRUE(post_read(pair.a(), qp.a, {disk.sge()}, data));
  SendWr done;
  const std::vector<Sge> gather{disk.sge(0, 16)};
  done.gather = gather;
  done.is_fenced = true;
  ASSERT_TRUE(pair.a().adapter->post_send(qp.a, done));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().received.empty(); }));
  EXPECT_EQ(disk.bytes, data.bytes);
  EXPECT_TRUE(std::equal(status.bytes.begin(), status.bytes.end(), data.bytes.begin()))
      << "a fenced Send begins when the read is complete";
}

TEST(ReadTest, T_26_completions_keep_the_order_of_posts) {
  AdapterPair pair;
  const QpPair qp = pair.connect(reading());
  Memory& from = pair.a().memory(200'000, 1);
  Memory& to = pair.b().memory(200'000);
  for (std::uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(post_read(pair.b(), qp.b, {to.sge(i * 20'000, 20'000)}, from, i * 20'000, 2 * i));
    ASSERT_TRUE(pair.b().post_write(qp.b, {to.sge(0, 1)}, from.at(0), from.handle, 2 * i + 1));
  }
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 16; }));
  for (std::uint64_t i = 0; i < 16; ++i) EXPECT_EQ(pair.b().sent[i].wr_id, i);
}

class ReadLoss : public ::testing::TestWithParam<bool> {};

TEST_P(ReadLoss, S000_15_reads_and_writes_over_a_bad_path) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    PairOptions options;
    options.seed = seed;
    AdapterPair pair(options);
    FaultConfig faults;
    faults.loss_ppm = 50'000;
    faults.corrupt_ppm = faults.duplicate_ppm = faults.reorder_ppm = 10'000;
    faults.jitter = 100us;
    QpInit init = reading();
    init.selective_repeat = GetParam();
    init.packet_crc = seed % 2 == 0;
    const QpPair qp = pair.connect(init);
    pair.a().faults.set_config(faults);
    pair.b().faults.set_config(faults);
    Memory& from = pair.a().memory(1 << 20, seed);
    Memory& to = pair.b().memory(1 << 20);
    Memory& other = pair.a().memory(1 << 20);
    Memory& mine = pair.b().memory(3000, seed);
    std::size_t at = 0;
    std::uint64_t posted = 0;
    while (at < to.bytes.size()) {
      const std::size_t bytes =
          std::min<std::size_t>(1 + pair.b().random.below(30'000), to.bytes.size() - at);
      ASSERT_TRUE(post_read(pair.b(), qp.b, {to.sge(at, bytes)}, from, at, posted++));
      ASSERT_TRUE(
          pair.b().post_write(qp.b, {mine.sge()}, other.at(at / 2), other.handle, posted++));
      at += bytes;
    }
    ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == posted; }, 60s)) << seed;
    for (std::uint64_t i = 0; i < posted; ++i) {
      ASSERT_EQ(pair.b().sent[i].status, WcStatus::kSuccess) << seed << " " << i;
      ASSERT_EQ(pair.b().sent[i].wr_id, i);
    }
    EXPECT_EQ(to.bytes, from.bytes) << seed;
    EXPECT_LE(pair.idle_steps_with_past_deadline, 10);
  }
}

INSTANTIATE_TEST_SUITE_P(Repeat, ReadLoss, ::testing::Values(true, false),
                         [](const auto& test) { return test.param ? "selective" : "go_back_n"; });

TEST(ReadTest, S000_16_never_more_open_than_the_peer_takes) {
  AdapterPair pair;
  const QpPair qp = pair.connect(reading(4));
  pair.a().faults.set_config({.loss_ppm = 100'000});
  Memory& from = pair.a().memory(64, 1);
  Memory& to = pair.b().memory(6400);
  pair.b().tap.is_recording = true;
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(post_read(pair.b(), qp.b, {to.sge(i * 64, 64)}, from));
  }
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 100; }));
  std::set<std::uint32_t> requested, responded;
  std::size_t open_most = 0;
  for (const TappedCell& cell : pair.b().tap.cells) {
    const MacHeader h = cell.header();
    if (h.op == Op::kRdmaReadReq) requested.insert(h.psn.value);
    if (h.op == Op::kRdmaReadResp) responded.insert(h.psn.value);
    open_most = std::max(open_most, requested.size() - responded.size());
  }
  EXPECT_EQ(requested.size(), 100U);
  EXPECT_EQ(open_most, 4U);
}

TEST(ReadTest, T_21_one_more_than_agreed_is_refused_and_the_others_served) {
  AdapterPair pair;
  const QpPair qp = pair.connect(reading(2));
  Memory& from = pair.a().memory(64, 1);
  CellMaker maker(pair, 1, qp.b, 0, qp.a);
  const VaMh range{from.start, from.handle, 64};
  for (int i = 0; i < 3; ++i) maker.send(Op::kRdmaReadReq, Pos::kOnly, {}, {.va_mh = range});
  pair.run_for(10ms);
  EXPECT_EQ(pair.a().qp(qp.a).state(), QpState::kErr);
  EXPECT_EQ(pair.a().count(TransportCounter::kTxNaks), 1U);
  EXPECT_EQ(pair.b().count(TransportCounter::kReadDropStale), 2U);
}

TEST(ReadTest, T_21_a_peer_that_takes_none_is_not_asked) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Memory& from = pair.a().memory(64, 1);
  Memory& to = pair.b().memory(64);
  EXPECT_FALSE(post_read(pair.b(), qp.b, {to.sge()}, from));
  CellMaker maker(pair, 1, qp.b, 0, qp.a);
  maker.send(Op::kRdmaReadReq, Pos::kOnly, {}, {.va_mh = VaMh{from.start, from.handle, 64}});
  pair.run_for(10ms);
  EXPECT_EQ(pair.a().qp(qp.a).state(), QpState::kErr);
  EXPECT_EQ(pair.b().count(TransportCounter::kReadDropStale), 0U);
}

// Each request has one PSN, so 60 requests pass the wrap after the first 20, wherever cells are
// lost.
TEST(ReadTest, T_22_numbers_wrap_at_reads_and_fetch_ops) {
  constexpr std::uint64_t kEach = 30;
  constexpr std::size_t kBytes = 3000;
  for (const bool selective : {true, false}) {
    AdapterPair pair;
    QpAttr attr;
    attr.send_psn = attr.receive_psn = Psn(0xFFFFFF - 20);
    attr.max_dest_rd_atomic = attr.max_rd_atomic = 16;
    const QpPair qp = pair.connect_by_hand({.selective_repeat = selective}, attr);
    pair.a().faults.set_config({.loss_ppm = 20'000, .reorder_ppm = 20'000});
    pair.b().faults.set_config({.loss_ppm = 20'000, .reorder_ppm = 20'000});
    pair.b().tap.is_recording = true;
    Memory& from = pair.a().memory(kEach * kBytes, 3);
    Memory& to = pair.b().memory(kEach * kBytes);
    Memory& word = pair.a().memory(8);
    Memory& old = pair.b().memory(kEach * 8);
    for (std::uint64_t i = 0; i < kEach; ++i) {
      ASSERT_TRUE(post_read(pair.b(), qp.b, {to.sge(i * kBytes, kBytes)}, from, i * kBytes, 2 * i));
      ASSERT_TRUE(post_fetch(pair.b(), qp.b, old, {FetchOp::kFetchAdd, 1, 0}, word.start,
                             word.handle, 2 * i + 1, i * 8));
    }
    ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 2 * kEach; }));
    for (std::uint64_t i = 0; i < 2 * kEach; ++i) {
      EXPECT_EQ(pair.b().sent[i].status, WcStatus::kSuccess) << i;
      EXPECT_EQ(pair.b().sent[i].wr_id, i);
    }
    EXPECT_EQ(to.bytes, from.bytes);
    EXPECT_EQ(word_of(word), kEach);
    for (std::uint64_t i = 0; i < kEach; ++i) EXPECT_EQ(word_of(old, i * 8), i);
    for (const Op op : {Op::kRdmaReadReq, Op::kFetchOpReq, Op::kRdmaReadResp, Op::kFetchOpResp}) {
      const auto count_of = [&](std::uint32_t first, std::uint32_t last) {
        return std::ranges::count_if(pair.b().tap.cells, [&](const TappedCell& cell) {
          const MacHeader h = cell.header();
          return h.op == op && h.psn.value >= first && h.psn.value <= last;
        });
      };
      EXPECT_GT(count_of(0xFFFFFF - 20, 0xFFFFFF), 0) << static_cast<int>(op);
      EXPECT_GT(count_of(0, 40), 0) << static_cast<int>(op);
    }
  }
}

TEST(ReadTest, S000_04_services_without_responses_refuse_the_post) {
  AdapterPair pair;
  QpInit init = reading();
  init.service = Service::kUc;
  const QpPair qp = pair.connect(init);
  Memory& from = pair.a().memory(64, 1);
  Memory& to = pair.b().memory(64);
  EXPECT_FALSE(post_read(pair.b(), qp.b, {to.sge()}, from));
  EXPECT_EQ(pair.b().qp(qp.b).requester().queued(), 0U);
}

// Both agreed requests get their responses, then the repetition of the first crosses its response,
// and the requester, which has it, sends a third request at once. Before any response a third
// request is one too many.
TEST(ReadTest, T_21_a_response_that_is_only_repeated_is_not_open) {
  for (const bool was_served : {true, false}) {
    AdapterPair pair;
    const QpPair qp = pair.connect(reading(2));
    Memory& from = pair.a().memory(64, 1);
    CellMaker maker(pair, 1, qp.b, 0, qp.a);
    CellMaker repeated = maker;
    const VaMh range{from.start, from.handle, 64};
    maker.send(Op::kRdmaReadReq, Pos::kOnly, {}, {.va_mh = range});
    maker.send(Op::kRdmaReadReq, Pos::kOnly, {}, {.va_mh = range});
    if (was_served) pair.run_for(1ms);
    const CellParts again{.va_mh = range, .flags = kFlagRetransmission};
    repeated.send(Op::kRdmaReadReq, Pos::kOnly, {}, again);
    pair.a().tap.is_recording = true;
    const Psn third = maker.psn;
    maker.send(Op::kRdmaReadReq, Pos::kOnly, {}, {.va_mh = range});
    pair.run_for(1ms);
    EXPECT_EQ(pair.a().qp(qp.a).state(), was_served ? QpState::kRts : QpState::kErr);
    const auto responses =
        std::ranges::count_if(pair.a().tap.cells, [third](const TappedCell& cell) {
          const MacHeader h = cell.header();
          return cell.sent && h.op == Op::kRdmaReadResp && h.psn == third;
        });
    EXPECT_EQ(responses, was_served ? 1 : 0);
  }
}

}  // namespace splitnic::fabric::testing::read_test
