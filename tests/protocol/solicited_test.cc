// Flag S: from a work request over the wire into the completion of the peer's receive.
#include <gtest/gtest.h>

#include "tests/services/rd_fixture.h"
#include "tests/support/prediction_twins.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::solicited_test {

constexpr std::uint16_t kMcp = 256;

PairOptions short_cells() {
  PairOptions options;
  options.mcp = kMcp;
  return options;
}

// End b sends to end a, which records what arrives.
struct Sender {
  explicit Sender(const QpInit& init) : pair(short_cells()), qp(pair.connect(init)) {
    pair.a().tap.is_recording = true;
  }
  SendWr request(const std::vector<Sge>& gather, bool is_solicited) const {
    SendWr wr;
    wr.gather = gather;
    wr.remote_address = to.start;
    wr.remote_handle = to.handle;
    wr.is_solicited = is_solicited;
    return wr;
  }
  // Posts it, and returns when both ends have completed it.
  void run(const SendWr& wr) {
    pair.a().tap.cells.clear();
    pair.b().sent.clear();
    ASSERT_TRUE(pair.b().adapter->post_send(qp.b, wr));
    ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
    EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
    pair.run_for(std::chrono::milliseconds(1));
  }
  // The headers of the request cells that have arrived since.
  std::vector<MacHeader> arrived() {
    std::vector<MacHeader> headers;
    for (const TappedCell& cell : pair.a().tap.cells) {
      const MacHeader header = cell.header();
      const bool is_reply = header.op == Op::kAck || header.op == Op::kNak;
      if (!cell.sent && !is_reply && header.dqpn == qp.a) headers.push_back(header);
    }
    return headers;
  }
  // Whether each of these cells has the flag.
  std::vector<bool> flags() {
    std::vector<bool> out;
    for (const MacHeader& header : arrived()) out.push_back((header.flags & kFlagSolicited) != 0);
    return out;
  }

  AdapterPair pair;
  QpPair qp;
  Memory& to = pair.a().memory(20 * kMcp);
  Memory& from = pair.b().memory(20 * kMcp, 4);
};

class SolicitedTest : public ::testing::TestWithParam<Service> {
 protected:
  // Posts it and a receive, and returns the completion of that.
  Wc receive(const SendWr& wr) {
    sender_.pair.a().received.clear();
    EXPECT_TRUE(sender_.pair.a().post_recv(sender_.qp.a, {sender_.to.sge()}));
    sender_.run(wr);
    EXPECT_EQ(sender_.pair.a().received.size(), 1U);
    return sender_.pair.a().received.empty() ? Wc{} : sender_.pair.a().received[0];
  }

  Sender sender_{QpInit{.service = GetParam()}};
};

TEST_P(SolicitedTest, S000_02_P_CELL_17_the_last_cell_of_a_send_has_the_flag) {
  const std::vector<Sge> three_cells{sender_.from.sge(0, 2 * kMcp + 10)};
  EXPECT_TRUE(receive(sender_.request(three_cells, true)).is_solicited);
  EXPECT_EQ(sender_.flags(), (std::vector<bool>{false, false, true}));
  EXPECT_FALSE(receive(sender_.request(three_cells, false)).is_solicited);
  EXPECT_EQ(sender_.flags(), (std::vector<bool>{false, false, false}));
  const std::vector<Sge> one_cell{sender_.from.sge(0, 10)};
  EXPECT_TRUE(receive(sender_.request(one_cell, true)).is_solicited);
  EXPECT_EQ(sender_.flags(), std::vector<bool>{true});
}

// On RC its middle cells are sent and taken in runs.
TEST_P(SolicitedTest, S000_02_P_CELL_17_the_last_cell_of_a_long_write_has_the_flag) {
  const std::vector<Sge> all{sender_.from.sge()};
  for (const bool is_solicited : {true, false}) {
    SendWr wr = sender_.request(all, is_solicited);
    wr.op = WrOp::kRdmaWrite;
    wr.idata = 77;
    const Wc wc = receive(wr);
    EXPECT_EQ(wc.op, WcOp::kReceiveRdmaIdata);
    EXPECT_EQ(wc.idata, 77U);
    EXPECT_EQ(wc.is_solicited, is_solicited);
    EXPECT_EQ(sender_.to.bytes, sender_.from.bytes);
    std::vector<bool> flags(20, false);
    flags.back() = is_solicited;
    EXPECT_EQ(sender_.flags(), flags);
  }
  const bool has_runs = GetParam() == Service::kRc;
  EXPECT_EQ(sender_.pair.b().count(TransportCounter::kTxPredicted) > 0, has_runs);
  EXPECT_EQ(sender_.pair.a().count(TransportCounter::kRxPredicted) > 0, has_runs);
}

TEST_P(SolicitedTest, P_CELL_17_a_write_that_takes_no_receive_has_no_flag) {
  const std::vector<Sge> two_cells{sender_.from.sge(0, kMcp + 10)};
  SendWr wr = sender_.request(two_cells, true);
  wr.op = WrOp::kRdmaWrite;
  sender_.run(wr);
  EXPECT_EQ(sender_.flags(), (std::vector<bool>{false, false}));
}

INSTANTIATE_TEST_SUITE_P(All, SolicitedTest, ::testing::Values(Service::kRc, Service::kUc),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST(SolicitedRequestTest, P_CELL_17_a_read_has_no_flag) {
  Sender sender(reading(4));
  const std::vector<Sge> into{sender.from.sge(0, kMcp + 10)};
  SendWr wr = sender.request(into, true);
  wr.op = WrOp::kRdmaRead;
  sender.run(wr);
  EXPECT_EQ(sender.flags(), std::vector<bool>{false});
}

// Whether the datagram has the last cell of a Send to this queue pair, sent for the first time.
bool has_fresh_end(base::Bytes datagram, Qpn to) {
  FlitWalker walker(datagram);
  FlitView flit;
  while (walker.next(flit) == FlitWalker::Step::kFlit) {
    if (flit.header.type != FlitType::kData || flit.payload.size() < kMacHeaderBytes) continue;
    const MacHeader header = MacHeader::parse(flit.payload.data());
    const bool is_repeated = (header.flags & kFlagRetransmission) != 0;
    if (header.op == Op::kSend && header.dqpn == to && is_last(header.pos) && !is_repeated) {
      return true;
    }
  }
  return false;
}

// The last cell is lost once.
class SolicitedLossTest : public ::testing::TestWithParam<bool> {};

TEST_P(SolicitedLossTest, S000_02_P_CELL_17_a_retransmission_keeps_the_flag) {
  Sender sender(QpInit{.selective_repeat = GetParam()});
  ASSERT_TRUE(sender.pair.a().post_recv(sender.qp.a, {sender.to.sge()}));
  sender.pair.a().faults.drop_received(
      [&](base::Bytes datagram) { return has_fresh_end(datagram, sender.qp.a); });
  const std::vector<Sge> three_cells{sender.from.sge(0, 2 * kMcp + 10)};
  sender.run(sender.request(three_cells, true));
  ASSERT_EQ(sender.pair.a().received.size(), 1U);
  EXPECT_TRUE(sender.pair.a().received[0].is_solicited);
  std::size_t repeated = 0;
  for (const MacHeader& header : sender.arrived()) {
    const bool is_end = is_last(header.pos);
    EXPECT_EQ((header.flags & kFlagSolicited) != 0, is_end) << header.csn;
    if (is_end && (header.flags & kFlagRetransmission) != 0) ++repeated;
  }
  EXPECT_GE(repeated, 1U);
}

INSTANTIATE_TEST_SUITE_P(All, SolicitedLossTest, ::testing::Bool(), [](const auto& test) {
  return std::string(test.param ? "selective_repeat" : "go_back_n");
});

// A receiver ignores the flag on all but the last cell, in a run of cells and outside of one.
TEST(SolicitedRunTest, S000_02_P_CELL_17_only_the_last_cell_counts) {
  constexpr std::size_t kLast = 9;
  for (const std::size_t flagged : {std::size_t{0}, std::size_t{4}, kLast}) {
    PredictionTwins twins;
    twins.both([](PredictionTwin& twin) {
      twin.connect({.common = {.mcp = PredictionTwin::kMcp}, .ack_interval = 64});
      ASSERT_TRUE(twin.pair.a().post_recv(twin.pairs[0].a));
    });
    PredictionTwin& model = twins.with;
    CellMaker maker(model.pair, 1, model.pairs[0].b, 0, model.pairs[0].a);
    Cells cells = write_of(maker, model.memory.start, model.memory.handle,
                           (kLast + 1) * PredictionTwin::kMcp - 5, 1, 77);
    change(cells[flagged], [](MacHeader& h) { h.flags |= kFlagSolicited; });
    twins.take(cells);
    EXPECT_EQ(twins.difference(), "") << flagged;
    EXPECT_EQ(model.predicted(), kLast - 1) << flagged;
    twins.both([&](PredictionTwin& twin) {
      ASSERT_EQ(twin.pair.a().received.size(), 1U) << flagged;
      EXPECT_EQ(twin.pair.a().received[0].is_solicited, flagged == kLast) << flagged;
    });
  }
}

class SolicitedDatagramTest : public ::testing::TestWithParam<Service> {};

TEST_P(SolicitedDatagramTest, S000_02_P_CELL_17_a_datagram_has_the_flag) {
  constexpr std::uint8_t kNoNextHeader = 59;
  RdMesh mesh(2);
  MeshNode& near = mesh.node(0);
  MeshNode& far = mesh.node(1);
  const Qpn from = mesh.make(0, near.init(GetParam()));
  const Qpn to = mesh.make(1, far.init(GetParam()));
  // On Raw the message is an IPv6 datagram; the other services send any bytes.
  Memory& message = near.memory(kGnhBytes);
  Gnh{.next_header = kNoNextHeader, .hop_limit = 64}.emit(message.bytes.data());
  Memory& room = far.memory(kGnhBytes);
  if (GetParam() == Service::kRaw) {
    ASSERT_TRUE(far.adapter.add_raw_filter(to, {.next_header = kNoNextHeader}));
  }
  for (const bool is_solicited : {true, false}) {
    far.received.clear();
    ASSERT_TRUE(far.adapter.post_recv(to, RecvWr{1, std::array{room.sge()}}));
    SendWr wr;
    wr.is_solicited = is_solicited;
    wr.destination_lid = near.links[1]->remote_lid();
    ASSERT_TRUE(mesh.send(0, from, 1, to, {message.sge()}, wr));
    ASSERT_TRUE(mesh.run_until([&] { return !far.received.empty(); }));
    EXPECT_EQ(far.received[0].is_solicited, is_solicited);
    EXPECT_EQ(room.bytes, message.bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SolicitedDatagramTest,
                         ::testing::Values(Service::kRd, Service::kUd, Service::kRaw),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace splitnic::fabric::testing::solicited_test
