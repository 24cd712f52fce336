// Header prediction: long RDMA writes are taken and sent in runs of cells, and nothing but the time
// that it takes may differ from cell by cell. Each precondition of a run is made false in the
// middle of one, and random sequences of cells look for what nobody thought of.
#include <gtest/gtest.h>

#include "tests/support/prediction_twins.h"
#include "tests/support/stream.h"

namespace splitnic::fabric::testing::header_prediction_test {

using namespace std::chrono_literals;
using Cells = std::vector<std::vector<std::byte>>;
constexpr std::size_t kMcp = PredictionTwin::kMcp;

// The cells of one RDMA write of `bytes` bytes to `offset` of the memory of `handle`.
Cells write_of(CellMaker& maker, VirtualAddress to, MemoryHandle handle, std::size_t bytes,
               std::size_t seed, std::optional<std::uint32_t> idata = {}) {
  std::vector<std::byte> payload(bytes);
  for (std::size_t i = 0; i < bytes; ++i) payload[i] = pattern(seed, i);
  const auto cells = static_cast<std::uint32_t>(cells_of(bytes, kMcp));
  Cells out;
  for (std::uint32_t csn = 0; csn < cells; ++csn) {
    CellParts parts;
    const Pos pos = position_of(csn, cells);
    if (is_first(pos)) parts.va_mh = VaMh{to, handle, static_cast<std::uint32_t>(bytes)};
    if (is_last(pos)) {
      parts.idata = idata;
      parts.flags = kFlagAckRequest;
    }
    const base::Bytes rest = base::Bytes(payload).subspan(csn * kMcp);
    out.push_back(maker.next(Op::kRdmaWrite, pos, rest.first(std::min(kMcp, rest.size())), parts));
  }
  return out;
}

// A header field of a cell is changed, and the CRC fits.
template <class Change>
void change(std::vector<std::byte>& cell, Change&& how) {
  MacHeader header = MacHeader::parse(cell.data());
  how(header);
  header.emit(cell.data());
  reseal(cell);
}

// What happens to the ten cells of a write in which a run of eight would be. Event: between the
// batch of the first five cells and that of the rest.
struct Case {
  std::string name;
  std::uint64_t predicted;  // cells that are taken in a run in spite of it
  std::function<void(Cells&, PredictionTwins&)> cells = [](Cells&, PredictionTwins&) {};
  std::function<void(PredictionTwin&)> event = nullptr;
  QpInit init{.mcp = kMcp, .ack_interval = 64};
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
  // What the refusal or the gap leaves behind is the same, too.
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
  // One cell more than the packet has room for: the last says that it is a middle one.
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
  // Two middle cells of another write in the middle: each of the three runs is one of its own.
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
                 {.mcp = kMcp, .ack_interval = 1}});
  out.push_back({"an_ack_for_four",
                 8,
                 [](Cells&, PredictionTwins&) {},
                 nullptr,
                 {.mcp = kMcp, .ack_interval = 4}});
  out.push_back({"go_back_n_and_a_gap",
                 3,
                 [](Cells& cells, PredictionTwins&) { cells.erase(cells.begin() + 4); },
                 nullptr,
                 {.mcp = kMcp, .ack_interval = 64, .selective_repeat = false}});
  out.push_back({"rdma_is_not_accepted",
                 0,
                 [](Cells&, PredictionTwins&) {},
                 nullptr,
                 {.mcp = kMcp, .accepts_rdma = false}});
  const auto event = [&](std::string name, std::uint64_t predicted, auto how) {
    out.push_back({std::move(name), predicted, [](Cells&, PredictionTwins&) {}, how});
  };
  // A run begins behind a cell of its own batch, so the first of the second batch is for itself.
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
  event("deregistered", 4,
        [](PredictionTwin& twin) { ASSERT_TRUE(twin.table().deregister(twin.memory.handle)); });
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
    twin.connect({.mcp = kMcp});
    window = twin.table()
                 .bind_window(twin.pair.a().pd, twin.memory.handle, twin.memory.start,
                              PredictionTwin::kBytes, kRemoteWrite, {})
                 .value();
    twin.table().make_one_touch(window);
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
    twin.connect({.mcp = kMcp});
    window = twin.table()
                 .bind_window(twin.pair.a().pd, twin.memory.handle, twin.memory.start,
                              PredictionTwin::kBytes, kRemoteWrite, twin.pairs[0].a)
                 .value();
  });
  PredictionTwin& model = twins.with;
  CellMaker maker(model.pair, 1, model.pairs[0].b, 0, model.pairs[0].a);
  const Cells cells = write_of(maker, model.memory.start, window, 10 * kMcp, 1);
  const std::span<const std::vector<std::byte>> all(cells);
  twins.take(all.first(5));
  twins.both([&](PredictionTwin& twin) { ASSERT_TRUE(twin.table().unbind(window)); });
  twins.take(all.subspan(5));
  EXPECT_EQ(twins.difference(), "");
  EXPECT_EQ(model.predicted(), 4U);
  EXPECT_EQ(model.memory.bytes[5 * kMcp], std::byte{0});
}

// The handle is the same, and what it names is valid: only the touch tells that it is another one.
TEST(HeaderPrediction, S000_22_a_one_touch_window_that_is_bound_again_ends_the_run) {
  PredictionTwins twins;
  MemoryHandle window;
  const auto bind = [&](PredictionTwin& twin) {
    ASSERT_FALSE(twin.table().bind_reserved(twin.pair.a().pd, window, twin.memory.handle,
                                            twin.memory.start, PredictionTwin::kBytes, kRemoteWrite,
                                            {}));
    twin.table().make_one_touch(window);
  };
  twins.both([&](PredictionTwin& twin) {
    twin.connect({.mcp = kMcp});
    window = twin.table().reserve_window(twin.pair.a().pd).value();
    bind(twin);
  });
  PredictionTwin& model = twins.with;
  CellMaker maker(model.pair, 1, model.pairs[0].b, 0, model.pairs[0].a);
  Cells cells = write_of(maker, model.memory.start, window, 10 * kMcp, 1);
  // A cell that came before begins the second batch: behind it a run would go on.
  const Cells second = [&] {
    Cells out{cells[4]};
    out.insert(out.end(), cells.begin() + 5, cells.end());
    return out;
  }();
  twins.take(std::span<const std::vector<std::byte>>(cells).first(5));
  twins.both([&](PredictionTwin& twin) {
    ASSERT_FALSE(twin.table().clear_window(twin.pair.a().pd, window));
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
  twins.both([](PredictionTwin& twin) { twin.connect({.mcp = kMcp}); });
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
    twin.connect({.mcp = kMcp});
    std::byte* at = pages[i++]->bytes.data();
    const std::array<std::byte*, 2> row{at + 4 * kPage, at + 5 * kPage};
    const std::array<std::byte*, 2> swapped{at, at + 2 * kPage};
    const auto reg = [&](const std::array<std::byte*, 2>& list, std::uint64_t start) {
      return twin.table()
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

// A random sequence: writes that are lost, doubled, swapped, changed and mixed, in batches of any
// size, while regions, windows and queue pairs end.
class RandomCells {
 public:
  explicit RandomCells(std::uint64_t seed) : random_(seed) {}

  // The difference that one sequence makes.
  std::string run_one(PredictionTwins& twins) {
    QpInit init{.mcp = kMcp, .ack_interval = pick<std::uint16_t>({2, 8, 64})};
    init.selective_repeat = random_.below(3) != 0;
    init.send_depth = init.receive_depth = 4;
    init.window_bytes_max = 4096;
    twins.both([&](PredictionTwin& twin) { twin.connect(init); });
    make_target(twins);
    const std::uint64_t receives = random_.below(3);
    twins.both([&](PredictionTwin& twin) {
      for (std::uint64_t i = 0; i < receives; ++i) {
        static_cast<void>(twin.pair.a().post_recv(twin.pairs[0].a, {}, i));
      }
    });
    Cells cells = make_cells(twins.with);
    for (std::uint64_t i = random_.below(4); i > 0; --i) disturb(cells);
    std::string different;
    for (std::span<const std::vector<std::byte>> rest(cells); !rest.empty() && different.empty();) {
      const std::size_t n = std::min<std::size_t>(rest.size(), 1 + random_.below(12));
      twins.take(rest.first(n));
      rest = rest.subspan(n);
      different = twins.difference();
      if (random_.below(6) == 0) disturb_owner(twins);
    }
    end_target(twins);
    return different;
  }

 private:
  template <class T>
  T pick(std::initializer_list<T> of) {
    return *(of.begin() + random_.below(of.size()));
  }

  void make_target(PredictionTwins& twins) {
    const std::uint64_t kind = random_.below(4);
    twins.both([&](PredictionTwin& twin) {
      twin.guard.from = PredictionTwin::kBytes;
      target_ = twin.memory.handle;
      has_window_ = kind < 3;
      if (!has_window_) return;
      const Qpn bound = kind == 1 ? twin.pairs[0].a : Qpn();
      target_ = twin.table()
                    .bind_window(twin.pair.a().pd, twin.memory.handle, twin.memory.start,
                                 PredictionTwin::kBytes, kRemoteWrite, bound)
                    .value();
      if (kind == 2) twin.table().make_one_touch(target_);
    });
  }
  void end_target(PredictionTwins& twins) {
    twins.both([&](PredictionTwin& twin) {
      if (has_window_) static_cast<void>(twin.table().unbind(target_));
      static_cast<void>(twin.table().set_valid(twin.memory.handle, true));
      twin.disconnect();
    });
  }

  Cells make_cells(PredictionTwin& model) {
    CellMaker mine(model.pair, 1, model.pairs[0].b, 0, model.pairs[0].a);
    CellMaker other(model.pair, 1, model.pairs[1].b, 0, model.pairs[1].a);
    Cells out;
    for (std::uint64_t packets = 1 + random_.below(3); packets > 0; --packets) {
      const std::size_t bytes = 1 + random_.below(11 * kMcp);
      const std::size_t offset = random_.below(PredictionTwin::kBytes - bytes + 9);
      std::optional<std::uint32_t> idata;
      if (random_.below(2) == 0) idata = random_.next32();
      const Cells one =
          write_of(mine, model.memory.at(offset), target_, bytes, random_.below(200), idata);
      out.insert(out.end(), one.begin(), one.end());
    }
    if (random_.below(4) == 0) {
      const Cells one = write_of(other, model.other_memory.start, model.other_memory.handle,
                                 1 + random_.below(6 * kMcp), random_.below(200));
      out.insert(out.begin() + static_cast<std::ptrdiff_t>(random_.below(out.size())), one.begin(),
                 one.end());
    }
    return out;
  }

  void disturb(Cells& cells) {
    if (cells.empty()) return;
    const auto at = static_cast<std::ptrdiff_t>(random_.below(cells.size()));
    const auto to = static_cast<std::ptrdiff_t>(random_.below(cells.size()));
    std::vector<std::byte>& cell = cells[static_cast<std::size_t>(at)];
    switch (random_.below(7)) {
      case 0:  // lost, and perhaps sent again
        if (random_.below(2) == 0) {
          std::vector<std::byte> again = cell;
          change(again, [](MacHeader& h) { h.flags |= kFlagRetransmission; });
          cells.push_back(std::move(again));
        }
        cells.erase(cells.begin() + at);
        break;
      case 1:
        cells.insert(cells.begin() + to, std::vector<std::byte>(cell));
        break;
      case 2:
        std::swap(cells[static_cast<std::size_t>(at)], cells[static_cast<std::size_t>(to)]);
        break;
      case 3:  // a bit of it, and the CRC no longer fits
        cell[random_.below(cell.size())] ^= static_cast<std::byte>(1U << random_.below(8));
        break;
      case 4:  // a bit of its header, and the CRC fits
        cell[random_.below(kMacHeaderBytes)] ^= static_cast<std::byte>(1U << random_.below(8));
        reseal(cell);
        break;
      case 5:
        change(cell, [&](MacHeader& h) {
          h.flags = static_cast<std::uint8_t>(
              h.flags ^ pick<int>({kFlagAckRequest, kFlagSolicited, kFlagRetransmission}));
        });
        break;
      default:  // shorter by a word
        if (cell.size() < kMacHeaderBytes + kVaMhBytes + 12) return;
        cell.resize(cell.size() - 4);
        if (random_.below(2) == 0) {
          change(cell, [](MacHeader& h) {
            h.payload_bytes = static_cast<std::uint16_t>(h.payload_bytes - 4);
          });
        } else {
          reseal(cell);
        }
    }
  }

  void disturb_owner(PredictionTwins& twins) {
    const std::uint64_t what = random_.below(5);
    const std::uint64_t number = random_.below(PredictionTwin::kBytes);
    twins.both([&](PredictionTwin& twin) {
      QpAttr attr = twin.qp().attr();
      switch (what) {
        case 0:
          static_cast<void>(twin.table().unbind(target_));
          break;
        case 1:
          static_cast<void>(twin.table().set_valid(twin.memory.handle, number % 2 == 0));
          break;
        case 2:
          twin.guard.from = number;
          break;
        case 3:
          twin.qp().enter_error();
          break;
        default:
          attr.rights = kRemoteRead | (number % 2 == 0 ? kRemoteWrite : 0);
          static_cast<void>(twin.qp().modify(QpState::kRts, kAttrRights, attr));
      }
    });
  }

  base::SeededRandom random_;
  MemoryHandle target_;
  bool has_window_ = false;
};

// The parameter is the seed; the ten together are 10^5 sequences.
class RandomRuns : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomRuns, S001_40_ten_thousand_sequences_have_the_effect_of_cell_by_cell) {
  PredictionTwins twins;
  RandomCells cells(GetParam());
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(cells.run_one(twins), "") << "sequence " << i;
  }
  // Half of all cells and more, were none of them disturbed; the disturbed ones are the point.
  EXPECT_GT(twins.with.predicted(), 10'000U);
  EXPECT_EQ(twins.without.predicted(), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, RandomRuns, ::testing::Range<std::uint64_t>(1, 11));

// The sending side, over a path with faults: both ends predict or none does, and each end sends the
// same bytes in the same order at the same time.
struct PathCase {
  std::string name;
  FaultConfig faults;
  std::uint16_t mcp = 0;
  LinkProfile profile = LinkProfile::kSpeed;
  bool has_runs = true;
  bool selective_repeat = true;
};
std::ostream& operator<<(std::ostream& out, const PathCase& c) { return out << c.name; }

struct Outcome {
  std::vector<std::vector<std::byte>> cells;
  std::vector<std::byte> memory;
  std::string counters;
  std::uint64_t predicted = 0;
};

Outcome send_over(const PathCase& path, std::uint64_t seed, bool predicts) {
  PairOptions options;
  options.seed = seed;
  options.mcp = path.mcp;
  options.profile = path.profile;
  options.limits.predicts_headers = predicts;
  AdapterPair pair(options);
  QpInit init;
  init.window_bytes_max = 20'000;
  init.selective_repeat = path.selective_repeat;
  const QpPair qp = pair.connect(init);
  Memory& to = pair.a().memory(100'000);
  Memory& from = pair.b().memory(100'000, seed);
  for (End* end : {&pair.a(), &pair.b()}) {
    end->faults.set_config(path.faults);
    end->tap.is_recording = true;
  }
  base::SeededRandom random(seed);
  std::size_t posted = 0;
  for (; posted < 30; ++posted) {
    std::vector<Sge> gather;
    std::size_t bytes = 0;
    for (std::uint64_t pieces = 1 + random.below(3); pieces > 0; --pieces) {
      const std::size_t length = random.below(12'000);
      gather.push_back(from.sge(random.below(80'000), length));
      bytes += length;
    }
    const base::Status posted_one =
        pair.b().post_write(qp.b, gather, to.at(random.below(60'000)), to.handle, posted);
    CHECK(posted_one.has_value() && bytes < 40'000);
  }
  CHECK(pair.run_until([&] { return pair.b().sent.size() == posted; }));
  Outcome out;
  for (End* end : {&pair.a(), &pair.b()}) {
    for (TappedCell& cell : end->tap.cells) {
      if (cell.sent) out.cells.push_back(std::move(cell.bytes));
    }
    end->adapter->visit_counters([&](std::string_view name, std::uint64_t value) {
      if (!name.ends_with(".predicted")) {
        out.counters += std::string(name) + " " + std::to_string(value) + "\n";
      }
    });
  }
  out.memory = to.bytes;
  out.predicted = pair.b().count(TransportCounter::kTxPredicted);
  return out;
}

class RunsOnAPath : public ::testing::TestWithParam<PathCase> {};

TEST_P(RunsOnAPath, S001_35_every_cell_is_sent_as_cell_by_cell) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome with = send_over(GetParam(), seed, true);
    const Outcome without = send_over(GetParam(), seed, false);
    ASSERT_EQ(with.cells.size(), without.cells.size()) << "seed " << seed;
    for (std::size_t i = 0; i < with.cells.size(); ++i) {
      ASSERT_EQ(with.cells[i], without.cells[i]) << "seed " << seed << ", cell " << i;
    }
    ASSERT_EQ(with.memory, without.memory) << "seed " << seed;
    ASSERT_EQ(with.counters, without.counters) << "seed " << seed;
    EXPECT_EQ(with.predicted > 0, GetParam().has_runs);
    EXPECT_EQ(without.predicted, 0U);
  }
}

FaultConfig loss(std::uint32_t ppm) {
  FaultConfig f;
  f.loss_ppm = ppm;
  return f;
}
FaultConfig everything() {
  FaultConfig f = loss(10'000);
  f.duplicate_ppm = f.reorder_ppm = f.corrupt_ppm = 10'000;
  f.jitter = 100us;
  return f;
}

INSTANTIATE_TEST_SUITE_P(
    All, RunsOnAPath,
    ::testing::Values(PathCase{"clean", {}}, PathCase{"loss_1", loss(10'000)},
                      PathCase{"loss_5", loss(50'000)}, PathCase{"everything", everything()},
                      PathCase{"go_back_n", loss(20'000), 0, LinkProfile::kSpeed, true, false},
                      PathCase{"cells_of_256", loss(10'000), 256},
                      PathCase{"full_profile_has_packet_crcs", {}, 0, LinkProfile::kFull, false}),
    [](const auto& test) { return test.param.name; });

TEST(HeaderPrediction, S002_19_memory_that_is_deregistered_in_the_middle_of_a_run_fails_the_post) {
  AdapterPair pair;
  QpInit init;
  init.window_bytes_max = 20'000;  // the run has to wait for ACKs
  const QpPair qp = pair.connect(init);
  Memory& to = pair.a().memory(100'000);
  Memory& from = pair.b().memory(100'000, 1);
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, 5));
  ASSERT_TRUE(pair.run_until([&] { return pair.b().count(TransportCounter::kTxPredicted) > 20; }));
  ASSERT_TRUE(pair.b().adapter->memory().deregister(from.handle));
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 1; }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kLocalProtection);
  EXPECT_EQ(pair.b().qp(qp.b).state(), QpState::kErr);
}

}  // namespace splitnic::fabric::testing::header_prediction_test
