// Swapping quiescable regions out and in: the order of the steps, who waits for whom, and what
// nobody may see or lose.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "fabric_emul/mem/placement.h"
#include "fabric_emul/paging/io_consumer.h"
#include "fabric_emul/paging/swap_arbitrator.h"

namespace splitnic::fabric {
namespace swap_test {

using State = SwapArbitrator::State;
constexpr Qpn kQp{2};
constexpr std::size_t kPage = 4096;
constexpr std::size_t kPages = 3;
constexpr std::uint64_t kFirst = 50;
constexpr std::uint64_t kLength = kPages * kPage - 100;
constexpr IoCount kOneSend{.channel = 1, .memory = 0};
constexpr std::array kOut{SwapStep::kQuiesceSet, SwapStep::kQuiescent, SwapStep::kInvalid,
                          SwapStep::kSaved, SwapStep::kFreed};
constexpr std::array kIn{SwapStep::kTaken, SwapStep::kRestored,     SwapStep::kTranslated,
                         SwapStep::kValid, SwapStep::kQuiesceReset, SwapStep::kWoken};

// Sees each step, and at each what a rogue access to the region would get.
class Trace final : public SwapObserver {
 public:
  explicit Trace(const Mrwt& table) : table_(table) {}
  void on_step(MemoryHandle region, SwapStep step) override {
    steps.push_back(step);
    const MrwtEntry& entry = *table_.entry(region);
    accessible.push_back(
        table_.access(region, entry.start, 1, AccessKind::kRemoteWrite, entry.pd, kQp).ok());
    quiescing.push_back(CurrentIo(*entry.current_io).is_quiescing());
  }
  std::vector<SwapStep> steps;
  std::vector<bool> accessible;
  std::vector<bool> quiescing;

 private:
  const Mrwt& table_;
};

// A guest: its region, its word, and a consumer that issues requests by noting them.
class Guest final : public IoIssuer {
 public:
  Guest(Mrwt& table, Arena& arena, SwapArbitrator& arbitrator, std::uint32_t number)
      : pd(number), consumer(arbitrator, *this, 4), table_(table), fill_(number) {
    std::vector<std::byte*> pages;
    for (std::size_t i = 0; i < kPages; ++i) pages.push_back(arena.take());
    region = table.regions()
                 .register_pages(pd, {pages, 12, kFirst, kLength}, kAccessRights | kWindowBind,
                                 {VirtualAddress(0x1000 * number), {}, nullptr, &word})
                 .value();
    consumer.add_region(region, word);
    EXPECT_TRUE(arbitrator.adopt(region, consumer));
    EXPECT_TRUE(write());
  }
  void issue(std::uint64_t id) override { issued.push_back(id); }

  VirtualAddress start() const { return table_.start_of(region); }
  std::vector<std::byte> content() const {
    std::vector<std::byte> bytes(kLength);
    for (std::size_t i = 0; i < kLength; ++i) bytes[i] = static_cast<std::byte>(i * 3 + fill_);
    return bytes;
  }
  bool write() { return write_remote(table_, pd, kQp, region, start(), content()).ok(); }
  // Result of a remote read; nullopt when it is refused.
  std::optional<std::vector<std::byte>> read() const {
    std::vector<std::byte> bytes(kLength);
    const PlacementResult got = read_remote(table_, pd, kQp, region, start(), bytes);
    if (got.ok()) return bytes;
    EXPECT_EQ(got.failed, AccessCheck::kA);
    return std::nullopt;
  }
  std::vector<const std::byte*> frames() const {
    std::vector<const std::byte*> list;
    for (std::size_t i = 0; i < kPages; ++i) list.push_back(table_.entry(region)->att->page(i));
    return list;
  }

  PdId pd;
  MemoryHandle region;
  std::atomic<std::uint32_t> word{0};
  IoConsumer consumer;
  std::vector<std::uint64_t> issued;

 private:
  Mrwt& table_;
  std::uint32_t fill_;
};

class SwapTest : public testing::Test {
 protected:
  bool request(const Guest& guest) {
    return arbitrator_.request(guest.region, clock_.now(), std::chrono::seconds(1)).has_value();
  }
  static constexpr std::size_t kFrames = 8;

  base::ManualClock clock_;
  base::SeededRandom random_{3};
  std::unique_ptr<Arena> arena_ = Arena::make(kFrames, 12).value();
  Mrwt table_{8, random_};
  Trace trace_{table_};
  SwapArbitrator arbitrator_{table_, *arena_, &trace_};
  Guest guest_{table_, *arena_, arbitrator_, 1};
};

TEST_F(SwapTest, S004_09_a_region_that_has_no_word_is_pinned_and_cannot_be_swapped) {
  const std::vector<std::byte*> pages{arena_->take()};
  const MemoryHandle pinned =
      table_.regions().register_pages(guest_.pd, {pages, 12, 0, kPage}, 31).value();
  EXPECT_FALSE(arbitrator_.adopt(pinned, guest_.consumer));
  EXPECT_FALSE(arbitrator_.request(pinned, clock_.now(), std::chrono::seconds(1)));
  EXPECT_TRUE(table_.entry(pinned)->is_valid);
  EXPECT_EQ(table_.entry(guest_.region)->current_io, &guest_.word) << "its place is known";
  EXPECT_TRUE(request(guest_));
  EXPECT_EQ(arbitrator_.state(guest_.region), State::kOut);
}

TEST_F(SwapTest, S004_09_only_its_own_frames_are_adopted) {
  std::atomic<std::uint32_t> word{0};
  const auto adopts = [&](const std::vector<std::byte*>& pages) {
    const MemoryHandle region = table_.regions()
                                    .register_pages(guest_.pd, {pages, 12, 0, pages.size() * kPage},
                                                    31, {{}, {}, nullptr, &word})
                                    .value();
    const bool adopted = arbitrator_.adopt(region, guest_.consumer).has_value();
    arbitrator_.forget(region);
    EXPECT_TRUE(table_.regions().deregister(region));
    return adopted;
  };
  std::byte* const mine = arena_->take();
  std::byte* const free = arena_->take();
  arena_->release(free);
  std::byte* const of_guest = table_.entry(guest_.region)->att->page(0);
  EXPECT_TRUE(adopts({mine}));
  EXPECT_FALSE(adopts({mine, mine}));
  EXPECT_FALSE(adopts({free}));
  EXPECT_FALSE(adopts({mine, of_guest}));
  EXPECT_TRUE(adopts({mine})) << "let go, it can be adopted again";
  EXPECT_FALSE(arbitrator_.adopt(guest_.region, guest_.consumer)) << "once only";
}

TEST_F(SwapTest, S004_13_with_nothing_outstanding_it_goes_out_at_once) {
  ASSERT_TRUE(request(guest_));
  EXPECT_EQ(arbitrator_.state(guest_.region), State::kOut);
  EXPECT_TRUE(std::ranges::equal(trace_.steps, kOut));
  EXPECT_EQ(arena_->free_frames(), kFrames);
  EXPECT_EQ(arena_->resident_bytes(), 0U) << "the kernel has the memory";
  EXPECT_FALSE(request(guest_)) << "it is out";
}

TEST_F(SwapTest, S004_13_else_it_waits_for_the_call_after_the_last_io) {
  ASSERT_TRUE(guest_.consumer.submit(guest_.region, 1, {.channel = 1, .memory = 1}));
  ASSERT_TRUE(request(guest_));
  EXPECT_EQ(trace_.steps, std::vector{SwapStep::kQuiesceSet});
  EXPECT_FALSE(arbitrator_.quiesced(guest_.region)) << "two I/Os are outstanding";
  ASSERT_TRUE(guest_.consumer.finish(guest_.region));
  EXPECT_FALSE(arbitrator_.quiesced(guest_.region)) << "one is outstanding";
  EXPECT_EQ(trace_.steps.size(), 1U);
  EXPECT_TRUE(guest_.read().has_value()) << "still served";
  ASSERT_TRUE(guest_.consumer.finish(guest_.region));
  EXPECT_EQ(arbitrator_.state(guest_.region), State::kOut);
  EXPECT_TRUE(std::ranges::equal(trace_.steps, kOut));
  EXPECT_FALSE(arbitrator_.quiesced(guest_.region)) << "reported twice";
}

TEST_F(SwapTest, S004_13_a_consumer_that_does_not_finish_in_time_is_an_error_and_keeps_it) {
  ASSERT_TRUE(guest_.consumer.submit(guest_.region, 1, kOneSend));
  EXPECT_EQ(arbitrator_.deadline(), base::kNever);
  ASSERT_TRUE(request(guest_));
  ASSERT_TRUE(guest_.consumer.submit(guest_.region, 2, kOneSend));
  EXPECT_EQ(arbitrator_.deadline(), clock_.now() + std::chrono::seconds(1));
  clock_.advance(std::chrono::milliseconds(999));
  EXPECT_TRUE(arbitrator_.expire(clock_.now()).empty());
  clock_.advance(std::chrono::milliseconds(1));
  const auto expired = arbitrator_.expire(clock_.now());
  ASSERT_EQ(expired.size(), 1U);
  EXPECT_EQ(expired[0].region, guest_.region);
  EXPECT_NE(expired[0].error.text().find("outstanding"), std::string::npos);
  EXPECT_EQ(arbitrator_.state(guest_.region), State::kIn);
  EXPECT_EQ(arbitrator_.deadline(), base::kNever);
  EXPECT_EQ(guest_.issued, (std::vector<std::uint64_t>{1, 2})) << "queued I/O continues";
  EXPECT_EQ(guest_.word, 2U);
  EXPECT_EQ(guest_.read(), guest_.content());
  EXPECT_FALSE(arbitrator_.quiesced(guest_.region)) << "too late";
}

TEST_F(SwapTest, S004_11_X_44_a_command_a_read_and_a_response_count_three_two_one_none) {
  // The command and its response are messages, the data of the command is read by RDMA.
  ASSERT_TRUE(guest_.consumer.submit(guest_.region, 1, {.channel = 2, .memory = 1}));
  for (const std::uint32_t left : {3U, 2U, 1U}) {
    EXPECT_EQ(guest_.consumer.outstanding(), left);
    ASSERT_TRUE(guest_.consumer.finish(guest_.region));
  }
  EXPECT_EQ(guest_.consumer.outstanding(), 0U);
  EXPECT_EQ(arbitrator_.state(guest_.region), State::kIn);
}

TEST_F(SwapTest, S004_12_while_quiescing_requests_queue_and_none_is_issued) {
  for (std::uint64_t id : {1U, 2U, 3U}) {
    ASSERT_TRUE(guest_.consumer.submit(guest_.region, id, kOneSend));
  }
  ASSERT_EQ(guest_.consumer.outstanding(), 3U);
  ASSERT_TRUE(request(guest_));
  const std::array<std::size_t, 3> queued{1, 2, 3};
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(guest_.consumer.submit(guest_.region, 4 + i, kOneSend));
    EXPECT_EQ(guest_.consumer.queued(), queued[i]);
    EXPECT_EQ(guest_.consumer.outstanding(), 3 - i) << "the count only falls";
    EXPECT_EQ(guest_.issued.size(), 3U);
    if (i < 2) {
      ASSERT_TRUE(guest_.consumer.finish(guest_.region));
    }
  }
  ASSERT_TRUE(guest_.consumer.submit(guest_.region, 7, kOneSend));
  EXPECT_FALSE(guest_.consumer.submit(guest_.region, 8, kOneSend)) << "the queue has a bound";
  ASSERT_TRUE(guest_.consumer.finish(guest_.region));
  EXPECT_EQ(guest_.issued.size(), 3U);
  EXPECT_EQ(arbitrator_.bring_back(), 1U) << "its interest was noted";
  EXPECT_EQ(guest_.issued, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(guest_.consumer.outstanding(), 4U);
}

TEST_F(SwapTest, S004_14_a_rogue_access_while_out_is_refused_and_the_key_stays_reserved) {
  ASSERT_TRUE(request(guest_));
  EXPECT_FALSE(table_.entry(guest_.region)->is_valid);
  EXPECT_FALSE(guest_.read().has_value());
  EXPECT_FALSE(guest_.write());
  const VirtualAddress start = guest_.start();
  for (unsigned kind = 0; kind < kAccessKinds; ++kind) {
    const AccessResult got =
        table_.access(guest_.region, start, 1, static_cast<AccessKind>(kind), guest_.pd, kQp);
    EXPECT_FALSE(got.ok());
    EXPECT_EQ(got.failed, AccessCheck::kA);
  }
  std::array<std::byte, 64> memory{};
  for (std::size_t i = 1; i < table_.entries_max(); ++i) {
    EXPECT_NE(table_.regions().register_region(guest_.pd, memory, 31).value(), guest_.region);
  }
  EXPECT_FALSE(table_.regions().register_region(guest_.pd, memory, 31))
      << "its entry is not given away";
  EXPECT_EQ(table_.regions().atts().count(), 1U) << "nor its translation table";
}

TEST_F(SwapTest, S004_15_back_in_other_frames_with_the_same_key_and_bytes) {
  const MemoryHandle key = guest_.region;
  const auto before = guest_.frames();
  const MrwtEntry entry = *table_.entry(key);
  ASSERT_TRUE(request(guest_));
  ASSERT_TRUE(guest_.consumer.submit(key, 5, kOneSend));
  EXPECT_EQ(arbitrator_.state(key), State::kIn) << "frames were free: its interest brings it in";
  ASSERT_TRUE(guest_.consumer.finish(key));
  ASSERT_TRUE(request(guest_));

  std::vector<std::byte*> others;  // a second consumer takes the frames and writes to them
  for (std::size_t i = 0; i < 6; ++i) others.push_back(arena_->take());
  for (const std::byte* frame : before) EXPECT_EQ(std::ranges::count(others, frame), 1);
  for (std::byte* frame : others) std::memset(frame, 0xEE, kPage);
  trace_.steps.clear();
  ASSERT_TRUE(guest_.consumer.submit(key, 6, kOneSend));
  EXPECT_EQ(arbitrator_.state(key), State::kOut) << "two frames are not three";
  EXPECT_TRUE(trace_.steps.empty());
  arena_->release(others[0]);
  EXPECT_EQ(arbitrator_.bring_back(), 1U);

  EXPECT_TRUE(std::ranges::equal(trace_.steps, kIn));
  EXPECT_EQ(guest_.issued, (std::vector<std::uint64_t>{5, 6})) << "queued I/O resumes";
  EXPECT_NE(guest_.frames(), before) << "new physical addresses";
  EXPECT_EQ(guest_.read(), guest_.content());
  const MrwtEntry now = *table_.entry(key);
  EXPECT_EQ(now.start, entry.start);
  EXPECT_EQ(now.length, entry.length);
  EXPECT_EQ(now.instance, entry.instance);
  EXPECT_EQ(now.rights, entry.rights);
  EXPECT_EQ(now.att, entry.att);
  EXPECT_TRUE(now.is_valid);
}

TEST_F(SwapTest, S004_14_S004_15_what_holds_after_each_step) {
  ASSERT_TRUE(request(guest_));
  ASSERT_TRUE(arbitrator_.interest(guest_.region));
  ASSERT_EQ(trace_.steps.size(), kOut.size() + kIn.size());
  for (std::size_t i = 0; i < trace_.steps.size(); ++i) {
    const bool is_valid = i < 2 || i >= kOut.size() + 3;
    EXPECT_EQ(trace_.accessible[i], is_valid) << "step " << i;
    EXPECT_EQ(trace_.quiescing[i], i < kOut.size() + 4) << "step " << i;
  }
}

TEST_F(SwapTest, S004_16_a_window_is_refused_while_its_region_is_out_and_works_after) {
  const MemoryHandle window =
      table_.windows()
          .bind_window(guest_.pd, guest_.region, VirtualAddress(guest_.start().value + 4000), 300,
                       kRemoteWrite, kQp)
          .value();
  const std::array<std::byte, 200> in{};
  const auto write = [&] {
    return write_remote(table_, guest_.pd, kQp, window, VirtualAddress(guest_.start().value + 4010),
                        in);
  };
  EXPECT_TRUE(write().ok());
  ASSERT_TRUE(request(guest_));
  EXPECT_FALSE(write().ok());
  EXPECT_EQ(write().failed, AccessCheck::kA);
  ASSERT_TRUE(arbitrator_.interest(guest_.region));
  EXPECT_TRUE(write().ok()) << "nothing was done to the window";
  std::vector<std::byte> expected = guest_.content();
  std::fill_n(expected.begin() + 4010, in.size(), std::byte{});
  EXPECT_EQ(guest_.read(), expected);
}

TEST_F(SwapTest, S004_17_two_guests_under_one_arbitrator_do_not_disturb_each_other) {
  Guest other(table_, *arena_, arbitrator_, 2);
  const auto frames = other.frames();
  ASSERT_TRUE(other.consumer.submit(other.region, 1, kOneSend));
  ASSERT_TRUE(request(guest_));
  EXPECT_EQ(other.read(), other.content());
  EXPECT_EQ(other.frames(), frames);
  EXPECT_EQ(other.word, 1U);
  EXPECT_EQ(arbitrator_.state(other.region), State::kIn);
  ASSERT_TRUE(request(other));
  EXPECT_TRUE(other.read().has_value()) << "its I/O is outstanding";
  ASSERT_TRUE(other.consumer.finish(other.region));
  EXPECT_FALSE(other.read().has_value());
  EXPECT_EQ(arena_->free_frames(), kFrames);
}

TEST_F(SwapTest, S004_17_regions_come_back_in_the_order_of_interest) {
  Guest other(table_, *arena_, arbitrator_, 2);
  ASSERT_TRUE(request(guest_));
  ASSERT_TRUE(request(other));
  std::vector<std::byte*> taken;
  while (std::byte* const frame = arena_->take()) taken.push_back(frame);
  ASSERT_TRUE(arbitrator_.interest(other.region));
  ASSERT_TRUE(arbitrator_.interest(guest_.region));
  ASSERT_TRUE(arbitrator_.interest(guest_.region)) << "twice is once";
  for (int i = 0; i < 3; ++i) {
    arena_->release(taken.back());
    taken.pop_back();
  }
  EXPECT_EQ(arbitrator_.bring_back(), 1U);
  EXPECT_EQ(arbitrator_.state(other.region), State::kIn);
  EXPECT_EQ(arbitrator_.state(guest_.region), State::kOut);
  EXPECT_EQ(other.read(), other.content());
  for (int i = 0; i < 3; ++i) {
    arena_->release(taken.back());
    taken.pop_back();
  }
  EXPECT_EQ(arbitrator_.bring_back(), 1U);
  EXPECT_EQ(guest_.read(), guest_.content());
}

// It would leave the quiesce bit of the consumer set, and nobody to reset it.
TEST_F(SwapTest, S004_12_a_quiescable_region_is_not_reregistered) {
  EXPECT_FALSE(table_.regions().reregister(guest_.region, {.rights = kLocalRead}));
  EXPECT_TRUE(guest_.read());
}

TEST_F(SwapTest, a_region_that_was_deregistered_meanwhile_is_forgotten) {
  ASSERT_TRUE(request(guest_));
  std::vector<std::byte*> taken;
  while (std::byte* const frame = arena_->take()) taken.push_back(frame);
  ASSERT_TRUE(arbitrator_.interest(guest_.region));
  ASSERT_TRUE(table_.regions().deregister(guest_.region));
  for (std::byte* const frame : taken) arena_->release(frame);
  EXPECT_EQ(arbitrator_.bring_back(), 0U);
  EXPECT_FALSE(arbitrator_.interest(guest_.region));
  EXPECT_FALSE(request(guest_));
  EXPECT_TRUE(arbitrator_.expire(base::kNever - std::chrono::seconds(1)).empty());
}

TEST_F(SwapTest, forgetting_a_region_that_is_quiescing_lets_its_consumer_continue) {
  ASSERT_TRUE(guest_.consumer.submit(guest_.region, 1, kOneSend));
  ASSERT_TRUE(request(guest_));
  arbitrator_.forget(guest_.region);
  EXPECT_EQ(guest_.word, 1U) << "no quiesce bit";
  EXPECT_EQ(arbitrator_.deadline(), base::kNever);
  EXPECT_EQ(guest_.read(), guest_.content());
}

}  // namespace swap_test
}  // namespace splitnic::fabric
