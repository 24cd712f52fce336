// Pools through a channel pair: indications that idata cannot express, form B, pools on request,
// flushes under load.
#include <gtest/gtest.h>

#include "tests/support/channel_fixture.h"

namespace splitnic::messaging::channel_pool_test {
namespace {

using namespace std::chrono_literals;
using messaging::harness::ChannelFixture;
using messaging::harness::ChannelSide;

TEST(ChannelPool, S001_21_pool_300_and_70000_bytes_are_indicated_by_message) {
  // Elements beyond 64 KiB have references from 256 on: 45 pools reach 300.
  ChannelFixture harness({.unit = {.pools = std::vector<PoolSpec>(45, PoolSpec{1, 70000})}});
  ASSERT_TRUE(harness.connect());
  EXPECT_EQ(harness.unit().pool_refs(true).back(), 300U);
  EXPECT_EQ(harness.host().pair->frame_bytes_max(), 70000U);
  harness.unit().holds = true;
  for (int n = 0; n < 45; ++n) harness.host().queue(70000);
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().held.size() == 45; }, 5s));
  EXPECT_TRUE(std::ranges::any_of(harness.unit().held, [](const ReceivedFrame& frame) {
    return frame.pool == 300 && frame.element == 0 && frame.bytes.size() == 70000;
  }));
  EXPECT_EQ(harness.unit().count("msg.rx.indicated"), 45U);
  EXPECT_EQ(harness.unit().count("msg.rx.writes"), 0U);
  harness.unit().release_held();
  harness.unit().holds = false;
  for (int n = 0; n < 200; ++n) harness.host().queue(60 + static_cast<std::size_t>(n) * 349);
  ASSERT_TRUE(harness.deliver());
  EXPECT_TRUE(harness.unit().wrong.empty());
}

TEST(ChannelPool, S001_21_idata_and_messages_mixed_keep_the_order) {
  ChannelFixture harness(
      {.unit = {.pools = {{64, 2048}, {8, 70000}}}, .host = {.send_threshold = 100}});
  ASSERT_TRUE(harness.connect());
  base::SeededRandom random(3);
  for (std::size_t i = 0; i < 2; ++i) {
    harness.side(i).faults.set_config({.loss_ppm = 10000, .reorder_ppm = 20000});
  }
  for (int n = 0; n < 600; ++n) {
    const std::array<std::size_t, 3> sizes = {80, 1500, 69000};
    harness.host().queue(sizes[random.below(3)] + random.below(20));
  }
  ASSERT_TRUE(harness.deliver());
  EXPECT_TRUE(harness.unit().wrong.empty()) << harness.unit().wrong.front();
  EXPECT_EQ(harness.unit().taken, 600U);
  EXPECT_GT(harness.unit().count("msg.rx.send_data"), 100U);
  EXPECT_GT(harness.unit().count("msg.rx.writes"), 100U);
  EXPECT_GT(harness.unit().count("msg.rx.indicated"), 100U);
}

TEST(ChannelPool, S001_18_without_idata_a_message_follows_the_completed_write) {
  ChannelFixture harness({.unit = {.idata_form = std::nullopt}});
  ASSERT_TRUE(harness.connect());
  harness.host().tap.is_recording = true;
  for (int n = 0; n < 2000; ++n) harness.host().queue(1500);
  for (int n = 0; n < 500; ++n) harness.unit().queue(1500);
  ASSERT_TRUE(harness.deliver());
  // Per direction: the host indicates by message, the unit by idata.
  EXPECT_EQ(harness.unit().count("msg.rx.indicated"), 2000U);
  EXPECT_EQ(harness.host().count("msg.rx.writes"), 500U);
  EXPECT_TRUE(harness.unit().wrong.empty());
  for (const auto& cell : harness.host().tap.cells) {
    if (cell.sent && cell.header().op == fabric::Op::kRdmaWrite) {
      EXPECT_FALSE(cell.view().idata);
    }
  }
}

TEST(ChannelPool, S001_20_form_b_names_the_same_element_as_the_address) {
  ChannelFixture harness(
      {.unit = {.pools = {{512, 2048}}, .idata_form = IdataForm::kOffsetLength}});
  ASSERT_TRUE(harness.connect());
  EXPECT_EQ(harness.unit().pool_refs(true).size(), 1U);
  harness.host().tap.is_recording = true;
  for (int n = 0; n < 3000; ++n) harness.host().queue(60 + static_cast<std::size_t>(n) % 1900);
  for (int n = 0; n < 500; ++n) harness.unit().queue(1500);
  ASSERT_TRUE(harness.deliver());
  EXPECT_EQ(harness.unit().count("msg.rx.writes"), 3000U);
  EXPECT_EQ(harness.unit().count("msg.rx.indicated"), 0U);
  EXPECT_TRUE(harness.unit().wrong.empty());
  std::uint64_t base_address = UINT64_MAX;
  std::vector<std::pair<std::uint64_t, OffsetLengthIdata>> writes;
  for (const auto& cell : harness.host().tap.cells) {
    if (!cell.sent || cell.header().op != fabric::Op::kRdmaWrite) continue;
    const fabric::CellView view = cell.view();
    if (!view.va_mh || !view.idata) continue;
    writes.emplace_back(view.va_mh->address.value, OffsetLengthIdata::decode(*view.idata));
    base_address = std::min(base_address, view.va_mh->address.value);
  }
  EXPECT_GT(writes.size(), 1000U);
  for (const auto& [address, idata] : writes) EXPECT_EQ(address - base_address, idata.offset);
}

TEST(ChannelPool, S001_20_form_b_needs_one_pool_of_at_most_4_mib) {
  for (const std::vector<PoolSpec>& pools :
       {std::vector<PoolSpec>{{64, 2048}, {4, 65536}}, std::vector<PoolSpec>{{4096, 2048}}}) {
    ChannelFixture harness;
    ASSERT_TRUE(harness.connect());
    ChannelSide& host = harness.host();
    host.config.pools = pools;
    host.config.idata_form = IdataForm::kOffsetLength;
    host.make_pair();
    const auto begun = host.pair->connect(*host.link, harness.clock.now());
    ASSERT_FALSE(begun);
    EXPECT_NE(begun.error().text().find("form B"), std::string::npos);
  }
}

TEST(ChannelPool, S001_13_pools_too_small_for_the_path_are_asked_for_and_granted) {
  ChannelFixture harness({.unit = {.pools = {{16, 2048}}}});
  ASSERT_TRUE(harness.connect());
  for (std::size_t i = 0; i < 2; ++i) harness.side(i).faults.set_config({.delay = 5ms});
  for (int n = 0; n < 2000; ++n) harness.host().queue(1500);
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().count("pool.granted") == 1; }, 1s))
      << harness.host().count("pool.asked") << ' ' << harness.unit().taken << ' '
      << harness.unit().count("pool.refused") << ' ' << harness.host().count("pool.wait");
  harness.run_for(50ms);
  EXPECT_EQ(harness.host().count("pool.asked"), 1U);
  const auto pools = harness.host().pair->pools();
  EXPECT_TRUE(std::ranges::any_of(pools, [](const PoolView& pool) {
    return !pool.ours && pool.elements >= 64 && pool.size >= 1500;
  }));
  ASSERT_TRUE(harness.deliver());
  EXPECT_TRUE(harness.unit().wrong.empty());
  EXPECT_EQ(harness.unit().gaps, 0U);
  EXPECT_EQ(harness.unit().count("fabric.tx.rnr"), 0U);
  EXPECT_LE(harness.unit().count("pool.granted"), 8U);
}

class NoGrant : public ::testing::TestWithParam<std::uint32_t> {};

// Refused without memory, or because the reader holds the elements: more would not help it.
TEST_P(NoGrant, S001_13_no_pool_comes_and_nothing_blocks) {
  ChannelFixture harness({.unit = {.pools = {{16, 2048}}, .grant_bytes_max = GetParam()}});
  ASSERT_TRUE(harness.connect());
  harness.unit().holds = true;
  for (int n = 0; n < 60; ++n) harness.host().queue(1500);
  harness.run_for(5s);
  EXPECT_EQ(harness.unit().taken, 16U);
  EXPECT_GE(harness.host().count("pool.asked"), 2U);
  EXPECT_LE(harness.host().count("pool.asked"), 6U);
  EXPECT_EQ(harness.unit().count("pool.refused"), harness.host().count("pool.asked"));
  harness.unit().queue(1500);
  ASSERT_TRUE(harness.run_until([&] { return harness.host().taken == 1; }, 1s));
  harness.unit().release_held();
  harness.unit().holds = false;
  EXPECT_TRUE(harness.deliver());
}

INSTANTIATE_TEST_SUITE_P(Memory, NoGrant, ::testing::Values(0U, 4U << 20));

// Returns true if a peer could write with this handle, according to the table of regions.
bool is_registered(ChannelSide& side, fabric::MemoryHandle handle, fabric::VirtualAddress at) {
  const auto result = side.adapter->memory().access(handle, at, 1, fabric::AccessKind::kRemoteWrite,
                                                    fabric::PdId(0xFFFF), fabric::Qpn(0));
  return result.failed == fabric::AccessCheck::kC;  // there, but of another protection domain
}

// (number of pools to flush, by their owner or not)
class FlushUnderLoad : public ::testing::TestWithParam<std::tuple<std::size_t, bool>> {};

TEST_P(FlushUnderLoad, S001_16_S001_17_P_41_no_write_follows_the_reply_and_no_frame_is_lost) {
  const auto [count, by_owner] = GetParam();
  ChannelFixture harness({.unit = {.pools = std::vector<PoolSpec>(12, PoolSpec{32, 2048})}});
  ASSERT_TRUE(harness.connect());
  for (std::size_t i = 0; i < 2; ++i) harness.side(i).faults.set_config({.loss_ppm = 5000});
  harness.host().tap.is_recording = true;
  for (int n = 0; n < 4000; ++n) harness.host().queue(1000);
  harness.unit().holds = true;  // so that every pool is used
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().taken == 12 * 32; }, 5s));
  harness.unit().release_held();
  harness.unit().holds = false;
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().taken > 1000; }, 5s));
  auto refs = harness.unit().pool_refs(true);
  ASSERT_EQ(refs.size(), 12U);
  // Handles of the writes into the pools that will go, from the wire.
  std::map<std::uint32_t, std::pair<fabric::MemoryHandle, fabric::VirtualAddress>> seen;
  for (const auto& cell : harness.host().tap.cells) {
    const fabric::CellView view = cell.view();
    if (!cell.sent || cell.header().op != fabric::Op::kRdmaWrite || !view.va_mh || !view.idata)
      continue;
    seen[PoolElementIdata::decode(*view.idata).pool] = {view.va_mh->handle, view.va_mh->address};
  }
  refs.resize(count);
  for (const std::uint32_t ref : refs) {
    ASSERT_TRUE(seen.contains(ref));
    EXPECT_TRUE(is_registered(harness.unit(), seen[ref].first, seen[ref].second));
  }
  if (by_owner)
    harness.unit().pair->flush(refs, true);
  else
    harness.host().pair->flush(refs, false);
  ASSERT_TRUE(harness.run_until(
      [&, flushed = count] { return harness.unit().pool_refs(true).size() == 12 - flushed; },
      900ms));
  for (const std::uint32_t ref : refs) {
    EXPECT_FALSE(is_registered(harness.unit(), seen[ref].first, seen[ref].second));
  }
  // The others continue; a write to a pool that is gone would have been refused and ended the pair.
  ASSERT_TRUE(harness.deliver());
  EXPECT_EQ(harness.unit().taken, 4000U);
  EXPECT_EQ(harness.unit().gaps, 0U);
  EXPECT_TRUE(harness.unit().wrong.empty());
  EXPECT_TRUE(harness.unit().pair->up() && harness.host().pair->up());
  EXPECT_EQ(harness.unit().count("fabric.drop.access"), 0U);
  EXPECT_EQ(harness.unit().count("fabric.tx.rnr"), 0U);
  EXPECT_EQ(harness.host().pool_refs(false).size(), 12 - count);
}
INSTANTIATE_TEST_SUITE_P(Sides, FlushUnderLoad,
                         ::testing::Combine(::testing::Values(1U, 10U), ::testing::Bool()));

TEST(ChannelPool, P_41_both_sides_flush_the_same_pools_at_once) {
  ChannelFixture harness({.unit = {.pools = std::vector<PoolSpec>(4, PoolSpec{32, 2048})}});
  ASSERT_TRUE(harness.connect());
  for (int n = 0; n < 2000; ++n) harness.host().queue(1500);
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().taken > 300; }, 5s));
  const auto refs = harness.unit().pool_refs(true);
  harness.unit().pair->flush(std::span(refs).first(3), true);
  harness.host().pair->flush(std::span(refs).first(3), false);
  harness.unit().pair->flush(std::span(refs).first(3), true);
  EXPECT_LT(harness.unit().taken, 2000U);
  ASSERT_TRUE(harness.deliver());
  harness.run_for(10ms);
  EXPECT_EQ(harness.unit().taken, 2000U);
  EXPECT_EQ(harness.unit().gaps, 0U);
  EXPECT_EQ(harness.unit().pool_refs(true).size(), 1U);
  EXPECT_EQ(harness.host().pool_refs(false).size(), 1U);
  EXPECT_TRUE(harness.unit().pair->up() && harness.host().pair->up());
}

TEST(ChannelPool, S001_16_S001_17_one_pool_is_flushed_unless_it_is_unknown_ending_or_the_last) {
  ChannelFixture harness({.unit = {.pools = {{16, 2048}, {16, 4096}}}});
  const auto refused = [&](std::uint32_t pool, bool ours) {
    const auto flushed = harness.unit().pair->flush(pool, ours);
    return flushed ? std::string("no") : flushed.error().text();
  };
  harness.unit().make_pair();
  EXPECT_EQ(refused(0, true), "not connected");
  ASSERT_TRUE(harness.connect());
  const auto own = harness.unit().pool_refs(true);
  ASSERT_EQ(own.size(), 2U);
  EXPECT_NE(refused(own[0] + 1000, true).find("there is no pool"), std::string::npos);
  EXPECT_EQ(refused(own[0], true), "no");
  EXPECT_NE(refused(own[0], true).find("or it is ending"), std::string::npos);
  EXPECT_NE(refused(own[1], true).find("is the last of the own ones"), std::string::npos);
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().pool_refs(true).size() == 1; }, 500ms));
  EXPECT_EQ(harness.unit().pool_refs(true).front(), own[1]);
  EXPECT_NE(refused(own[1], true).find("is the last"), std::string::npos);
  for (int n = 0; n < 100; ++n) harness.host().queue(1500);
  EXPECT_TRUE(harness.deliver());
}

TEST(ChannelPool, S001_17_a_frame_outlives_the_flush_of_its_pool_until_it_is_released) {
  ChannelFixture harness({.unit = {.pools = {{16, 2048}, {16, 4096}}}});
  ASSERT_TRUE(harness.connect());
  harness.unit().holds = true;
  for (int n = 0; n < 8; ++n) harness.host().queue(1500);
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().held.size() == 8; }, 1s));
  const ReceivedFrame frame = harness.unit().held.front();
  const std::vector<std::byte> before(frame.bytes.begin(), frame.bytes.end());
  const std::uint32_t ref = frame.pool;
  harness.unit().pair->flush({&ref, 1}, true);
  ASSERT_TRUE(
      harness.run_until([&] { return harness.host().pool_refs(false).size() == 1; }, 500ms));
  harness.run_for(10ms);
  EXPECT_TRUE(std::ranges::equal(frame.bytes, before));
  EXPECT_EQ(harness.unit().pair->TEST_pool_memory().size(), 2U);
  harness.unit().release_held();
  EXPECT_EQ(harness.unit().pair->TEST_pool_memory().size(), 1U);
  harness.unit().holds = false;
  for (int n = 0; n < 500; ++n) harness.host().queue(1500);
  EXPECT_TRUE(harness.deliver());
  EXPECT_EQ(harness.unit().count("fabric.tx.rnr"), 0U);
}

TEST(ChannelPool, S001_16_closing_flushes_all_pools_of_both_sides) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  for (int n = 0; n < 500; ++n) {
    harness.host().queue(1500);
    harness.unit().queue(1500);
  }
  harness.run_for(100us);
  harness.host().pushes = harness.unit().pushes = false;
  harness.host().pair->begin_close();
  EXPECT_FALSE(harness.host().pair->up());
  EXPECT_FALSE(harness.host().pair->is_drained());
  ASSERT_TRUE(harness.run_until([&] { return harness.host().pair->is_drained(); }, 200ms));
  EXPECT_TRUE(harness.host().pool_refs(true).empty());
  EXPECT_TRUE(harness.host().pool_refs(false).empty());
  EXPECT_TRUE(harness.unit().pool_refs(true).empty());
  EXPECT_TRUE(harness.unit().pool_refs(false).empty());
  EXPECT_TRUE(harness.unit().downs.empty());
  // The frames that were pushed before have arrived.
  EXPECT_EQ(harness.unit().taken, harness.host().completed);
  EXPECT_EQ(harness.host().taken, harness.unit().completed);
  EXPECT_TRUE(harness.unit().wrong.empty());
  harness.host().pair->close(harness.clock.now());
  ASSERT_TRUE(harness.run_until([&] { return !harness.unit().downs.empty(); }, 1s));
}

}  // namespace
}  // namespace splitnic::messaging::channel_pool_test
