// Header prediction: long RDMA writes are taken in runs of cells, and nothing but the time that it
// takes may differ from cell by cell. Each precondition of a run is made false in the middle of
// one.
#include <gtest/gtest.h>

#include "tests/support/prediction_twins.h"

namespace splitnic::fabric::testing::header_prediction_test {

using namespace std::chrono_literals;
constexpr std::size_t kMcp = PredictionTwin::kMcp;

// A change to the ten cells of a write, in which a run of eight would be. Event: between the
// batch of the first five cells and that of the rest.
struct Case {
  std::string name;
  std::uint64_t predicted;  // cells that are taken in a run in spite of it
  std::function<void(Cells&, PredictionTwins&)> cells = [](Cells&, PredictionTwins&) {};
  std::function<void(PredictionTwin&)> event = nullptr;
  QpInit init{.common = {.mcp = kMcp}, .ack_interval = 64};
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

class PreconditionOfARun : public ::testing::TestWithParam<Case> {};

TEST_P(PreconditionOfARun, S001_40_has_the_effect_of_cell_by_cell) {
  PredictionTwins twins;
  const Case& c = GetParam();
  twins.both([&](PredictionTwin& twin) {
    twin.connect(c.init);
    for (std::uint64_t i = 0; i < 4; ++i)
      ASSERT_TRUE(twin.pair.a().post_recv(twin.pairs[0].a, {}, i));
  });
  PredictionTwin& model = twins.with;
  CellMaker maker(model.pair, 1, model.pairs[0].b, 0, model.pairs[0].a);
  Cells cells = write_of(maker, model.memory.start, model.memory.handle, 10 * kMcp - 5, 1, 77);
  c.cells(cells, twins);
  const std::span<const std::vector<std::byte>> all(cells);
  if (c.event) {
    twins.take(all.first(5));
    ASSERT_EQ(twins.difference(), "");
    twins.both(c.event);
    twins.take(all.subspan(5));
  } else {
    twins.take(all);
  }
  EXPECT_EQ(twins.difference(), "");
  EXPECT_EQ(twins.with.predicted(), c.predicted);
  EXPECT_EQ(twins.without.predicted(), 0U);
  // The state behind the refusal or the gap is the same, too.
  Cells later = write_of(maker, model.memory.start, model.memory.handle, 4 * kMcp, 2, 78);
  twins.take(later);
  twins.both([](PredictionTwin& twin) { twin.pair.run_for(1ms); });
  EXPECT_EQ(twins.difference(), "");
}

std::vector<Case> cases() {
  const auto at = [](std::size_t i, auto how) {
    return [i, how](Cells& cells, PredictionTwins&) { change(cells[i], how); };
  };
  std::vector<Case> out;
  out.push_back({"nothing", 8});
  out.push_back({"flag_ack_request", 8, at(4, [](MacHeader& h) { h.flags = kFlagAckRequest; })});
  out.push_back(
      {"flag_retransmission", 8, at(4, [](MacHeader& h) { h.flags = kFlagRetransmission; })});
  out.push_back({"flag_solicited", 8, at(4, [](MacHeader& h) { h.flags = kFlagSolicited; })});
  out.push_back({"flag_packet_crc", 3, at(4, [](MacHeader& h) { h.flags = kFlagPacketCrc; })});
  out.push_back({"flag_pad", 3, at(4, [](MacHeader& h) { h.flags = 1; })});
  out.push_back({"psn", 3, at(4, [](MacHeader& h) { ++h.psn; })});
  out.push_back({"csn", 3, at(4, [](MacHeader& h) { ++h.csn; })});
  out.push_back({"lcn", 3, at(4, [](MacHeader& h) { h.lcn = h.lcn + 7U; })});
  out.push_back({"operation", 3, at(4, [](MacHeader& h) { h.op = Op::kSend; })});
  out.push_back({"position", 3, at(4, [](MacHeader& h) { h.pos = Pos::kLast; })});
  // One cell more than the packet has room for: the last has the position of a middle one.
  out.push_back({"middle_cell_at_the_end", 8, [](Cells& cells, PredictionTwins& twins) {
                   PredictionTwin& model = twins.with;
                   CellMaker maker(model.pair, 1, model.pairs[0].b, 0, model.pairs[0].a);
                   cells = write_of(maker, model.memory.start, model.memory.handle, 10 * kMcp, 1);
                   change(cells[9], [](MacHeader& h) {
                     h.pos = Pos::kMiddle;
                     h.flags = 0;
                   });
                 }});
  out.push_back({"source_queue_pair", 3, at(4, [](MacHeader& h) { h.sqpn = Qpn(9); })});
  out.push_back({"two_cells_of_another_source", 7, [](Cells& cells, PredictionTwins&) {
                   std::vector<std::byte> other = cells[4];
                   change(other, [](MacHeader& h) { h.sqpn = Qpn(9); });
                   cells.insert(cells.begin() + 4, 2, other);
                 }});
  out.push_back({"destination_queue_pair", 3, at(4, [](MacHeader& h) { h.dqpn = Qpn(9); })});
  out.push_back({"source_lid", 3, at(4, [](MacHeader& h) { h.slid = Lid(999); })});
  out.push_back({"destination_lid", 3, at(4, [](MacHeader& h) { h.dlid = Lid(999); })});
  out.push_back({"service", 3, at(4, [](MacHeader& h) { h.service = Service::kUc; })});
  out.push_back({"version", 3, at(4, [](MacHeader& h) { h.version = 2; })});
  const PartitionKey foreign(0x8001), limited(0x7FFF);
  out.push_back({"partition", 3, at(4, [=](MacHeader& h) { h.partition = foreign; })});
  out.push_back({"S004_20_two_cells_of_another_partition", 7, [=](Cells& cells, PredictionTwins&) {
                   std::vector<std::byte> other = cells[4];
                   change(other, [=](MacHeader& h) { h.partition = foreign; });
                   cells.insert(cells.begin() + 4, 2, other);
                 }});
  out.push_back(
      {"partition_of_a_limited_member", 6, at(4, [=](MacHeader& h) { h.partition = limited; })});
  // Nothing forbids these, so the cell is taken, by the general path; another run begins behind it.
  out.push_back({"service_level", 6, at(4, [](MacHeader& h) { h.sl = 3; })});
  out.push_back({"reserved_bits", 7, [](Cells& cells, PredictionTwins&) {
                   cells[4][12] = std::byte{1};
                   reseal(cells[4]);
                 }});
  out.push_back({"idata_on_a_middle_cell", 7, [](Cells& cells, PredictionTwins& twins) {
                   CellMaker maker(twins.with.pair, 1, twins.with.pairs[0].b, 0,
                                   twins.with.pairs[0].a);
                   maker.lcn = maker.lcn + 4U;
                   maker.csn = 4;
                   const base::Bytes payload = base::Bytes(cells[4]).subspan(kMacHeaderBytes, kMcp);
                   cells[4] = maker.next(Op::kRdmaWrite, Pos::kMiddle, payload, {.idata = 77});
                 }});
  out.push_back({"too_short", 3, [](Cells& cells, PredictionTwins&) {
                   cells[4].resize(cells[4].size() - 4);
                   change(cells[4], [](MacHeader& h) { h.payload_bytes -= 4; });
                 }});
  out.push_back({"length_field", 3, at(4, [](MacHeader& h) { h.payload_bytes -= 4; })});
  out.push_back(
      {"cell_crc", 3, [](Cells& cells, PredictionTwins&) { cells[4].back() ^= std::byte{1}; }});
  out.push_back(
      {"payload_bit", 3, [](Cells& cells, PredictionTwins&) { cells[4][40] ^= std::byte{1}; }});
  out.push_back(
      {"lost", 3, [](Cells& cells, PredictionTwins&) { cells.erase(cells.begin() + 4); }});
  out.push_back({"duplicate", 8, [](Cells& cells, PredictionTwins&) {
                   cells.insert(cells.begin() + 5, cells[4]);
                 }});
  out.push_back(
      {"reordered", 6, [](Cells& cells, PredictionTwins&) { std::swap(cells[4], cells[5]); }});
  out.push_back({"another_queue_pair", 7, [](Cells& cells, PredictionTwins& twins) {
                   PredictionTwin& model = twins.with;
                   CellMaker maker(model.pair, 1, model.pairs[1].b, 0, model.pairs[1].a);
                   const Cells others = write_of(maker, model.other_memory.at(3),
                                                 model.other_memory.handle, kMcp, 5);
                   cells.insert(cells.begin() + 5, others.begin(), others.end());
                 }});
  // Two middle cells of another write in the middle: they are three separate runs.
  out.push_back({"another_run", 8, [](Cells& cells, PredictionTwins& twins) {
                   PredictionTwin& model = twins.with;
                   CellMaker maker(model.pair, 1, model.pairs[1].b, 0, model.pairs[1].a);
                   const Cells others = write_of(maker, model.other_memory.at(3),
                                                 model.other_memory.handle, 3 * kMcp, 5);
                   cells.insert(cells.begin() + 5, others.begin(), others.end());
                 }});
  out.push_back(
      {"packet_crc", 0, [](Cells&, PredictionTwins& twins) {
         twins.both([](PredictionTwin& twin) { twin.qp().connect(*twin.pair.a().links[0], true); });
       }});
  out.push_back({"an_ack_per_cell",
                 0,
                 [](Cells&, PredictionTwins&) {},
                 nullptr,
                 {.common = {.mcp = kMcp}, .ack_interval = 1}});
  out.push_back({"an_ack_for_four",
                 8,
                 [](Cells&, PredictionTwins&) {},
                 nullptr,
                 {.common = {.mcp = kMcp}, .ack_interval = 4}});
  out.push_back({"go_back_n_and_a_gap",
                 3,
                 [](Cells& cells, PredictionTwins&) { cells.erase(cells.begin() + 4); },
                 nullptr,
                 {.common = {.mcp = kMcp}, .ack_interval = 64, .selective_repeat = false}});
  out.push_back({"rdma_is_not_accepted",
                 0,
                 [](Cells&, PredictionTwins&) {},
                 nullptr,
                 {.common = {.mcp = kMcp}, .accepts_rdma = false}});
  const auto event = [&](std::string name, std::uint64_t predicted, auto how) {
    out.push_back({std::move(name), predicted, [](Cells&, PredictionTwins&) {}, how});
  };
  // A run begins behind a cell of the same batch, so the first cell of the second batch is in none.
  event("a_new_batch", 7, [](PredictionTwin&) {});
  // Here the first of the second batch is a duplicate, so that a run would follow at once.
  const auto behind_a_duplicate = [&](std::string name, std::uint64_t predicted, auto how) {
    out.push_back(
        {std::move(name), predicted,
         [](Cells& cells, PredictionTwins&) { cells.insert(cells.begin() + 5, cells[4]); }, how});
  };
  behind_a_duplicate("duplicate_and_nothing", 8, [](PredictionTwin&) {});
  behind_a_duplicate("duplicate_and_not_valid", 4, [](PredictionTwin& twin) {
    ASSERT_TRUE(twin.table().set_valid(twin.memory.handle, false));
  });
  behind_a_duplicate("duplicate_and_no_rights", 4, [](PredictionTwin& twin) {
    QpAttr attr = twin.qp().attr();
    attr.rights = kRemoteRead;
    ASSERT_TRUE(twin.qp().modify(QpState::kRts, kAttrRights, attr));
  });
  behind_a_duplicate("duplicate_and_guard_refuses_the_end", 4,
                     [](PredictionTwin& twin) { twin.guard.from = 8 * kMcp; });
  event("deregistered", 4, [](PredictionTwin& twin) {
    ASSERT_TRUE(twin.table().regions().deregister(twin.memory.handle));
  });
  event("not_valid", 4, [](PredictionTwin& twin) {
    ASSERT_TRUE(twin.table().set_valid(twin.memory.handle, false));
  });
  event("guard_refuses_all", 4, [](PredictionTwin& twin) { twin.guard.from = 0; });
  // The general path refuses the cell that the guard speaks of, not those before it.
  event("guard_refuses_the_end", 4, [](PredictionTwin& twin) { twin.guard.from = 8 * kMcp; });
  event("queue_pair_in_error", 4, [](PredictionTwin& twin) { twin.qp().enter_error(); });
  event("rights_of_the_queue_pair", 4, [](PredictionTwin& twin) {
    QpAttr attr = twin.qp().attr();
    attr.rights = kRemoteRead;
    ASSERT_TRUE(twin.qp().modify(QpState::kRts, kAttrRights, attr));
  });
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, PreconditionOfARun, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

TEST(HeaderPrediction, S002_22_a_one_touch_window_ends_with_the_packet_of_a_run) {
  PredictionTwins twins;
  MemoryHandle window;
  twins.both([&](PredictionTwin& twin) {
    twin.connect({.common = {.mcp = kMcp}});
    window = twin.bind_window();
    twin.table().one_touch().enable(window);
  });
  PredictionTwin& model = twins.with;
  CellMaker maker(model.pair, 1, model.pairs[0].b, 0, model.pairs[0].a);
  twins.take(write_of(maker, model.memory.start, window, 6 * kMcp, 1));
  EXPECT_EQ(twins.difference(), "");
  EXPECT_EQ(model.predicted(), 4U);
  twins.take(write_of(maker, model.memory.start, window, 6 * kMcp, 2));
  EXPECT_EQ(twins.difference(), "");
  EXPECT_EQ(model.qp().state(), QpState::kErr);
}

TEST(HeaderPrediction, S002_24_a_window_that_is_unbound_between_two_batches_ends_the_run) {
  PredictionTwins twins;
  MemoryHandle window;
  twins.both([&](PredictionTwin& twin) {
    twin.connect({.common = {.mcp = kMcp}});
    window = twin.bind_window(twin.pairs[0].a);
  });
  PredictionTwin& model = twins.with;
  CellMaker maker(model.pair, 1, model.pairs[0].b, 0, model.pairs[0].a);
  const Cells cells = write_of(maker, model.memory.start, window, 10 * kMcp, 1);
  const std::span<const std::vector<std::byte>> all(cells);
  twins.take(all.first(5));
  twins.both([&](PredictionTwin& twin) { ASSERT_TRUE(twin.table().windows().unbind(window)); });
  twins.take(all.subspan(5));
  EXPECT_EQ(twins.difference(), "");
  EXPECT_EQ(model.predicted(), 4U);
  EXPECT_EQ(model.memory.bytes[5 * kMcp], std::byte{0});
}

// The handle is the same, and what it names is valid: only the touch differs.
TEST(HeaderPrediction, a_one_touch_window_that_is_bound_again_ends_the_run) {
  PredictionTwins twins;
  MemoryHandle window;
  const auto bind = [&](PredictionTwin& twin) {
    ASSERT_FALSE(twin.table().windows().bind_reserved(twin.pair.a().pd, window, twin.memory.handle,
                                                      twin.memory.start, PredictionTwin::kBytes,
                                                      kRemoteWrite, {}));
    twin.table().one_touch().enable(window);
  };
  twins.both([&](PredictionTwin& twin) {
    twin.connect({.common = {.mcp = kMcp}});
    window = twin.table().windows().reserve_window(twin.pair.a().pd).value();
    bind(twin);
  });
  PredictionTwin& model = twins.with;
  CellMaker maker(model.pair, 1, model.pairs[0].b, 0, model.pairs[0].a);
  Cells cells = write_of(maker, model.memory.start, window, 10 * kMcp, 1);
  // A cell that came before begins the second batch: behind it a run would continue.
  const Cells second = [&] {
    Cells out{cells[4]};
    out.insert(out.end(), cells.begin() + 5, cells.end());
    return out;
  }();
  twins.take(std::span<const std::vector<std::byte>>(cells).first(5));
  twins.both([&](PredictionTwin& twin) {
    ASSERT_FALSE(twin.table().windows().clear_window(twin.pair.a().pd, window));
    bind(twin);
  });
  twins.take(second);
  EXPECT_EQ(twins.difference(), "");
  EXPECT_EQ(model.predicted(), 4U);
  EXPECT_EQ(model.qp().state(), QpState::kErr);
}

// A run may follow a cell that leaves nothing to do, such as an ACK: the reply is due all the same.
TEST(HeaderPrediction, S004_04_a_run_behind_a_reply_is_acknowledged) {
  PredictionTwins twins;
  twins.both([](PredictionTwin& twin) { twin.connect({.common = {.mcp = kMcp}}); });
  PredictionTwin& model = twins.with;
  CellMaker maker(model.pair, 1, model.pairs[0].b, 0, model.pairs[0].a);
  Cells cells = write_of(maker, model.memory.start, model.memory.handle, 10 * kMcp, 1);
  const std::span<const std::vector<std::byte>> all(cells);
  twins.take(all.first(5));
  twins.both([](PredictionTwin& twin) { twin.pair.run_for(10ms); });
  AckExt ack;
  ack.cumulative = model.qp().attr().send_lcn;
  Cells second{maker.reply(Op::kAck, ack, Psn())};
  second.insert(second.end(), cells.begin() + 5, cells.begin() + 9);
  twins.take(second);
  EXPECT_EQ(model.predicted(), 8U);
  twins.both([](PredictionTwin& twin) { twin.pair.run_for(10ms); });
  EXPECT_EQ(twins.difference(), "");
  EXPECT_FALSE(model.qp().responder().has_reply_due());
}

// The memory of cells that came early is returned with the same cell, in a run or without one.
TEST(HeaderPrediction, M_1_the_memory_of_early_cells_is_returned_behind_runs_too) {
  base::MemoryAccount in_runs(1 << 22), one_by_one(1 << 22);  // outlive the queue pairs
  PredictionTwins twins;
  base::MemoryAccount* account = &in_runs;
  twins.both([&](PredictionTwin& twin) {
    twin.connect({.common = {.mcp = kMcp, .memory = account}});
    account = &one_by_one;
  });
  PredictionTwin& model = twins.with;
  CellMaker maker(model.pair, 1, model.pairs[0].b, 0, model.pairs[0].a);
  const auto write = [&] {
    return write_of(maker, model.memory.start, model.memory.handle, 16 * kMcp, 1);
  };
  const Cells late = write();
  for (int i = 0; i < 200; ++i) twins.take(write());
  const std::uint64_t most = in_runs.used();
  EXPECT_GT(most, 2 * ReorderBuffer::kKeptBytes);
  twins.take(late);
  for (std::uint32_t cells = 0; cells < ReorderBuffer::kCalmCells + 64; cells += 16) {
    twins.take(write());
    ASSERT_EQ(in_runs.used(), one_by_one.used()) << cells;
  }
  EXPECT_LT(in_runs.used(), most - ReorderBuffer::kKeptBytes);
  EXPECT_GT(model.predicted(), ReorderBuffer::kCalmCells / 2);
  EXPECT_EQ(twins.difference(), "");
}

// Pages that lie apart are no span, pages in a row are.
TEST(HeaderPrediction, S002_09_pages_that_lie_apart_are_written_cell_by_cell) {
  PredictionTwins twins;
  constexpr std::size_t kPage = 4096;
  struct alignas(kPage) Pages {
    std::array<std::byte, 6 * kPage> bytes;
  };
  std::array<std::unique_ptr<Pages>, 2> pages{std::make_unique<Pages>(), std::make_unique<Pages>()};
  MemoryHandle in_a_row, apart;
  std::size_t i = 0;
  twins.both([&](PredictionTwin& twin) {
    twin.connect({.common = {.mcp = kMcp}});
    std::byte* at = pages[i++]->bytes.data();
    const std::array<std::byte*, 2> row{at + 4 * kPage, at + 5 * kPage};
    const std::array<std::byte*, 2> swapped{at, at + 2 * kPage};
    const auto reg = [&](const std::array<std::byte*, 2>& list, std::uint64_t start) {
      return twin.table()
          .regions()
          .register_pages(twin.pair.a().pd, {list, 12, 0, 2 * kPage}, kAccessRights,
                          {.start = VirtualAddress(start), .control = {}})
          .value();
    };
    in_a_row = reg(row, 0x10000);
    apart = reg(swapped, 0x20000);
  });
  PredictionTwin& model = twins.with;
  CellMaker maker(model.pair, 1, model.pairs[0].b, 0, model.pairs[0].a);
  const std::size_t before_the_border = kPage - 3 * kMcp - 8;
  twins.take(write_of(maker, VirtualAddress(0x20000 + before_the_border), apart, 6 * kMcp, 1));
  EXPECT_EQ(twins.difference(), "");
  // Behind the border what is left is one span.
  EXPECT_EQ(model.predicted(), 1U);
  twins.take(write_of(maker, VirtualAddress(0x10000 + before_the_border), in_a_row, 6 * kMcp, 2));
  EXPECT_EQ(twins.difference(), "");
  EXPECT_EQ(pages[0]->bytes, pages[1]->bytes);
}

}  // namespace splitnic::fabric::testing::header_prediction_test
