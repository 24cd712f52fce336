// Channel 0 of a pair: requests and replies, errors of the peer, and what happens when it cannot
// take more.
#include <gtest/gtest.h>

#include "tests/support/channel_fixture.h"

namespace splitnic::messaging::channel_control_test {
namespace {

using namespace std::chrono_literals;
using messaging::bench::ChannelBench;

TEST(ChannelControl, S001_10_replies_find_their_requests) {
  ChannelBench bench;
  ASSERT_TRUE(bench.connect());
  std::vector<std::string> replies(8);
  for (std::size_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(bench.host().pair->request(CfgCode::kEcho, "request " + std::to_string(i),
                                           bench.clock.now(),
                                           [&, i](const CfgReply& r) { replies[i] += r.data; }));
  }
  EXPECT_FALSE(bench.host().pair->request(CfgCode::kEcho, "one too many", bench.clock.now(), {}));
  bench.run_for(100ms);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(replies[i], "request " + std::to_string(i));
}

TEST(ChannelControl, S001_10_three_flushes_are_answered_each_by_its_context) {
  ChannelBench bench({.unit = {.pools = {{16, 256}, {16, 512}, {16, 1024}, {16, 2048}}}});
  ASSERT_TRUE(bench.connect());
  const std::vector<std::uint32_t> refs = bench.unit().pool_refs(true);
  ASSERT_EQ(refs.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) {
    bench.unit().pair->flush({&refs[i], 1}, true);
    bench.unit().step(bench.clock.now());
  }
  ASSERT_TRUE(bench.run_until([&] { return bench.unit().pool_refs(true).size() == 1; }, 900ms));
  EXPECT_EQ(bench.host().pool_refs(false), std::vector<std::uint32_t>{refs[3]});
  EXPECT_EQ(bench.unit().count("msg.drop.context"), 0U);
}

TEST(ChannelControl, S001_24_every_request_gets_one_reply_also_an_unknown_one) {
  ChannelBench bench;
  ASSERT_TRUE(bench.connect());
  std::map<std::uint32_t, std::vector<CfgStatus>> replies;
  for (const std::uint32_t code : {0x00020005U, 0x00010063U, 0x7FFF0001U, 0U}) {
    ASSERT_TRUE(bench.host().pair->request(static_cast<CfgCode>(code), "data", bench.clock.now(),
                                           [&, code](const CfgReply& r) {
                                             EXPECT_TRUE(r.replied);
                                             replies[code].push_back(r.status);
                                           }));
  }
  bench.run_for(5s);
  EXPECT_EQ(replies[0x00020005U], std::vector{CfgStatus::kOk});
  EXPECT_EQ(replies[0x00010063U], std::vector{CfgStatus::kUnknown});
  EXPECT_EQ(replies[0x7FFF0001U], std::vector{CfgStatus::kUnknown});
  EXPECT_EQ(replies[0U], std::vector{CfgStatus::kUnknown});
  EXPECT_TRUE(bench.host().pair->up());
}

TEST(ChannelControl, S001_24_a_request_of_another_version_or_length_is_answered) {
  ChannelBench bench;
  ASSERT_TRUE(bench.connect());
  std::array<std::byte, 24> message{};
  const CfgUtilRequest request{TransactionContext(5), CfgCode::kEcho, {}};
  const std::size_t bytes = request.emit(message);
  message[3] = std::byte{9};  // version
  bench.host().tap.cells.clear();
  bench.host().tap.is_recording = true;
  bench.host().pair->TEST_send(base::Bytes(message).first(bytes));
  ASSERT_TRUE(bench.run_until([&] { return bench.host().count("msg.drop.context") == 1; }, 1s));
  EXPECT_EQ(bench.unit().count("msg.drop.version"), 1U);
  const auto reply = std::ranges::find_if(bench.host().tap.cells, [](const auto& cell) {
    return !cell.sent && cell.header().op == fabric::Op::kSend;
  });
  ASSERT_NE(reply, bench.host().tap.cells.end());
  const auto parsed = CfgUtilReply::parse(reply->view().payload);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->context, TransactionContext(5));
  EXPECT_EQ(parsed->status, CfgStatus::kVersion);
}

TEST(ChannelControl, open_requests_end_with_the_pair) {
  ChannelBench bench;
  ASSERT_TRUE(bench.connect());
  bench.unit().polls = false;
  int unanswered = 0;
  ASSERT_TRUE(bench.host().pair->request(CfgCode::kEcho, "x", bench.clock.now(),
                                         [&](const CfgReply& r) { unanswered += !r.replied; }));
  bench.run_for(10ms);
  bench.unit().pair->close(bench.clock.now());
  ASSERT_TRUE(bench.run_until([&] { return !bench.host().downs.empty(); }, 1s));
  EXPECT_EQ(unanswered, 1);
}

TEST(ChannelControl, eight_errors_within_a_minute_take_the_pair_down) {
  ChannelBench bench;
  ASSERT_TRUE(bench.connect());
  const std::array<std::byte, 12> unknown{std::byte{0x7F}, std::byte{0xFF}, std::byte{0},
                                          std::byte{1}};
  for (int i = 0; i < 7; ++i) bench.host().pair->TEST_send(unknown);
  bench.run_for(1s);
  EXPECT_EQ(bench.unit().count("msg.drop.function"), 7U);
  EXPECT_TRUE(bench.unit().pair->up());
  bench.host().pair->TEST_send(unknown);
  ASSERT_TRUE(bench.run_until([&] { return !bench.unit().downs.empty(); }, 1s));
  EXPECT_EQ(bench.unit().downs[0], "eight errors of the peer within a minute");
}

TEST(ChannelControl, errors_that_are_far_apart_are_only_counted) {
  ChannelBench bench;
  ASSERT_TRUE(bench.connect());
  const std::array<std::byte, 12> unknown{std::byte{0x7F}, std::byte{0xFF}, std::byte{0},
                                          std::byte{1}};
  for (int i = 0; i < 12; ++i) {
    bench.host().pair->TEST_send(unknown);
    bench.run_for(10s);
  }
  EXPECT_EQ(bench.unit().count("msg.drop.function"), 12U);
  EXPECT_TRUE(bench.unit().downs.empty());
}

TEST(ChannelControl, P_38_an_indication_of_what_was_never_written_is_dropped) {
  ChannelBench bench;
  ASSERT_TRUE(bench.connect());
  std::array<std::byte, 64> message;
  // A pool of the other direction only, an element outside, and more bytes than the element has.
  for (const ConsumedRecord record :
       {ConsumedRecord{PoolRef(99), 0, 1, 60}, ConsumedRecord{PoolRef(0), 5000, 1, 60},
        ConsumedRecord{PoolRef(0), 0, 1, 5000}}) {
    const std::size_t bytes =
        BufferRdmaIndicate::emit(kUnsolicited, std::span(&record, 1), message);
    bench.host().pair->TEST_send(base::Bytes(message).first(bytes));
  }
  bench.run_for(10ms);
  EXPECT_EQ(bench.unit().count("msg.drop.pool"), 1U);
  EXPECT_EQ(bench.unit().count("msg.drop.range"), 2U);
  EXPECT_EQ(bench.unit().taken, 0U);
  EXPECT_EQ(bench.unit().pool_elements(true), std::pair(std::size_t{1088}, std::size_t{1088}));
}

TEST(ChannelControl, P_38_send_data_of_the_control_channel_needs_no_element) {
  ChannelBench bench;
  ASSERT_TRUE(bench.connect());
  const auto before = bench.unit().pool_elements(true);
  bench.host().config.send_threshold = 100;
  ASSERT_TRUE(bench.connect());
  bench.host().queue(60);
  ASSERT_TRUE(bench.run_until([&] { return bench.unit().taken == 1; }, 1s));
  EXPECT_EQ(bench.unit().pool_elements(true), before);
}

}  // namespace
}  // namespace splitnic::messaging::channel_control_test
