// Arrangements of the channels, and pools that contexts select flows for. A frame of the fixture
// begins with its number, from which the contexts of these tests follow.
#include <gtest/gtest.h>

#include "messaging/connect.pb.h"
#include "messaging/wire/flow_context.h"
#include "tests/support/channel_fixture.h"

namespace splitnic::messaging::channel_variants_test {
namespace {

using namespace std::chrono_literals;
using messaging::harness::ChannelFixture;
using messaging::harness::ChannelSide;

constexpr std::uint64_t kOdd = flow_context(443, 0, 0);

// Frames with an odd number come from port 443.
std::uint64_t odd_numbers(base::Bytes frame) {
  const bool is_odd = (base::load_be<std::uint64_t>(frame.data()) & 1) != 0;
  return flow_context(is_odd ? 443 : 80, 9, 0x0A000001);
}

void queue_both_ways(ChannelFixture& harness, int frames) {
  for (int n = 0; n < frames; ++n) {
    harness.host().queue(60 + static_cast<std::size_t>(n) * 7 % 1900);
    harness.unit().queue(60 + static_cast<std::size_t>(n) * 11 % 1900);
  }
}

// With each form of idata, with small frames by Send, on a path that loses and reorders.
TEST(ChannelVariants, S001_51_one_channel_carries_messages_and_frames_in_order) {
  for (const auto form : {std::optional(IdataForm::kPoolElement),
                          std::optional(IdataForm::kOffsetLength), std::optional<IdataForm>()}) {
    const std::vector<PoolSpec> pools{{512, 2048}};
    ChannelFixture harness({.unit = {.pools = pools, .idata_form = form},
                            .host = {.channels = Channels::kOne,
                                     .pools = pools,
                                     .send_threshold = 300,
                                     .idata_form = form}});
    ASSERT_TRUE(harness.connect());
    for (std::size_t i = 0; i < 2; ++i) {
      const ChannelPair& pair = *harness.side(i).pair;
      EXPECT_EQ(pair.agreement().channels, Channels::kOne);
      EXPECT_EQ(pair.channels().size(), 1U);
      EXPECT_EQ(pair.qpn(0), pair.qpn(1));
      harness.side(i).faults.set_config({.loss_ppm = 10000, .reorder_ppm = 20000});
    }
    queue_both_ways(harness, 3000);
    ASSERT_TRUE(harness.request_echo());
    ASSERT_TRUE(harness.deliver());
    harness.run_for(1s);
    EXPECT_EQ(harness.echo_replies, 1);
    for (std::size_t i = 0; i < 2; ++i) {
      ChannelSide& side = harness.side(i);
      EXPECT_TRUE(side.wrong.empty()) << side.wrong.front();
      EXPECT_EQ(side.gaps, 0U);
      EXPECT_TRUE(side.downs.empty()) << side.downs.front();
      EXPECT_GT(side.count(form ? "msg.rx.writes" : "msg.rx.indicated"), 1000U);
      EXPECT_EQ(side.count(form ? "msg.rx.indicated" : "msg.rx.writes"), 0U);
    }
    EXPECT_GT(harness.unit().count("msg.rx.send_data"), 100U);
  }
}

TEST(ChannelVariants, S001_51_a_reader_that_holds_its_elements_stops_no_message_of_one_channel) {
  ChannelFixture harness({.unit = {.pools = {{512, 2048}}}, .host = {.channels = Channels::kOne}});
  ASSERT_TRUE(harness.connect());
  harness.unit().holds = true;
  for (int n = 0; n < 600; ++n) harness.host().queue(1500);
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().held.size() == 512; }));
  ASSERT_TRUE(harness.request_echo());
  ASSERT_TRUE(harness.run_until([&] { return harness.echo_replies == 1; }, 1s));
  harness.unit().holds = false;
  harness.unit().release_held();
  ASSERT_TRUE(harness.deliver());
  EXPECT_TRUE(harness.unit().wrong.empty());
  harness.host().pair->begin_close();
  ASSERT_TRUE(harness.run_until([&] { return harness.host().pair->is_drained(); }, 1s));
}

TEST(ChannelVariants, S001_51_each_channel_of_the_send_mode_has_its_connection) {
  ChannelFixture harness({.host = {.mode = Mode::kSend, .channels = Channels::kSeparate}});
  ASSERT_TRUE(harness.connect());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(harness.side(i).adapter->connections().size(), 2U);
    EXPECT_EQ(harness.side(i).ups, 1);
    EXPECT_EQ(harness.side(i).pair->channels().size(), 2U);
  }
  queue_both_ways(harness, 500);
  ASSERT_TRUE(harness.deliver());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(harness.side(i).wrong.empty());
    EXPECT_EQ(harness.side(i).gaps, 0U);
  }
}

TEST(ChannelVariants, S001_51_the_end_of_one_connection_is_the_end_of_both) {
  ChannelFixture harness({.host = {.mode = Mode::kSend, .channels = Channels::kSeparate}});
  ASSERT_TRUE(harness.connect());
  harness.host().pair->close(harness.clock.now());
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().downs.size() == 1; }, 1s));
  harness.unit().pair->close(harness.clock.now());
  ASSERT_TRUE(harness.run_until(
      [&] {
        return harness.unit().adapter->connections().size() == 0 &&
               harness.host().adapter->connections().size() == 0;
      },
      5s));
}

TEST(ChannelVariants, S001_51_no_frame_leaves_before_the_second_connection) {
  ChannelFixture harness({.host = {.mode = Mode::kSend, .channels = Channels::kSeparate}});
  harness.begin_connect();
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().pair->connection().value != 0; }, 1s));
  EXPECT_FALSE(harness.unit().pair->up());
  EXPECT_FALSE(harness.host().pair->up());
}

std::string refusal(const PairConfig& theirs, const PairConfig& ours,
                    ConnectRole role = ConnectRole::kPassive) {
  const std::string data = encode_capabilities(theirs, theirs.mode, theirs.channels);
  const auto agreed = agree(base::as_bytes(data), ours, role);
  return agreed ? "" : agreed.error().text();
}

TEST(ChannelVariants, S001_51_arrangements_are_followed_or_refused) {
  const PairConfig one{.channels = Channels::kOne};
  const PairConfig separate{.mode = Mode::kSend, .channels = Channels::kSeparate};
  EXPECT_EQ(refusal(one, {}), "");
  EXPECT_EQ(refusal(separate, {}), "");
  EXPECT_NE(refusal({.mode = Mode::kSend, .channels = Channels::kOne}, {}), "");
  EXPECT_NE(refusal({.channels = Channels::kSeparate}, {}), "");
  // The passive side repeats what the active side named.
  EXPECT_EQ(refusal(one, one, ConnectRole::kActive), "");
  EXPECT_NE(refusal({}, one, ConnectRole::kActive).find("--channels"), std::string::npos);
  EXPECT_NE(refusal(one, {}, ConnectRole::kActive).find("--channels"), std::string::npos);
  connect::Capabilities unknown;
  ASSERT_TRUE(unknown.ParseFromString(encode_capabilities({}, Mode::kRdma)));
  unknown.set_channels(static_cast<connect::Channels>(7));
  const std::string data = unknown.SerializeAsString();
  EXPECT_FALSE(agree(base::as_bytes(data), {}, ConnectRole::kPassive));
}

TEST(ChannelVariants, S001_52_contexts_need_a_writer_that_places_frames_by_them) {
  const PairConfig owner{.pools = {{64, 2048}, {64, 2048, kOdd}}};
  const PairConfig writer{.flow_context_of = &odd_numbers};
  EXPECT_EQ(refusal(owner, writer), "");
  EXPECT_NE(refusal(owner, {}).find("pool context"), std::string::npos);
  EXPECT_NE(refusal({}, owner).find("pool context"), std::string::npos);
  EXPECT_EQ(refusal(writer, owner), "");
}

// The frames of each pool, by its context.
std::map<std::uint64_t, std::uint64_t> frames_by_context(const ChannelSide& side) {
  std::map<std::uint64_t, std::uint64_t> frames;
  for (const PoolView& pool : side.pair->pools()) {
    if (pool.ours) frames[pool.context] += pool.frames;
  }
  return frames;
}

TEST(ChannelVariants, S001_52_a_pool_for_one_flow_receives_that_flow_only) {
  ChannelFixture harness({.unit = {.pools = {{512, 2048}, {256, 2048, kOdd}}},
                          .host = {.flow_context_of = &odd_numbers}});
  ASSERT_TRUE(harness.connect());
  for (int n = 0; n < 2000; ++n) {
    harness.host().queue(100);
    ASSERT_TRUE(harness.deliver());
  }
  EXPECT_EQ(frames_by_context(harness.unit()),
            (std::map<std::uint64_t, std::uint64_t>{{0, 1000}, {kOdd, 1000}}));
  EXPECT_TRUE(harness.unit().wrong.empty());
}

TEST(ChannelVariants, S001_52_without_an_agreement_a_context_selects_nothing) {
  ChannelFixture harness(
      {.unit = {.pools = {{256, 2048}}}, .host = {.flow_context_of = &odd_numbers}});
  ASSERT_TRUE(harness.connect());
  EXPECT_FALSE(harness.host().pair->agreement().peer_contexts_select);
  EXPECT_FALSE(harness.unit().pair->agreement().peer_contexts_select);
}

// The peer knows that its write is here as soon as the adapter has acknowledged it.
TEST(ChannelVariants, S001_14_a_frame_that_waits_for_poll_at_the_end_counts_as_arrived) {
  for (const auto channels : {Channels::kTwo, Channels::kOne}) {
    ChannelFixture harness({.host = {.channels = channels}});
    ASSERT_TRUE(harness.connect());
    harness.unit().polls = false;
    harness.host().queue(1500);
    harness.host().queue(1500);
    ASSERT_TRUE(harness.run_until([&] { return harness.host().completed == 2; }));
    ChannelPair& unit = *harness.unit().pair;
    EXPECT_EQ(unit.unreceived(), 0U);
    harness.host().pair->close(harness.clock.now());
    ASSERT_TRUE(harness.run_until([&] { return !harness.unit().downs.empty(); }));
    unit.collect_arrived(harness.clock.now());
    EXPECT_EQ(unit.unreceived(), 2U);
  }
}

}  // namespace
}  // namespace splitnic::messaging::channel_variants_test
