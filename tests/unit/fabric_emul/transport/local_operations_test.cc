// Work that sends nothing, on its own table: what a run changes, what a refusal leaves, and that
// every reserved key becomes a region or returns to the table.
#include "fabric_emul/transport/local_operations.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <vector>

#include "tests/unit/fabric_emul/mem/mrwt_fixture.h"

namespace splitnic::fabric::testing::local_operations_test {

using namespace mrwt_fixture;
using namespace std::chrono_literals;
using Step = LocalOperations::Step;

constexpr base::Time kNow{1s};

class LocalOperationsTest : public MrwtTest {
 protected:
  QpContext context_of(Mrwt& table) {
    QpContext context{
        .mrwt = table, .counters = counters_, .send_cq = send_cq_, .recv_cq = recv_cq_};
    context.qpn = kQp;
    context.pd = kPd;
    return context;
  }
  LocalWork bind_of(MemoryHandle region, PdId pd = kPd) {
    return {.window = table_.windows().reserve_window(pd).value(),
            .region = region,
            .address = kStart,
            .length = 64,
            .rights = kRemoteWrite};
  }
  char write_through(MemoryHandle window) {
    return try_access(window, kStart, 8, AccessKind::kRemoteWrite);
  }
  // A registration that `message` announces, from its byte `region_at` on.
  static SendWr announcing(const Sge& message, std::uint32_t region_at) {
    SendWr wr;
    wr.op = WrOp::kRegisterSend;
    wr.gather = {&message, 1};
    wr.region_at = region_at;
    return wr;
  }
  static SendWr registering() {
    SendWr wr;
    wr.op = WrOp::kRegister;
    return wr;
  }
  NewRegion new_region() {
    NewRegion out;
    out.memory = memory();
    out.rights = kAccessRights;
    out.start = kStart;
    return out;
  }

  base::Counters<TransportCounter> counters_;
  CompletionQueue send_cq_{4};
  CompletionQueue recv_cq_{4};
  QpContext context_ = context_of(table_);
  LocalOperations local_{context_};
};

TEST_F(LocalOperationsTest, S000_07_data_and_a_negative_delay_are_refused) {
  const Sge piece{kStart, 8, MemoryHandle(1)};
  SendWr wr;
  wr.op = WrOp::kDelay;
  EXPECT_TRUE(LocalOperations::check(wr)) << "a delay of 0";
  wr.local.delay = -1ns;
  EXPECT_EQ(LocalOperations::check(wr).error().errno_value(), EINVAL);
  wr.op = WrOp::kBind;
  EXPECT_TRUE(LocalOperations::check(wr)) << "not a delay";
  wr.idata = 0;
  EXPECT_EQ(LocalOperations::check(wr).error().errno_value(), EINVAL);
  wr.idata.reset();
  wr.gather = {&piece, 1};
  EXPECT_EQ(LocalOperations::check(wr).error().errno_value(), EINVAL);
}

TEST_F(LocalOperationsTest, S000_06_a_window_works_from_its_bind_to_its_unbind) {
  const LocalWork bind = bind_of(region());
  local_.push(bind);
  local_.push({.window = bind.window});
  EXPECT_EQ(write_through(bind.window), 'a') << "only posted";
  EXPECT_EQ(local_.run(WrOp::kBind, kNow), Step::kDone);
  EXPECT_EQ(write_through(bind.window), '-');
  EXPECT_EQ(local_.run(WrOp::kUnbind, kNow), Step::kDone);
  EXPECT_NE(write_through(bind.window), '-');
  ASSERT_NE(table_.entry(bind.window), nullptr) << "the key stays";
  EXPECT_FALSE(table_.entry(bind.window)->is_valid);
  local_.push({.window = bind.window});
  EXPECT_EQ(local_.run(WrOp::kUnbind, kNow), Step::kFailed) << "it has no range";
}

TEST_F(LocalOperationsTest, S000_06_each_run_takes_the_oldest) {
  const MemoryHandle handle = region();
  const LocalWork first = bind_of(handle);
  const LocalWork second = bind_of(handle);
  local_.push(first);
  local_.push(second);
  EXPECT_EQ(local_.run(WrOp::kBind, kNow), Step::kDone);
  EXPECT_EQ(write_through(first.window), '-');
  EXPECT_EQ(write_through(second.window), 'a');
  EXPECT_EQ(local_.run(WrOp::kBind, kNow), Step::kDone);
  EXPECT_EQ(write_through(second.window), '-');
}

TEST_F(LocalOperationsTest, S002_22_a_window_of_one_touch_serves_one_packet) {
  const MemoryHandle handle = region();
  LocalWork once = bind_of(handle);
  once.is_one_touch = true;
  const LocalWork often = bind_of(handle);
  local_.push(once);
  local_.push(often);
  ASSERT_EQ(local_.run(WrOp::kBind, kNow), Step::kDone);
  ASSERT_EQ(local_.run(WrOp::kBind, kNow), Step::kDone);
  EXPECT_TRUE(table_.one_touch().touch(once.window, kQp, Psn(1)));
  EXPECT_FALSE(table_.one_touch().touch(once.window, kQp, Psn(2)));
  EXPECT_TRUE(table_.one_touch().touch(often.window, kQp, Psn(1)));
  EXPECT_TRUE(table_.one_touch().touch(often.window, kQp, Psn(2)));
}

TEST_F(LocalOperationsTest, S000_06_a_refusal_of_the_table_fails_and_changes_nothing) {
  const std::size_t live = table_.live_count();
  const MemoryHandle closed = region(kAccessRights);  // without the bind bit
  const LocalWork bind = bind_of(closed);
  const LocalWork foreign = bind_of(region(), kOtherPd);
  LocalOperations binds(context_);
  binds.push(bind);
  EXPECT_EQ(binds.run(WrOp::kBind, kNow), Step::kFailed);
  EXPECT_EQ(write_through(bind.window), 'a') << "still reserved";
  LocalOperations unbinds(context_);
  unbinds.push({.window = foreign.window});
  EXPECT_EQ(unbinds.run(WrOp::kUnbind, kNow), Step::kFailed);
  EXPECT_EQ(table_.live_count(), live + 4);
}

TEST_F(LocalOperationsTest, S000_07_a_delay_begins_when_it_runs_and_ends_on_time) {
  local_.push({.delay = 10ms});
  EXPECT_FALSE(local_.is_delaying());
  EXPECT_EQ(local_.deadline(), base::kNever);
  EXPECT_EQ(local_.run(WrOp::kDelay, kNow), Step::kWaiting);
  EXPECT_TRUE(local_.is_delaying());
  EXPECT_EQ(local_.deadline(), kNow + 10ms);
  EXPECT_EQ(local_.run(WrOp::kDelay, kNow + 10ms - 1ns), Step::kWaiting);
  EXPECT_EQ(local_.deadline(), kNow + 10ms) << "asking again does not prolong it";
  EXPECT_EQ(local_.run(WrOp::kDelay, kNow + 10ms), Step::kDone);
  EXPECT_FALSE(local_.is_delaying());
  EXPECT_EQ(local_.deadline(), base::kNever);

  local_.push({.delay = 0ns});
  local_.push({.delay = 1ms});
  EXPECT_EQ(local_.run(WrOp::kDelay, kNow), Step::kDone);
  EXPECT_EQ(local_.run(WrOp::kDelay, kNow), Step::kWaiting);
  EXPECT_EQ(local_.deadline(), kNow + 1ms);
}

TEST_F(LocalOperationsTest, S002_30_a_key_is_given_at_once_and_works_when_the_region_is_made) {
  const VaMh reserved = local_.reserve(registering(), new_region()).value();
  EXPECT_EQ(reserved.address, kStart);
  EXPECT_EQ(reserved.length, kLength);
  EXPECT_EQ(try_access(reserved.handle, kStart, 8, AccessKind::kLocalRead), 'a');
  EXPECT_EQ(local_.make_region(), std::nullopt);
  EXPECT_EQ(local_.last_key(), reserved.handle);
  EXPECT_EQ(try_access(reserved.handle, kStart, kLength, AccessKind::kLocalRead), '-');
}

TEST_F(LocalOperationsTest, S002_30_regions_are_made_in_the_order_of_their_posts) {
  const MemoryHandle first = local_.reserve(registering(), new_region()).value().handle;
  const MemoryHandle second = local_.reserve(registering(), new_region()).value().handle;
  EXPECT_EQ(local_.make_region(), std::nullopt);
  EXPECT_EQ(local_.last_key(), first);
  EXPECT_TRUE(table_.entry(first)->is_valid);
  EXPECT_FALSE(table_.entry(second)->is_valid);
  EXPECT_EQ(local_.make_region(), std::nullopt);
  EXPECT_EQ(local_.last_key(), second);
}

TEST_F(LocalOperationsTest, S002_34_the_message_must_have_room_for_the_description) {
  const Sge message{kStart, 20, MemoryHandle(1)};
  const std::size_t live = table_.live_count();
  for (const std::uint32_t at : {5U, 20U, 21U, 0xFFFFFFFFU}) {
    const auto refused = local_.reserve(announcing(message, at), new_region());
    ASSERT_FALSE(refused) << at;
    EXPECT_EQ(refused.error().errno_value(), EINVAL);
    EXPECT_EQ(table_.live_count(), live) << "the key is returned";
  }
  EXPECT_TRUE(local_.reserve(announcing(message, 4), new_region()));
  SendWr without_message = registering();
  without_message.region_at = 5;
  EXPECT_TRUE(local_.reserve(without_message, new_region())) << "nothing is described";
}

TEST_F(LocalOperationsTest, S002_34_a_length_that_is_sent_has_32_bits) {
  constexpr std::size_t kTooLong = std::size_t{1} << 32;
  void* const at =
      ::mmap(nullptr, kTooLong, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  const Sge message{kStart, 16, MemoryHandle(1)};
  NewRegion region = new_region();
  region.memory = {static_cast<std::byte*>(at), kTooLong};
  const std::size_t live = table_.live_count();
  EXPECT_FALSE(local_.reserve(announcing(message, 0), region));
  EXPECT_EQ(table_.live_count(), live);
  EXPECT_TRUE(local_.reserve(registering(), region));
  region.memory = region.memory.first(kTooLong - 1);
  EXPECT_EQ(local_.reserve(announcing(message, 0), region).value().length, kTooLong - 1);
  local_.forget();
  ::munmap(at, kTooLong);
}

TEST_F(LocalOperationsTest, S002_30_what_no_registration_takes_reserves_nothing) {
  const std::size_t live = table_.live_count();
  EXPECT_FALSE(local_.reserve(registering(), NewRegion{})) << "no memory";
  EXPECT_EQ(table_.live_count(), live);
  while (table_.live_count() < table_.entries_max()) region();
  EXPECT_FALSE(local_.reserve(registering(), new_region())) << "no entry is left";
  local_.forget();
  EXPECT_EQ(table_.live_count(), table_.entries_max()) << "nothing was reserved";
}

TEST_F(LocalOperationsTest, a_post_that_was_refused_returns_the_newest_key) {
  const MemoryHandle first = local_.reserve(registering(), new_region()).value().handle;
  const MemoryHandle second = local_.reserve(registering(), new_region()).value().handle;
  local_.cancel_newest();
  EXPECT_EQ(table_.entry(second), nullptr);
  EXPECT_EQ(local_.make_region(), std::nullopt);
  EXPECT_EQ(local_.last_key(), first);
}

TEST_F(LocalOperationsTest, S002_31_the_status_of_a_failed_registration_names_its_cause) {
  Mrwt table(1, random_, false, MrwtProfile::kRegionsOk, 0);  // no room in translation tables
  QpContext context = context_of(table);
  LocalOperations local(context);

  table.regions().give_up_reserved(local.reserve(registering(), new_region()).value().handle);
  EXPECT_EQ(local.make_region(), WcStatus::kRegisterEntry);

  const MemoryHandle ended = local.reserve(registering(), new_region()).value().handle;
  table.regions().give_up_reserved(ended);
  const MemoryHandle later = table.regions().register_region(kPd, memory(), kAccessRights).value();
  EXPECT_EQ(local.make_region(), WcStatus::kRegisterInstance);
  EXPECT_EQ(local.last_key(), ended);
  ASSERT_TRUE(table.regions().deregister(later));

  struct alignas(4096) Page {
    std::array<std::byte, 4096> bytes;
  };
  std::vector<Page> pages(3);
  const std::array<std::byte*, 2> apart{pages[0].bytes.data(), pages[2].bytes.data()};
  NewRegion region;
  region.pages.pages = apart;
  region.pages.length = 2 * sizeof(Page);
  region.rights = kAccessRights;
  ASSERT_TRUE(local.reserve(registering(), region));
  EXPECT_EQ(local.make_region(), WcStatus::kRegisterSpace);
  EXPECT_EQ(table.live_count(), 0U) << "the reservation is given up";
}

TEST_F(LocalOperationsTest, S002_31_what_has_not_run_is_forgotten_with_its_keys) {
  const std::size_t live = table_.live_count();
  const MemoryHandle made = local_.reserve(registering(), new_region()).value().handle;
  ASSERT_TRUE(local_.reserve(registering(), new_region()));
  ASSERT_TRUE(local_.reserve(registering(), new_region()));
  ASSERT_EQ(local_.make_region(), std::nullopt);
  local_.push({.delay = 10ms});
  ASSERT_EQ(local_.run(WrOp::kDelay, kNow), Step::kWaiting);
  local_.forget();
  EXPECT_EQ(table_.live_count(), live + 1);
  EXPECT_TRUE(table_.entry(made)->is_valid) << "it has run";
  EXPECT_FALSE(local_.is_delaying());
  EXPECT_EQ(local_.deadline(), base::kNever);
  local_.push({.delay = 1ms});
  EXPECT_EQ(local_.run(WrOp::kDelay, kNow), Step::kWaiting);
  EXPECT_EQ(local_.deadline(), kNow + 1ms) << "the work before it is gone";
}

TEST_F(LocalOperationsTest, its_end_returns_the_keys) {
  const std::size_t live = table_.live_count();
  {
    LocalOperations local(context_);
    ASSERT_TRUE(local.reserve(registering(), new_region()));
    EXPECT_EQ(table_.live_count(), live + 1);
  }
  EXPECT_EQ(table_.live_count(), live);
}

TEST(AnnounceRegionTest, S002_34_a_description_over_any_cells_replaces_16_bytes_and_no_others) {
  constexpr std::size_t kBytes = 40;
  constexpr std::byte kOther{0xEE};
  const VaMh region{VirtualAddress(0x0102030405060708), MemoryHandle(0x090A0B0C), 0x0D0E0F10};
  for (std::size_t at = 0; at + kVaMhBytes <= kBytes; ++at) {
    for (std::size_t cell = 1; cell <= kBytes; ++cell) {
      std::vector<std::byte> message;
      for (std::size_t offset = 0; offset < kBytes; offset += cell) {
        std::vector<std::byte> body(std::min(cell, kBytes - offset) + 1, kOther);
        announce_region(region, at, offset, base::MutableBytes(body).first(body.size() - 1));
        ASSERT_EQ(body.back(), kOther) << "behind the cell";
        message.insert(message.end(), body.begin(), body.end() - 1);
      }
      std::vector<std::byte> expected(kBytes, kOther);
      for (std::size_t i = 0; i < kVaMhBytes; ++i) expected[at + i] = static_cast<std::byte>(i + 1);
      ASSERT_EQ(message, expected) << "at " << at << " in cells of " << cell;
    }
  }
}

}  // namespace splitnic::fabric::testing::local_operations_test
