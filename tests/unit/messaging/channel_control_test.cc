// Channel 0 of a pair: requests and replies, errors of the peer, and the behaviour when it is full.
#include <gtest/gtest.h>

#include "tests/support/channel_fixture.h"

namespace splitnic::messaging::channel_control_test {
namespace {

using namespace std::chrono_literals;
using messaging::harness::ChannelFixture;

// Every cell has the level of the queue pair that sends it, ACKs too.
TEST(ChannelLevelsTest, S004_21_channel_0_has_a_high_level_and_data_that_of_its_side) {
  for (const Mode mode : {Mode::kRdma, Mode::kSend}) {
    ChannelFixture harness({.unit = {.sl = 2}, .host = {.mode = mode, .sl = 1}});
    ASSERT_TRUE(harness.connect());
    harness.host().tap.is_recording = true;
    int replies = 0;
    ASSERT_TRUE(harness.host().pair->request(CfgCode::kEcho, "on channel 0",
                                             [&](const CfgReply&) { ++replies; }));
    harness.host().queue(5000);
    harness.unit().queue(5000);
    ASSERT_TRUE(harness.run_until(
        [&] { return harness.unit().taken == 1 && harness.host().taken == 1 && replies == 1; }));
    std::map<std::pair<bool, unsigned>, std::size_t> cells;  // by direction and level
    for (const auto& cell : harness.host().tap.cells) {
      const fabric::MacHeader header = cell.header();
      if (header.service == fabric::Service::kMgmt) continue;
      ++cells[{cell.sent, header.sl}];
    }
    EXPECT_GE((cells[{true, 1}]), 3U);
    EXPECT_GE((cells[{false, 2}]), 3U);
    EXPECT_EQ((cells[{true, 2}] + cells[{false, 1}] + cells[{true, 0}] + cells[{false, 0}]), 0U);
    EXPECT_GE((cells[{true, kControlSl}]), 1U);
    EXPECT_GE((cells[{false, kControlSl}]), 1U);
  }
}

TEST(ChannelControl, S001_10_replies_find_their_requests) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  std::vector<std::string> replies(8);
  for (std::size_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(harness.host().pair->request(CfgCode::kEcho, "request " + std::to_string(i),
                                             [&, i](const CfgReply& r) { replies[i] += r.data; }));
  }
  EXPECT_FALSE(harness.host().pair->request(CfgCode::kEcho, "one too many", {}));
  harness.run_for(100ms);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(replies[i], "request " + std::to_string(i));
}

TEST(ChannelControl, S001_10_three_flushes_get_replies_each_by_its_context) {
  ChannelFixture harness({.unit = {.pools = {{16, 256}, {16, 512}, {16, 1024}, {16, 2048}}}});
  ASSERT_TRUE(harness.connect());
  const std::vector<std::uint32_t> refs = harness.unit().pool_refs(true);
  ASSERT_EQ(refs.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) {
    harness.unit().pair->flush({&refs[i], 1}, true);
    harness.unit().step(harness.clock.now());
  }
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().pool_refs(true).size() == 1; }, 900ms));
  EXPECT_EQ(harness.host().pool_refs(false), std::vector<std::uint32_t>{refs[3]});
  EXPECT_EQ(harness.unit().count("msg.drop.context"), 0U);
}

TEST(ChannelControl, S001_24_every_request_gets_one_reply_also_an_unknown_one) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  std::map<std::uint32_t, std::vector<CfgStatus>> replies;
  for (const std::uint32_t code : {0x00020005U, 0x00010063U, 0x7FFF0001U, 0U}) {
    ASSERT_TRUE(harness.host().pair->request(static_cast<CfgCode>(code), "data",
                                             [&, code](const CfgReply& r) {
                                               EXPECT_TRUE(r.replied);
                                               replies[code].push_back(r.status);
                                             }));
  }
  harness.run_for(5s);
  EXPECT_EQ(replies[0x00020005U], std::vector{CfgStatus::kOk});
  EXPECT_EQ(replies[0x00010063U], std::vector{CfgStatus::kUnknown});
  EXPECT_EQ(replies[0x7FFF0001U], std::vector{CfgStatus::kUnknown});
  EXPECT_EQ(replies[0U], std::vector{CfgStatus::kUnknown});
  EXPECT_TRUE(harness.host().pair->up());
}

TEST(ChannelControl, S001_24_a_request_of_another_version_or_length_gets_a_reply) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  std::array<std::byte, 24> message{};
  const CfgUtilRequest request{TransactionContext(5), CfgCode::kEcho, {}};
  const std::size_t bytes = request.emit(message);
  message[3] = std::byte{9};  // version
  harness.host().tap.cells.clear();
  harness.host().tap.is_recording = true;
  harness.host().pair->TEST_send(base::Bytes(message).first(bytes));
  ASSERT_TRUE(harness.run_until([&] { return harness.host().count("msg.drop.context") == 1; }, 1s));
  EXPECT_EQ(harness.unit().count("msg.drop.version"), 1U);
  const auto reply = std::ranges::find_if(harness.host().tap.cells, [](const auto& cell) {
    return !cell.sent && cell.header().op == fabric::Op::kSend;
  });
  ASSERT_NE(reply, harness.host().tap.cells.end());
  const auto parsed = CfgUtilReply::parse(reply->view().payload);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->context, TransactionContext(5));
  EXPECT_EQ(parsed->status, CfgStatus::kVersion);
}

TEST(ChannelControl, open_requests_end_with_the_pair) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  harness.unit().polls = false;
  int without_reply = 0;
  ASSERT_TRUE(harness.host().pair->request(
      CfgCode::kEcho, "x", [&](const CfgReply& r) { without_reply += !r.replied; }));
  harness.run_for(10ms);
  harness.unit().pair->close(harness.clock.now());
  ASSERT_TRUE(harness.run_until([&] { return !harness.host().downs.empty(); }, 1s));
  EXPECT_EQ(without_reply, 1);
}

TEST(ChannelControl, eight_errors_within_a_minute_take_the_pair_down) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  const std::array<std::byte, 12> unknown{std::byte{0x7F}, std::byte{0xFF}, std::byte{0},
                                          std::byte{1}};
  for (int i = 0; i < 7; ++i) harness.host().pair->TEST_send(unknown);
  harness.run_for(1s);
  EXPECT_EQ(harness.unit().count("msg.drop.function"), 7U);
  EXPECT_TRUE(harness.unit().pair->up());
  harness.host().pair->TEST_send(unknown);
  ASSERT_TRUE(harness.run_until([&] { return !harness.unit().downs.empty(); }, 1s));
  EXPECT_EQ(harness.unit().downs[0], "eight errors of the peer within a minute");
}

TEST(ChannelControl, errors_that_are_far_apart_are_only_counted) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  const std::array<std::byte, 12> unknown{std::byte{0x7F}, std::byte{0xFF}, std::byte{0},
                                          std::byte{1}};
  for (int i = 0; i < 12; ++i) {
    harness.host().pair->TEST_send(unknown);
    harness.run_for(10s);
  }
  EXPECT_EQ(harness.unit().count("msg.drop.function"), 12U);
  EXPECT_TRUE(harness.unit().downs.empty());
}

TEST(ChannelControl, P_38_an_indication_of_what_was_never_written_is_dropped) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  std::array<std::byte, 64> message;
  // A pool of the other direction only, an element outside, and more bytes than the element has.
  for (const ConsumedRecord record :
       {ConsumedRecord{PoolRef(99), 0, 1, 60}, ConsumedRecord{PoolRef(0), 5000, 1, 60},
        ConsumedRecord{PoolRef(0), 0, 1, 5000}}) {
    const std::size_t bytes =
        BufferRdmaIndicate::emit(kUnsolicited, std::span(&record, 1), message);
    harness.host().pair->TEST_send(base::Bytes(message).first(bytes));
  }
  harness.run_for(10ms);
  EXPECT_EQ(harness.unit().count("msg.drop.pool"), 1U);
  EXPECT_EQ(harness.unit().count("msg.drop.range"), 2U);
  EXPECT_EQ(harness.unit().taken, 0U);
  EXPECT_EQ(harness.unit().pool_elements(true), std::pair(std::size_t{1088}, std::size_t{1088}));
}

TEST(ChannelControl, P_38_send_data_of_the_control_channel_needs_no_element) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  const auto before = harness.unit().pool_elements(true);
  harness.host().config.send_threshold = 100;
  ASSERT_TRUE(harness.connect());
  harness.host().queue(60);
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().taken == 1; }, 1s));
  EXPECT_EQ(harness.unit().pool_elements(true), before);
}

}  // namespace
}  // namespace splitnic::messaging::channel_control_test
