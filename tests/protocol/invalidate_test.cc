// Memory that ends or moves while RDMA is in flight.
#include <gtest/gtest.h>

#include <cstdlib>

#include "fabric_emul/paging/io_consumer.h"
#include "fabric_emul/paging/swap_arbitrator.h"
#include "tests/support/adapter_pair.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::invalidate_test {

using namespace std::chrono_literals;

// 10^5 in an optimised build, or with SPLITNIC_LONG=1.
int interleavings() {
#ifdef NDEBUG
  return 100'000;
#else
  const char* const is_long = std::getenv("SPLITNIC_LONG");
  return is_long != nullptr && *is_long == '1' ? 100'000 : 1000;
#endif
}

enum class Ending : std::uint8_t { kInvalid, kDeregister, kReregister, kUnbind, kCount_ };

// One RDMA operation over many cells, and after some iterations the end of what it uses. Either all
// of it has happened or it is an access error; from the call on no byte changes any more.
class Interleaving {
 public:
  explicit Interleaving(base::Random& random) : random_(random), pair_(small_cells()) {}

  static PairOptions small_cells() {
    PairOptions options;
    options.mcp = 256;
    return options;
  }
  void run() {
    const auto how =
        static_cast<Ending>(random_.below(static_cast<std::uint64_t>(Ending::kCount_)));
    const bool is_read = random_.below(2) == 0;
    const std::size_t bytes = 1 + random_.below(3000);
    const QpPair qp = pair_.connect(reading());
    set_up(bytes, how == Ending::kUnbind, qp.a);
    post(qp, is_read, bytes);
    for (std::uint64_t steps = random_.below(12); steps > 0; --steps) pair_.step();
    end(how);
    const std::vector<std::byte> after = there_;
    const bool is_done = !pair_.b().sent.empty();
    ASSERT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
    const WcStatus status = pair_.b().sent[0].status;
    ASSERT_TRUE(status == WcStatus::kSuccess || status == WcStatus::kRemoteAccess) << name(status);
    ASSERT_EQ(there_, after) << "a byte changed after the end";
    if (status == WcStatus::kSuccess) {
      ++whole;
      ASSERT_EQ(there_, from_) << (is_read ? "read" : "write");
      if (is_read) {
        ASSERT_EQ(into_, from_);
      }
    } else {
      ++refused;
      ASSERT_FALSE(is_done);
    }
    clear(qp);
  }
  int whole = 0, refused = 0;

 private:
  void set_up(std::size_t bytes, bool by_window, Qpn at_a) {
    Mrwt& memory = pair_.a().adapter->memory();
    from_.resize(bytes);
    for (std::byte& b : from_) b = static_cast<std::byte>(random_.below(255) + 1);
    there_.assign(bytes, std::byte{0});
    into_.assign(bytes, std::byte{0});
    region_ =
        memory.regions().register_region(pair_.a().pd, there_, kAccessRights | kWindowBind).value();
    start_ = memory.start_of(region_);
    used_ = region_;
    if (!by_window) return;
    used_ = memory.windows()
                .bind_window(pair_.a().pd, region_, start_, bytes, kRemoteRead | kRemoteWrite, at_a)
                .value();
    EXPECT_FALSE(memory.regions().deregister(region_)) << "a window is bound to it";
  }
  void post(const QpPair& qp, bool is_read, std::size_t bytes) {
    Mrwt& memory = pair_.b().adapter->memory();
    if (is_read) there_ = from_;
    std::vector<std::byte>& mine = is_read ? into_ : from_;
    mine_ = memory.regions().register_region(pair_.b().pd, mine, kAccessRights).value();
    const Sge piece{memory.start_of(mine_), static_cast<std::uint32_t>(bytes), mine_};
    pair_.b().sent.clear();
    if (is_read) {
      const Memory named{.bytes = {}, .handle = used_, .start = start_};
      ASSERT_TRUE(post_read(pair_.b(), qp.b, {piece}, named));
    } else {
      ASSERT_TRUE(pair_.b().post_write(qp.b, {piece}, start_, used_));
    }
  }
  void end(Ending how) {
    Mrwt& memory = pair_.a().adapter->memory();
    switch (how) {
      case Ending::kInvalid:
        ASSERT_TRUE(memory.set_valid(region_, false));
        break;
      case Ending::kDeregister:
        ASSERT_TRUE(memory.regions().deregister(region_));
        break;
      case Ending::kReregister:
        ASSERT_TRUE(memory.regions().reregister(region_, {.rights = kLocalRead}));
        break;
      case Ending::kUnbind:
      case Ending::kCount_:
        ASSERT_TRUE(memory.windows().unbind(used_));
        break;
    }
  }
  void clear(const QpPair& qp) {
    pair_.b().adapter->connections().disconnect(pair_.b().last_connection, pair_.now());
    pair_.a().adapter->destroy_qp(qp.a, pair_.now());
    pair_.b().adapter->destroy_qp(qp.b, pair_.now());
    pair_.a().adapter->memory().release_domain(pair_.a().pd);
    pair_.b().adapter->memory().release_domain(pair_.b().pd);
    pair_.a().sent.clear();
    pair_.a().received.clear();
    pair_.b().received.clear();
    pair_.run_for(10ms);
  }

  base::Random& random_;
  AdapterPair pair_;
  std::vector<std::byte> from_, there_, into_;
  MemoryHandle region_, used_, mine_;
  VirtualAddress start_;
};

TEST(InvalidateTest, M_11_what_ends_in_mid_transfer_is_whole_or_an_access_error) {
  base::SeededRandom random(11);
  Interleaving one(random);
  for (int i = 0; i < interleavings(); ++i) {
    one.run();
    if (HasFatalFailure()) FAIL() << "interleaving " << i;
  }
  EXPECT_GT(one.whole, interleavings() / 20);
  EXPECT_GT(one.refused, interleavings() / 20);
}

// A quiescable region of end a whose consumer posts RDMA reads of end b's memory into it: work
// that is in flight when the region is to be swapped out.
class SwapTransfer : public ::testing::Test, public IoIssuer, public SwapObserver {
 protected:
  static constexpr std::size_t kPages = 3;
  static constexpr std::size_t kLength = kPages * 4096;

  SwapTransfer() {
    std::vector<std::byte*> pages;
    for (std::size_t i = 0; i < kPages; ++i) pages.push_back(arena_->take());
    region_ = table()
                  .regions()
                  .register_pages(pair_.a().pd, {pages, 12, 0, kLength}, kAccessRights,
                                  {VirtualAddress(0x4000), {}, nullptr, &word_})
                  .value();
    consumer_.add_region(region_, word_);
    EXPECT_TRUE(arbitrator_.adopt(region_, consumer_));
  }
  Mrwt& table() { return pair_.a().adapter->memory(); }
  // The consumer's I/O: read what lies at end b.
  void issue(std::uint64_t id) override {
    const Sge piece{VirtualAddress(0x4000), kLength, region_};
    ASSERT_TRUE(post_read(pair_.a(), qp_.a, {piece}, there_, 0, id));
  }
  // The content of the region while it must not be touched, from quiescent to valid.
  void on_step(MemoryHandle, SwapStep step) override {
    steps_.push_back(step);
    if (step == SwapStep::kInvalid) {
      EXPECT_FALSE(table()
                       .access(region_, VirtualAddress(0x4000), 1, AccessKind::kLocalWrite,
                               pair_.a().pd, Qpn{})
                       .ok());
    }
  }
  // Iterates until `done`; the consumer gets the completions.
  template <typename Done>
  bool run(const Done& done) {
    return pair_.run_until([&] {
      for (const Wc& wc : pair_.a().sent) {
        EXPECT_EQ(wc.status, WcStatus::kSuccess);
        EXPECT_TRUE(consumer_.finish(region_));
        ++finished_;
      }
      pair_.a().sent.clear();
      return done();
    });
  }
  std::vector<std::byte> content() {
    std::vector<std::byte> got(kLength);
    EXPECT_TRUE(
        read_remote(table(), pair_.a().pd, Qpn{}, region_, VirtualAddress(0x4000), got).ok());
    return got;
  }

  AdapterPair pair_{Interleaving::small_cells()};
  QpPair qp_ = pair_.connect(reading());
  Memory& there_ = pair_.b().memory(kLength, 3);
  std::unique_ptr<Arena> arena_ = Arena::make(2 * kPages, 12).value();
  std::atomic<std::uint32_t> word_{0};
  std::vector<SwapStep> steps_;
  SwapArbitrator arbitrator_{table(), *arena_, this};
  IoConsumer consumer_{arbitrator_, *this, 8};
  MemoryHandle region_;
  std::size_t finished_ = 0;
};
using State = SwapArbitrator::State;
constexpr IoCount kRead{.channel = 0, .memory = 1};

TEST_F(SwapTransfer, M_12_a_transfer_in_flight_ends_before_the_region_goes_out) {
  ASSERT_TRUE(consumer_.submit(region_, 1, kRead));
  for (int i = 0; i < 2; ++i) pair_.step();
  ASSERT_TRUE(arbitrator_.request(region_, pair_.now(), 1s));
  EXPECT_EQ(arbitrator_.state(region_), State::kQuiescing);
  ASSERT_TRUE(consumer_.submit(region_, 2, kRead)) << "queued, not issued";
  EXPECT_EQ(consumer_.queued(), 1U);
  ASSERT_TRUE(run([&] { return finished_ == 1; }));
  EXPECT_EQ(arbitrator_.state(region_), State::kOut) << "not before the transfer had ended";
  EXPECT_EQ(arena_->free_frames(), 2 * kPages);
  EXPECT_EQ(arbitrator_.bring_back(), 1U) << "it is wanted: a request waits";
  there_.fill(4);
  ASSERT_TRUE(run([&] { return finished_ == 2; }));
  EXPECT_EQ(content(), there_.bytes);
  const auto at = [&](SwapStep step) { return std::ranges::find(steps_, step) - steps_.begin(); };
  EXPECT_LT(at(SwapStep::kQuiescent), at(SwapStep::kInvalid));
  EXPECT_LT(at(SwapStep::kFreed), at(SwapStep::kTaken));
  EXPECT_LT(at(SwapStep::kValid), at(SwapStep::kWoken));
}

TEST_F(SwapTransfer, M_12_moved_frames_serve_the_next_transfer_with_equal_data) {
  ASSERT_TRUE(consumer_.submit(region_, 1, kRead));
  ASSERT_TRUE(run([&] { return finished_ == 1; }));
  const auto before = content();
  const Att& att = *table().entry(region_)->att;
  ASSERT_TRUE(arbitrator_.request(region_, pair_.now(), 1s));
  ASSERT_EQ(arbitrator_.state(region_), State::kOut);
  // Somebody else gets the frames and writes there.
  std::vector<std::byte*> taken;
  for (std::size_t i = 0; i < kPages; ++i) {
    taken.push_back(arena_->take());
    std::memset(taken.back(), 0xEE, 4096);
  }
  ASSERT_TRUE(arbitrator_.interest(region_));
  ASSERT_EQ(arbitrator_.state(region_), State::kIn);
  EXPECT_NE(att.page(0), taken[0]);
  EXPECT_EQ(content(), before);
  there_.fill(8);
  ASSERT_TRUE(consumer_.submit(region_, 2, kRead));
  ASSERT_TRUE(run([&] { return finished_ == 2; }));
  EXPECT_EQ(content(), there_.bytes);
  for (std::byte* frame : taken) {
    EXPECT_TRUE(std::all_of(frame, frame + 4096, [](std::byte b) { return b == std::byte{0xEE}; }));
  }
}

// The peer is gone, so the transfer does not end: the region stays in, and nothing hangs.
TEST_F(SwapTransfer, M_12_a_quiesce_that_takes_too_long_is_an_error_and_the_region_stays) {
  ASSERT_TRUE(consumer_.submit(region_, 1, kRead));
  pair_.step();
  pair_.b().faults.set_config({.loss_ppm = 1'000'000});
  ASSERT_TRUE(arbitrator_.request(region_, pair_.now(), 100ms));
  const base::Time deadline = arbitrator_.deadline();
  EXPECT_EQ(deadline, pair_.now() + 100ms);
  pair_.run_for(100ms);
  const auto expired = arbitrator_.expire(pair_.now());
  ASSERT_EQ(expired.size(), 1U);
  EXPECT_EQ(expired[0].region, region_);
  EXPECT_EQ(arbitrator_.state(region_), State::kIn);
  EXPECT_EQ(arbitrator_.deadline(), base::kNever);
  pair_.b().faults.set_config({});
  ASSERT_TRUE(run([&] { return finished_ == 1; }));
  EXPECT_EQ(content(), there_.bytes);
}

}  // namespace splitnic::fabric::testing::invalidate_test
