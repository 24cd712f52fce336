// The memory that the unit uses for a host, and a unit that is short of memory.
#include "base/memory_reserve.h"
#include "iou_module/hosts/host_memory.h"
#include "messaging/wire/buffer_recv_pool.h"
#include "tests/support/address_space.h"
#include "tests/support/child.h"
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness::memory_test {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class MemoryTest : public testing::Test {
 protected:
  // Starts a unit with this memory for each host, over all queues, and a host that is not attached.
  void start(std::uint64_t memory, std::uint32_t queues = 1) {
    source = std::make_unique<SameRights>(HostRights{.memory_max = memory});
    harness = std::make_unique<UnitHarness>(
        HarnessConfig{.rights = source.get(), .policy = {.queues = queues}});
    host = &harness->add_host();
  }
  const base::MemoryAccount& account() {
    return harness->unit->hosts().at(0)->allowance().memory_account();
  }
  // The memory of a host that does nothing.
  std::uint64_t idle_use() {
    start(64 * kMiB);
    EXPECT_TRUE(harness->attach(*host, mac_number(1)));
    return account().used();
  }
  // Starts again with a host whose connection leaves `more` bytes.
  void attach_with(std::uint64_t more) {
    const std::uint64_t idle = idle_use();
    start(idle + more);
    ASSERT_TRUE(harness->attach(*host, mac_number(1))) << host->refusal;
    ASSERT_EQ(account().used(), idle);
  }
  // Frames of both directions arrive.
  void expect_service() {
    const std::size_t before = harness->written[0].size();
    host->got.clear();
    ASSERT_TRUE(host->push(frame_of(kPeer, mac_number(1))));
    harness->lan().queue(frame_of(mac_number(1), kPeer));
    EXPECT_TRUE(harness->run_until([&] { return host->got.size() == 1; }));
    EXPECT_TRUE(harness->run_until([&] { return harness->written[0].size() == before + 1; }));
  }
  void advertise(std::uint32_t ref, std::uint32_t elements) {
    Frame message(messaging::kMsgMaxControl);
    const std::array records{messaging::PoolRecord{messaging::PoolRef(ref), elements, 64,
                                                   fabric::MemoryHandle(ref),
                                                   fabric::VirtualAddress(0), 0}};
    message.resize(messaging::BufferRecvPool::emit(messaging::kUnsolicited, records, message));
    host->pair->TEST_send(message);
    harness->run(1ms);
  }

  std::unique_ptr<SameRights> source;
  std::unique_ptr<UnitHarness> harness;
  TestHost* host = nullptr;
};

TEST_F(MemoryTest, M_1_the_memory_of_a_host_is_counted) {
  const std::uint64_t pools = 1024 * 2048 + 64 * 65536;
  const std::uint64_t ring = AttachedHostConfig{}.ring_bytes;
  const std::uint64_t idle = idle_use();
  EXPECT_GT(idle, pools + ring);
  EXPECT_LT(idle, pools + ring + 6 * kMiB);
  EXPECT_EQ(account().refusals(), 0U);
  // Another connection of the host takes the place of the first.
  ASSERT_TRUE(harness->connect(*host));
  harness->run(1ms);
  ASSERT_EQ(harness->unit->hosts().size(), 1U);
  EXPECT_EQ(account().used(), idle);
}

TEST_F(MemoryTest, M_1_a_host_whose_limit_is_too_small_is_refused_with_the_reason) {
  start(4 * kMiB);
  EXPECT_FALSE(harness->connect(*host));
  EXPECT_NE(host->refusal.find("may use 4096 KiB of the I/O unit's memory"), std::string::npos)
      << host->refusal;
  EXPECT_GT(harness->count("iou.hosts.refused_memory"), 0U);
  EXPECT_EQ(harness->unit->hosts().size(), 0U);
}

TEST_F(MemoryTest, M_1_each_queue_has_its_part) {
  start(64 * kMiB, 4);
  ASSERT_TRUE(harness->attach(*host, mac_number(1))) << host->refusal;
  EXPECT_EQ(account().limit(), 16 * kMiB);
  const HostRights two_queues{.queues_max = 2, .memory_max = 64 * kMiB};
  EXPECT_EQ(memory_of_queue(two_queues, 1, 4), 32 * kMiB) << "those that it may have";
  EXPECT_EQ(memory_of_queue(HostRights{}, 10 * kMiB, 2), 5 * kMiB);
}

TEST_F(MemoryTest, M_1_without_a_limit_in_the_rights_it_is_64_mib_or_what_large_pools_need) {
  const std::array usual{messaging::PoolSpec{1024, 2048}, messaging::PoolSpec{64, 65536}};
  EXPECT_EQ(default_memory(usual), 64 * kMiB);
  const std::array large{messaging::PoolSpec{1024, 65536}};
  EXPECT_EQ(default_memory(large), 112 * kMiB);
}

TEST_F(MemoryTest, M_1_a_changed_limit_holds_from_then_on) {
  class Changing final : public RightsSource {
   public:
    HostRights rights_of(const fabric::Link&) const override { return {.memory_max = memory}; }
    bool is_of_another(const lan::MacAddress&, const fabric::Link&) const override { return false; }
    std::uint64_t memory = 64 * kMiB;
  } rights;
  UnitHarness unit{HarnessConfig{.rights = &rights}};
  TestHost& one = unit.add_host();
  ASSERT_TRUE(unit.attach(one, mac_number(1)));
  rights.memory = 2 * kMiB;
  unit.unit->update_rights(unit.clock.now());
  unit.run(1ms);
  EXPECT_TRUE(one.up()) << "what is in use stays";
  EXPECT_EQ(unit.unit->hosts().at(0)->allowance().memory_account().limit(), 2 * kMiB);
  EXPECT_FALSE(unit.connect(one));
  rights.memory = 64 * kMiB;
  EXPECT_TRUE(unit.connect(one));
}

TEST_F(MemoryTest, M_1_pools_beyond_the_limit_are_refused_and_the_host_is_served) {
  attach_with(64 << 10);
  for (std::uint32_t ref = 0; ref < 4; ++ref) advertise(300 + ref, 8192);
  EXPECT_EQ(harness->count("msg.drop.memory"), 4U);
  EXPECT_LE(account().used(), account().limit());
  expect_service();
  advertise(400, 256);
  EXPECT_EQ(harness->count("msg.drop.memory"), 4U) << "this one fits";
}

TEST_F(MemoryTest, M_1_elements_beyond_the_limit_are_not_granted) {
  attach_with(256 << 10);
  const auto granted = [&](std::uint32_t elements) {
    const std::uint64_t before = harness->count("pool.granted");
    Frame message(messaging::kMsgMaxControl);
    message.resize(
        messaging::BufferRecvPoolGet{messaging::TransactionContext(77), 2048, elements}.emit(
            message));
    host->pair->TEST_send(message);
    harness->run(1ms);
    return harness->count("pool.granted") - before;
  };
  EXPECT_EQ(granted(256), 0U);
  EXPECT_EQ(harness->count("pool.refused"), 1U);
  EXPECT_EQ(granted(64), 1U);
  EXPECT_LE(account().used(), account().limit());
  expect_service();
}

// A loss leaves a hole, behind which the unit keeps what arrives.
TEST_F(MemoryTest, M_1_early_cells_beyond_the_limit_are_dropped_and_arrive_later) {
  attach_with(8 << 10);
  harness->faults->set_config({.loss_ppm = 100'000, .reorder_ppm = 100'000});
  const std::uint32_t frames = 12;
  std::uint32_t pushed = 0;
  for (int round = 0; round < 400 && pushed < frames; ++round) {
    const auto frame = frame_of(kPeer, mac_number(1), pushed, 0, 60'000);
    if (host->push(frame)) ++pushed;
    harness->run(100us);
  }
  ASSERT_EQ(pushed, frames);
  EXPECT_TRUE(harness->run_until([&] { return harness->written[0].size() == frames; }, 30s));
  EXPECT_GT(harness->count("fabric.cell.drop.memory"), 0U);
  EXPECT_LE(account().used(), account().limit());
  EXPECT_TRUE(host->up());
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// In a child process, whose exit status names the line that failed.
int attach_without_memory() {
  base::hold_memory_reserve(8 << 20);
  UnitHarness harness;
  TestHost& first = harness.add_host();
  TestHost& second = harness.add_host({.pools = {{4, 2048}}});
  if (!harness.attach(first, mac_number(1))) return 1;
  if (!support::limit_address_space(9 << 20)) return 2;
  if (harness.attach(second, mac_number(2))) return 3;
  if (second.refusal.find("the I/O unit is short of memory") == std::string::npos) return 4;
  if (harness.count("iou.hosts.refused_memory") == 0) return 5;
  harness.lan().queue(frame_of(mac_number(1), kPeer));
  if (!harness.run_until([&] { return first.got.size() == 1; })) return 6;
  if (!support::lift_address_space()) return 7;
  return harness.attach(second, mac_number(2)) ? 0 : 8;
}

TEST(ShortOfMemoryTest, M_1_a_host_is_refused_and_the_others_are_served) {
  EXPECT_EQ(support::in_child(attach_without_memory), 0);
}

int run_without_memory() {
  base::hold_memory_reserve(8 << 20);
  UnitHarness harness;
  TestHost& first = harness.add_host();
  TestHost& second = harness.add_host();
  if (!harness.attach(first, mac_number(1))) return 1;
  harness.run(1s);
  if (!harness.attach(second, mac_number(2))) return 2;
  if (!support::limit_address_space(1 << 20)) return 3;
  std::vector<std::unique_ptr<char[]>> pieces;
  pieces.reserve(1 << 16);
  while (!base::is_memory_short()) pieces.push_back(std::make_unique<char[]>(4000));
  harness.run(10ms);
  if (harness.count("iou.hosts.ended_memory") != 1) return 4;
  if (second.up() || !first.up()) return 5;
  if (base::is_memory_short()) return 6;
  harness.lan().queue(frame_of(mac_number(1), kPeer));
  return harness.run_until([&] { return first.got.size() == 1; }) ? 0 : 7;
}

TEST(ShortOfMemoryTest, M_1_the_host_that_came_last_makes_room) {
  EXPECT_EQ(support::in_child(run_without_memory), 0);
}

#endif

}  // namespace
}  // namespace splitnic::iou::harness::memory_test
