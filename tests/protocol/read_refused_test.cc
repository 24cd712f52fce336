// RDMA reads and FetchOps that are refused, and invalid responses: memory stays as it
// was, and the failure has the right name.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/cell_maker.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::read_refused_test {

using namespace std::chrono_literals;

struct Refusal {
  std::string name;
  // Changes the request, or the memory, so that it has to be refused.
  std::function<void(AdapterPair&, Memory& there, VirtualAddress& address, MemoryHandle& handle)>
      spoil;
};
std::ostream& operator<<(std::ostream& out, const Refusal& r) { return out << r.name; }

class RefusedAccess : public ::testing::TestWithParam<Refusal> {
 protected:
  void SetUp() override {
    address_ = there_.start;
    handle_ = there_.handle;
    GetParam().spoil(pair_, there_, address_, handle_);
  }
  void expect_refused(const std::vector<std::byte>& here_before) {
    ASSERT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
    EXPECT_EQ(pair_.b().sent[0].status, WcStatus::kRemoteAccess);
    EXPECT_EQ(pair_.a().qp(qp_.a).state(), QpState::kErr);
    EXPECT_EQ(pair_.b().qp(qp_.b).state(), QpState::kErr);
    EXPECT_EQ(here_.bytes, here_before);
    Memory as_it_was;
    as_it_was.bytes.resize(there_.bytes.size());
    as_it_was.fill(5);
    EXPECT_EQ(there_.bytes, as_it_was.bytes);
    EXPECT_EQ(pair_.a().count(TransportCounter::kDropAccess), 1U);
  }
  AdapterPair pair_;
  QpPair qp_ = pair_.connect(reading());
  Memory& there_ = pair_.a().memory(4096, 5);
  Memory& here_ = pair_.b().memory(4096, 6);
  VirtualAddress address_;
  MemoryHandle handle_;
};

TEST_P(RefusedAccess, M_01_to_M_04_a_read) {
  const auto before = here_.bytes;
  SendWr wr;
  const std::vector<Sge> pieces{here_.sge(0, 100)};
  wr.op = WrOp::kRdmaRead;
  wr.gather = pieces;
  wr.remote_address = address_;
  wr.remote_handle = handle_;
  ASSERT_TRUE(pair_.b().adapter->post_send(qp_.b, wr));
  expect_refused(before);
}

TEST_P(RefusedAccess, M_01_to_M_05_a_fetch_op) {
  const auto before = here_.bytes;
  const AtomicExt fetch{FetchOp::kFetchAdd, 1, 0};
  const VirtualAddress aligned(address_.value / 8 * 8);
  ASSERT_TRUE(post_fetch(pair_.b(), qp_.b, here_, fetch, aligned, handle_));
  expect_refused(before);
}

std::vector<Refusal> refusals() {
  using Spoil = decltype(Refusal::spoil);
  const auto rights = [](std::uint8_t bits) -> Spoil {
    return [bits](AdapterPair& pair, Memory& there, VirtualAddress& address, MemoryHandle& handle) {
      handle = pair.a()
                   .adapter->memory()
                   .regions()
                   .register_region(pair.a().pd, there.bytes, bits)
                   .value();
      address = pair.a().adapter->memory().start_of(handle);
    };
  };
  return {
      {"unknown_key", [](AdapterPair&, Memory&, VirtualAddress&,
                         MemoryHandle& handle) { handle = MemoryHandle(handle.value ^ 0x55555); }},
      {"other_domain",
       [](AdapterPair& pair, Memory& there, VirtualAddress& address, MemoryHandle& handle) {
         Mrwt& table = pair.a().adapter->memory();
         handle = table.regions()
                      .register_region(pair.a().adapter->alloc_pd(), there.bytes, kAccessRights)
                      .value();
         address = table.start_of(handle);
       }},
      {"before_the_start", [](AdapterPair&, Memory&, VirtualAddress& address,
                              MemoryHandle&) { address = VirtualAddress(address.value - 8); }},
      {"over_the_end", [](AdapterPair&, Memory& there, VirtualAddress& address,
                          MemoryHandle&) { address = there.at(4096); }},
      {"past_2_to_the_64", [](AdapterPair&, Memory&, VirtualAddress& address,
                              MemoryHandle&) { address = VirtualAddress(~std::uint64_t{0} - 7); }},
      {"write_only", rights(kRemoteWrite)},
      {"deregistered", [](AdapterPair& pair, Memory& there, VirtualAddress&, MemoryHandle&) {
         ASSERT_TRUE(pair.a().adapter->memory().regions().deregister(there.handle));
       }}};
}

INSTANTIATE_TEST_SUITE_P(All, RefusedAccess, ::testing::ValuesIn(refusals()),
                         [](const auto& test) { return test.param.name; });

TEST(ReadRefusedTest, M_05_rights_of_the_queue_pair) {
  for (const std::uint8_t rights : {std::uint8_t{0}, std::uint8_t{kRemoteWrite}}) {
    AdapterPair pair;
    QpInit init = reading();
    QpAttr attr;
    attr.rights = rights;
    attr.max_dest_rd_atomic = attr.max_rd_atomic = 16;
    const QpPair qp = pair.connect_by_hand(init, attr);
    Memory& there = pair.a().memory(64, 1);
    Memory& here = pair.b().memory(64);
    ASSERT_TRUE(post_read(pair.b(), qp.b, {here.sge()}, there));
    ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
    EXPECT_EQ(pair.b().sent[0].status, WcStatus::kRemoteInvalid);
    EXPECT_TRUE(here.is_zero());
  }
}

// A read alone is not enough for a FetchOp: it writes.
TEST(ReadRefusedTest, M_05_a_fetch_op_needs_both_rights) {
  for (const std::uint8_t rights : {std::uint8_t{kRemoteRead}, std::uint8_t{kRemoteWrite}}) {
    AdapterPair pair;
    const QpPair qp = pair.connect(reading());
    Memory& there = pair.a().memory(64, 1, rights);
    Memory& here = pair.b().memory(64);
    const auto before = there.bytes;
    ASSERT_TRUE(
        post_fetch(pair.b(), qp.b, here, {FetchOp::kSwap, 1, 0}, there.start, there.handle));
    ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
    EXPECT_EQ(pair.b().sent[0].status, WcStatus::kRemoteAccess);
    EXPECT_EQ(there.bytes, before);
    EXPECT_TRUE(here.is_zero());
  }
}

TEST(ReadRefusedTest, M_05_a_fetch_op_needs_both_rights_of_the_queue_pair) {
  constexpr std::uint8_t kBoth = kRemoteRead | kRemoteWrite;
  for (const std::uint8_t rights : {std::uint8_t{kRemoteRead}, std::uint8_t{kRemoteWrite}, kBoth}) {
    AdapterPair pair;
    QpAttr attr;
    attr.rights = rights;
    attr.max_dest_rd_atomic = attr.max_rd_atomic = 4;
    const QpPair qp = pair.connect_by_hand(reading(), attr);
    Memory& there = pair.a().memory(64, 1);
    Memory& here = pair.b().memory(64);
    const auto before = there.bytes;
    ASSERT_TRUE(
        post_fetch(pair.b(), qp.b, here, {FetchOp::kSwap, 1, 0}, there.start, there.handle));
    ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
    const bool is_done = rights == kBoth;
    EXPECT_EQ(pair.b().sent[0].status, is_done ? WcStatus::kSuccess : WcStatus::kRemoteInvalid);
    EXPECT_EQ(there.bytes != before, is_done);
    EXPECT_EQ(here.is_zero(), !is_done);
  }
}

struct Shape {
  std::uint64_t offset;
  std::uint32_t length;
};
class BadFetch : public ::testing::TestWithParam<Shape> {};

TEST_P(BadFetch, M_08_length_or_alignment_is_an_invalid_request) {
  AdapterPair pair;
  const QpPair qp = pair.connect(reading());
  Memory& there = pair.a().memory(64, 1);
  const auto before = there.bytes;
  CellMaker maker(pair, 1, qp.b, 0, qp.a);
  pair.a().tap.is_recording = true;
  CellHead head;
  head.header = maker.header(Op::kFetchOpReq, Pos::kOnly);
  head.va_mh = VaMh{there.at(GetParam().offset), there.handle, GetParam().length};
  const AtomicExt fetch{FetchOp::kFetchAdd, 1, 0};
  head.atomic = &fetch;
  maker.inject(make_cell(head, {}));
  pair.run_for(10ms);
  EXPECT_EQ(pair.a().qp(qp.a).state(), QpState::kErr);
  EXPECT_EQ(there.bytes, before);
  for (const TappedCell& cell : pair.a().tap.cells) {
    EXPECT_NE(cell.header().op, Op::kFetchOpResp) << "nothing is disclosed";
  }
}

INSTANTIATE_TEST_SUITE_P(All, BadFetch,
                         ::testing::Values(Shape{0, 0}, Shape{0, 4}, Shape{0, 9}, Shape{1, 8},
                                           Shape{4, 8}, Shape{60, 8}));

// Earlier requests still get their responses, and complete.
TEST(ReadRefusedTest, S000_18_a_refusal_does_not_overtake_a_response) {
  AdapterPair pair;
  const QpPair qp = pair.connect(reading());
  Memory& there = pair.a().memory(300'000, 1);
  Memory& here = pair.b().memory(300'000);
  const Memory nowhere{.bytes = {}, .handle = MemoryHandle(77), .start = there.start};
  ASSERT_TRUE(post_read(pair.b(), qp.b, {here.sge(0, 150'000)}, there, 0, 1));
  ASSERT_TRUE(post_read(pair.b(), qp.b, {here.sge(150'000, 1000)}, nowhere, 0, 2));
  ASSERT_TRUE(post_read(pair.b(), qp.b, {here.sge(151'000, 1000)}, there, 0, 3));
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 3; }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair.b().sent[1].status, WcStatus::kRemoteAccess);
  EXPECT_EQ(pair.b().sent[2].status, WcStatus::kFlushed);
  EXPECT_TRUE(std::equal(here.bytes.begin(), here.bytes.begin() + 150'000, there.bytes.begin()));
  EXPECT_TRUE(std::all_of(here.bytes.begin() + 150'000, here.bytes.end(),
                          [](std::byte b) { return b == std::byte{0}; }));
}

// the access is checked for each cell of the response.
TEST(ReadRefusedTest, M_11_a_region_that_ends_in_mid_response) {
  AdapterPair pair;
  const QpPair qp = pair.connect(reading());
  Memory& there = pair.a().memory(4 << 20, 1);
  Memory& here = pair.b().memory(4 << 20);
  ASSERT_TRUE(post_read(pair.b(), qp.b, {here.sge()}, there));
  ASSERT_TRUE(pair.run_until([&] { return here.bytes[1 << 20] != std::byte{0}; }));
  ASSERT_TRUE(pair.a().adapter->memory().regions().deregister(there.handle));
  there.fill(2);  // nothing of this may travel
  Memory was;
  was.bytes.resize(there.bytes.size());
  was.fill(1);
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kRemoteAccess);
  for (std::size_t i = 0; i < here.bytes.size(); ++i) {
    ASSERT_TRUE(here.bytes[i] == std::byte{0} || here.bytes[i] == was.bytes[i]) << i;
  }
  EXPECT_EQ(here.bytes.back(), std::byte{0});
}

TEST(ReadRefusedTest, S002_19_memory_that_the_response_may_not_be_written_to) {
  AdapterPair pair;
  const QpPair qp = pair.connect(reading());
  Memory& there = pair.a().memory(64, 1);
  Memory& here = pair.b().memory(64, 2, kLocalRead);
  const auto before = here.bytes;
  pair.b().tap.is_recording = true;
  ASSERT_TRUE(post_read(pair.b(), qp.b, {here.sge()}, there));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kLocalProtection);
  EXPECT_EQ(here.bytes, before);
  EXPECT_TRUE(pair.b().tap.cells.empty()) << "it is not even asked for";
}

// Responses made by hand: the request never reaches the other side.
class BadResponse : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(post_read(pair_.b(), qp_.b, {here_.sge(100, 3 * mcp_)}, there_));
    pair_.a().faults.set_config({.loss_ppm = 1'000'000});
    pair_.b().poll();
  }
  void response(Op op, Pos pos, std::uint16_t csn, std::size_t bytes,
                std::uint32_t psn_offset = 0) {
    CellMaker maker(pair_, 0, qp_.a, 1, qp_.b);
    CellHead head;
    head.header = maker.header(op, pos);
    head.header.psn = pair_.b().qp(qp_.b).attr().send_psn + psn_offset;
    head.header.csn = csn;
    head.header.lcn = Lcn();
    const std::vector<std::byte> payload(bytes, std::byte{0xEE});
    maker.inject(make_cell(head, payload));
    pair_.b().poll();
  }
  void expect_bad_response() {
    pair_.b().poll();
    ASSERT_FALSE(pair_.b().sent.empty());
    EXPECT_EQ(pair_.b().sent[0].status, WcStatus::kBadResponse);
    EXPECT_EQ(pair_.b().qp(qp_.b).state(), QpState::kErr);
  }
  void expect_untouched_outside() {
    for (std::size_t i = 0; i < here_.bytes.size(); ++i) {
      if (i >= 100 && i < 100 + 3 * mcp_) continue;
      ASSERT_EQ(here_.bytes[i], std::byte{0}) << i;
    }
  }
  AdapterPair pair_;
  QpPair qp_ = pair_.connect(reading());
  std::size_t mcp_ = pair_.b().link().mcp();
  Memory& there_ = pair_.a().memory(100'000, 1);
  Memory& here_ = pair_.b().memory(100'000);
};

TEST_F(BadResponse, M_07_more_than_was_asked_for) {
  response(Op::kRdmaReadResp, Pos::kFirst, 0, mcp_);
  response(Op::kRdmaReadResp, Pos::kMiddle, 1, mcp_);
  response(Op::kRdmaReadResp, Pos::kMiddle, 2, mcp_);  // its last cell, without the word last
  expect_bad_response();
  expect_untouched_outside();
}

TEST_F(BadResponse, M_07_a_cell_behind_the_end) {
  response(Op::kRdmaReadResp, Pos::kLast, 3, mcp_);
  expect_bad_response();
  EXPECT_TRUE(here_.is_zero());
}

TEST_F(BadResponse, M_07_a_short_cell) {
  response(Op::kRdmaReadResp, Pos::kFirst, 0, mcp_ - 4);
  expect_bad_response();
  EXPECT_TRUE(here_.is_zero());
}

TEST_F(BadResponse, M_07_another_operation) {
  response(Op::kFetchOpResp, Pos::kOnly, 0, 8);
  expect_bad_response();
  EXPECT_TRUE(here_.is_zero());
}

TEST_F(BadResponse, T_24_a_response_that_was_not_requested) {
  response(Op::kRdmaReadResp, Pos::kFirst, 0, mcp_, 1);
  EXPECT_EQ(pair_.b().count(TransportCounter::kReadDropStale), 1U);
  EXPECT_EQ(pair_.b().qp(qp_.b).state(), QpState::kRts);
  EXPECT_TRUE(here_.is_zero());
}

// A response that comes in another order acknowledges its request too. Going back at the next
// timeout begins behind the read then [L-15].
TEST(ReadRefusedTest, M_07_L_15_an_early_response_and_then_a_timeout) {
  AdapterPair pair;
  QpInit init = reading();
  init.packet_crc = true;
  init.selective_repeat = false;
  init.common.fixed_rto = 1ms;
  const QpPair qp = pair.connect(init);
  const std::size_t mcp = pair.b().link().mcp();
  Memory& there = pair.a().memory(8192, 1);
  Memory& here = pair.b().memory(8192);
  ASSERT_TRUE(post_read(pair.b(), qp.b, {here.sge(0, 3 * mcp)}, there));
  ASSERT_TRUE(pair.b().post_send(qp.b, {here.sge(4096, 100)}));
  pair.a().faults.set_config({.loss_ppm = 1'000'000});
  pair.b().poll();
  CellMaker maker(pair, 0, qp.a, 1, qp.b);
  CellHead head;
  head.header = maker.header(Op::kRdmaReadResp, Pos::kMiddle);
  head.header.psn = pair.b().qp(qp.b).attr().send_psn;
  head.header.csn = 1;
  head.header.lcn = Lcn();
  maker.inject(make_cell(head, std::vector<std::byte>(mcp, std::byte{0xEE})));
  pair.run_for(5ms);
  EXPECT_GT(pair.b().count(TransportCounter::kTimeouts), 0U);
  EXPECT_EQ(pair.b().qp(qp.b).state(), QpState::kRts);
  EXPECT_TRUE(here.is_zero());
}

// A repeated request names another range than before.
TEST(ReadRefusedTest, M_07_a_repeated_request_for_something_else_is_dropped) {
  AdapterPair pair;
  const QpPair qp = pair.connect(reading());
  Memory& there = pair.a().memory(20'000, 1);
  CellMaker maker(pair, 1, qp.b, 0, qp.a);
  const VaMh range{there.start, there.handle, 10'000};
  pair.a().tap.is_recording = true;
  maker.send(Op::kRdmaReadReq, Pos::kOnly, {}, {.va_mh = range});
  pair.run_for(1ms);
  const std::size_t mcp = pair.a().link().mcp();
  const auto responses = [&] {
    return std::ranges::count_if(pair.a().tap.cells, [](const TappedCell& cell) {
      return cell.sent && cell.header().op == Op::kRdmaReadResp;
    });
  };
  const auto first = responses();
  EXPECT_EQ(first, static_cast<std::ptrdiff_t>((10'000 + mcp - 1) / mcp));
  maker.lcn = maker.lcn - 1U;
  maker.psn = maker.psn - 1U;
  const auto again = [&](const VaMh& what) {
    CellMaker repeated = maker;
    repeated.send(Op::kRdmaReadReq, Pos::kOnly, {}, {.va_mh = what, .flags = kFlagRetransmission});
    pair.run_for(1ms);
  };
  again({there.start, there.handle, 10'001});
  again({there.at(1), there.handle, 9'999});
  again({there.at(10'000), there.handle, 10'000});
  again({there.start, MemoryHandle(there.handle.value + 256), 10'000});
  EXPECT_EQ(responses(), first);
  EXPECT_EQ(pair.a().count(TransportCounter::kReadDropRepeated), 4U);
  again({there.at(mcp), there.handle, static_cast<std::uint32_t>(10'000 - mcp)});
  EXPECT_EQ(responses(), 2 * first - 1) << "the rest of it is fine";
  EXPECT_EQ(pair.a().qp(qp.a).state(), QpState::kRts);
}

}  // namespace splitnic::fabric::testing::read_refused_test
