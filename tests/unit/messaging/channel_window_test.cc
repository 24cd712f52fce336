// A peer may access only the windows on our pools, bound to the queue pair of its data channel.
#include <gtest/gtest.h>

#include "tests/support/channel_fixture.h"

namespace splitnic::messaging::channel_window_test {
namespace {

using namespace std::chrono_literals;
using fabric::AccessCheck;
using fabric::AccessKind;
using messaging::harness::ChannelFixture;
using messaging::harness::ChannelSide;

fabric::Qpn qpn_of(const ChannelSide& side, std::uint8_t channel) {
  for (const ChannelView& view : side.pair->channels()) {
    if (view.number == channel) return view.qpn;
  }
  return {};
}

// The pools of a side as the adapter's table contains them.
std::vector<fabric::MrwtEntry> windows_of(const ChannelSide& side) {
  std::vector<fabric::MrwtEntry> entries;
  for (const PoolView& pool : side.pair->pools()) {
    if (!pool.ours) continue;
    const fabric::MrwtEntry* entry = side.adapter->memory().entry(pool.handle);
    if (entry != nullptr) entries.push_back(*entry);
  }
  return entries;
}

TEST(ChannelWindow, S002_11_a_pool_is_exposed_by_a_window_bound_to_the_data_queue_pair) {
  ChannelFixture harness({.unit = {.pools = {{64, 2048}, {8, 65536}}}});
  ASSERT_TRUE(harness.connect());
  const auto windows = windows_of(harness.unit());
  ASSERT_EQ(windows.size(), 2U);
  for (const fabric::MrwtEntry& window : windows) {
    EXPECT_EQ(window.type, fabric::EntryType::kWindow);
    EXPECT_EQ(window.bound_qp, qpn_of(harness.unit(), 1));
    EXPECT_EQ(window.rights, fabric::kRemoteWrite);
  }
  EXPECT_EQ(windows[0].length, 64U * 2048);
}

// The region under a window is for local access only.
TEST(ChannelWindow, S002_13_no_region_of_a_side_serves_remote_access) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  const fabric::Mrwt& memory = harness.unit().adapter->memory();
  EXPECT_EQ(memory.profile(), fabric::MrwtProfile::kStrictWindows);
  std::size_t regions = 0;
  for (const PoolView& pool : harness.unit().pair->pools()) {
    if (!pool.ours) continue;
    const fabric::Qpn data = qpn_of(harness.unit(), 1);
    const fabric::PdId pd = memory.entry(pool.handle)->pd;
    const auto letter = [&](AccessKind kind, fabric::PdId from, fabric::Qpn qp) {
      return memory.access(pool.handle, pool.address, pool.size, kind, from, qp);
    };
    EXPECT_TRUE(letter(AccessKind::kRemoteWrite, pd, data).ok());
    EXPECT_EQ(letter(AccessKind::kRemoteRead, pd, data).failed, AccessCheck::kF);
    EXPECT_EQ(letter(AccessKind::kLocalRead, pd, data).failed, AccessCheck::kB);
    const fabric::Qpn other(data.value + 1);
    EXPECT_EQ(letter(AccessKind::kRemoteWrite, pd, other).failed, AccessCheck::kC);
    const fabric::PdId other_pd(pd.value + 1);
    EXPECT_EQ(letter(AccessKind::kRemoteWrite, other_pd, data).failed, AccessCheck::kC);
    ++regions;
  }
  EXPECT_GT(regions, 0U);
}

// A queue pair outside of the messaging layer, in a protection domain that the caller chooses.
fabric::Qpn make_qp(ChannelSide& side, fabric::PdId pd, base::Time now) {
  fabric::QpInit init;
  init.common.pd = pd;
  init.common.send_cq = init.common.recv_cq = side.adapter->create_cq(16).value();
  init.common.send_depth = init.common.receive_depth = 8;
  return side.adapter->create_qp(init, now).value();
}

// Same peer, same protection domain, the right handle and address: the window refuses it
// nevertheless.
TEST(ChannelWindow, S002_14_another_queue_pair_of_the_domain_cannot_write_to_a_pool) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  ChannelSide& unit = harness.unit();
  ChannelSide& host = harness.host();
  const PoolView pool = unit.pair->pools()[0];
  ASSERT_TRUE(pool.ours);
  const base::MutableBytes memory = unit.pair->TEST_pool_memory()[0];
  const std::vector<std::byte> before(memory.begin(), memory.end());
  const fabric::PdId pd = unit.adapter->memory().entry(pool.handle)->pd;
  const fabric::Qpn theirs = make_qp(unit, pd, harness.clock.now());
  const fabric::PdId host_pd = host.adapter->alloc_pd();
  const fabric::Qpn ours = make_qp(host, host_pd, harness.clock.now());
  const auto unit_end = unit.adapter->describe(theirs, 2, 0);
  const auto host_end = host.adapter->describe(ours, 2, 0);
  ASSERT_TRUE(unit.adapter->connect_qp(unit_end, host_end, *unit.link));
  ASSERT_TRUE(host.adapter->connect_qp(host_end, unit_end, *host.link));

  std::vector<std::byte> data(2000, std::byte{0x5A});
  const auto region =
      host.adapter->memory().regions().register_region(host_pd, data, fabric::kLocalRead);
  ASSERT_TRUE(region);
  const fabric::Sge piece{host.adapter->memory().start_of(*region), 2000, *region};
  fabric::SendWr wr;
  wr.op = fabric::WrOp::kRdmaWrite;
  wr.gather = {&piece, 1};
  wr.remote_address = pool.address;
  wr.remote_handle = pool.handle;
  ASSERT_TRUE(host.adapter->post_send(ours, wr));
  ASSERT_TRUE(harness.run_until([&] { return unit.count("fabric.drop.access") > 0; }, 1s));
  harness.run_for(10ms);
  EXPECT_EQ(host.adapter->find_qp(ours)->state(), fabric::QpState::kErr);
  EXPECT_TRUE(std::ranges::equal(memory, before));
  EXPECT_TRUE(unit.pair->up() && host.pair->up());  // the peer's own channels continue
  harness.host().queue(1500);
  EXPECT_TRUE(harness.deliver());
}

TEST(ChannelWindow, S001_17_a_flush_unbinds_the_window_and_ends_the_region) {
  ChannelFixture harness({.unit = {.pools = std::vector<PoolSpec>(3, PoolSpec{16, 2048})}});
  ASSERT_TRUE(harness.connect());
  const fabric::Mrwt& memory = harness.unit().adapter->memory();
  const std::size_t entries = memory.live_count();
  const PoolView pool = harness.unit().pair->pools()[0];
  ASSERT_TRUE(pool.ours);
  const fabric::PdId pd = memory.entry(pool.handle)->pd;
  harness.unit().pair->flush({&pool.ref, 1}, true);
  ASSERT_TRUE(harness.run_until([&] { return harness.unit().pool_refs(true).size() == 2; }, 900ms));
  EXPECT_EQ(memory.live_count(), entries - 2);
  EXPECT_EQ(memory.entry(pool.handle), nullptr);
  const auto late = memory.access(pool.handle, pool.address, 1, AccessKind::kRemoteWrite, pd,
                                  qpn_of(harness.unit(), 1));
  EXPECT_FALSE(late.ok());
  EXPECT_EQ(late.failed, AccessCheck::kA);
  for (int n = 0; n < 200; ++n) harness.host().queue(1500);
  EXPECT_TRUE(harness.deliver());
}

// The unit is polled once in each step, so that nothing but the poll which posts the reply can end
// the window.
TEST(ChannelWindow, S001_17_the_window_has_ended_when_the_reply_is_posted) {
  ChannelFixture harness({.unit = {.pools = std::vector<PoolSpec>(2, PoolSpec{16, 2048})}});
  ASSERT_TRUE(harness.connect());
  ChannelSide& unit = harness.unit();
  unit.holds = true;
  harness.host().queue(1500);
  ASSERT_TRUE(harness.run_until(
      [&] { return unit.held.size() == 1 && harness.host().completed == 1; }, 1s));
  const std::uint32_t ref = unit.held.front().pool;
  const auto pools = unit.pair->pools();
  const auto pool = std::ranges::find_if(
      pools, [&](const PoolView& view) { return view.ours && view.ref == ref; });
  ASSERT_NE(pool, pools.end());
  const fabric::Mrwt& memory = unit.adapter->memory();
  const fabric::PdId pd = memory.entry(pool->handle)->pd;
  const fabric::VirtualAddress last(pool->address.value + 15 * 2048);  // its element is free
  const auto late_write = [&] {
    return memory.access(pool->handle, last, 1, AccessKind::kRemoteWrite, pd, qpn_of(unit, 1));
  };
  const std::uint64_t messages = unit.count("msg.tx.control");
  const auto has_replied = [&] { return unit.count("msg.tx.control") != messages; };
  harness.host().pair->flush({&ref, 1}, false);
  for (int step = 0; step < 1000 && !has_replied(); ++step) {
    ASSERT_TRUE(late_write().ok()) << "the peer may write until the reply";
    harness.clock.advance(2us);
    harness.host().step(harness.clock.now());
    unit.adapter->poll(harness.clock.now());
    unit.pair->poll(harness.clock.now());
  }
  ASSERT_TRUE(has_replied());
  EXPECT_FALSE(late_write().ok());
  EXPECT_EQ(late_write().failed, AccessCheck::kA);
  EXPECT_EQ(harness.host().pool_refs(false).size(), 2U) << "the reply is not on the wire";
  ASSERT_TRUE(harness.run_until([&] { return harness.host().pool_refs(false).size() == 1; }, 1s));
  EXPECT_EQ(unit.held.size(), 1U) << "the reader keeps its frame";
  unit.release_held();
  unit.holds = false;
  harness.host().queue(1500);
  EXPECT_TRUE(harness.deliver());
}

TEST(ChannelWindow, a_pair_that_ends_leaves_nothing_in_the_table) {
  ChannelFixture harness;
  ASSERT_TRUE(harness.connect());
  EXPECT_GT(harness.unit().adapter->memory().live_count(), 0U);
  harness.unit().pair->close(harness.clock.now());
  EXPECT_EQ(harness.unit().adapter->memory().live_count(), 0U);
}

}  // namespace
}  // namespace splitnic::messaging::channel_window_test
