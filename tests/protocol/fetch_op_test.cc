// FetchOp: atomic, returns the old value, executed once however often its cells are lost.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/adapter_pair.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::fetch_op_test {

using namespace std::chrono_literals;

TEST(FetchOpTest, S000_05_each_operation_returns_the_old_value) {
  AdapterPair pair;
  const QpPair qp = pair.connect(reading());
  Memory& there = pair.a().memory(64);
  Memory& here = pair.b().memory(64);
  set_word(there, 40, 8);
  const auto run = [&](const AtomicExt& fetch) {
    pair.b().sent.clear();
    EXPECT_TRUE(post_fetch(pair.b(), qp.b, here, fetch, there.at(8), there.handle, 0, 16));
    EXPECT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
    EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
    EXPECT_EQ(pair.b().sent[0].op, WcOp::kFetchOp);
    EXPECT_EQ(pair.b().sent[0].bytes, 8U);
    return word_of(here, 16);
  };
  EXPECT_EQ(run({FetchOp::kFetchAdd, 2, 0}), 40U);
  EXPECT_EQ(run({FetchOp::kCompareSwap, 41, 99}), 42U);
  EXPECT_EQ(word_of(there, 8), 42U) << "not equal: not swapped";
  EXPECT_EQ(run({FetchOp::kCompareSwap, 42, 99}), 42U);
  EXPECT_EQ(run({FetchOp::kSwap, 7, 0}), 99U);
  EXPECT_EQ(run({FetchOp::kFetchAdd, ~std::uint64_t{0}, 0}), 7U);
  EXPECT_EQ(word_of(there, 8), 6U);
  EXPECT_EQ(word_of(there, 0), 0U);
  EXPECT_EQ(word_of(there, 16), 0U);
}

// Adds one by compare-and-swap, as often as another got there first.
class Incrementer {
 public:
  Incrementer(End& end, Qpn qpn, const Memory& counter)
      : end_(end), qpn_(qpn), counter_(counter), old_(end.memory(8)) {}
  std::uint64_t done = 0;
  std::uint64_t lost_races = 0;

  void step(std::uint64_t wanted) {
    if (is_open_) {
      if (end_.sent.empty()) return;
      EXPECT_EQ(end_.sent[0].status, WcStatus::kSuccess);
      end_.sent.clear();
      const std::uint64_t old = word_of(old_);
      ++(old == guess_ ? done : lost_races);
      guess_ = old == guess_ ? old + 1 : old;
      is_open_ = false;
    }
    if (done == wanted) return;
    EXPECT_TRUE(post_fetch(end_, qpn_, old_, {FetchOp::kCompareSwap, guess_, guess_ + 1},
                           counter_.start, counter_.handle));
    is_open_ = true;
  }

 private:
  End& end_;
  Qpn qpn_;
  const Memory& counter_;
  Memory& old_;
  std::uint64_t guess_ = 0;
  bool is_open_ = false;
};

void count_to_20000(const FaultConfig& faults, std::uint64_t each) {
  PairOptions options;
  options.ends = 3;
  AdapterPair pair(options);
  const auto one = pair.connect_all({reading()}, 1);
  const auto two = pair.connect_all({reading()}, 2);
  ASSERT_TRUE(one.size() == 1 && two.size() == 1);
  Memory& counter = pair.a().memory(8);
  for (std::size_t i = 0; i < 3; ++i) pair.end(i).faults.set_config(faults);
  Incrementer first(pair.end(1), one[0].b, counter);
  Incrementer second(pair.end(2), two[0].b, counter);
  ASSERT_TRUE(pair.run_until(
      [&] {
        first.step(each);
        second.step(each);
        return first.done == each && second.done == each;
      },
      600s));
  EXPECT_EQ(word_of(counter), 2 * each);
  EXPECT_GT(first.lost_races + second.lost_races, 0U) << "they never met";
}

TEST(FetchOpTest, S000_05_two_nodes_count_to_20000) { count_to_20000({}, 10'000); }

TEST(FetchOpTest, S000_05_two_nodes_over_a_bad_path) {
  FaultConfig faults;
  faults.loss_ppm = 100'000;
  faults.duplicate_ppm = 100'000;
  faults.reorder_ppm = 50'000;
  count_to_20000(faults, 500);
}

// The responses are lost ten times; the word changes once, and the value is that of the first time.
TEST(FetchOpTest, T_23_applied_once_however_often_the_response_is_lost) {
  for (const FetchOp op : {FetchOp::kFetchAdd, FetchOp::kCompareSwap, FetchOp::kSwap}) {
    AdapterPair pair;
    QpInit init = reading();
    init.common.fixed_rto = 2ms;
    const QpPair qp = pair.connect(init);
    Memory& there = pair.a().memory(8);
    Memory& here = pair.b().memory(8, 1);
    set_word(there, 5);
    pair.b().faults.set_config({.loss_ppm = 1'000'000});
    pair.b().tap.is_recording = true;
    ASSERT_TRUE(post_fetch(pair.b(), qp.b, here, {op, 5, 6}, there.start, there.handle));
    const auto requests = [&] {
      return std::ranges::count_if(pair.b().tap.cells, [](const TappedCell& cell) {
        return cell.sent && cell.header().op == Op::kFetchOpReq;
      });
    };
    ASSERT_TRUE(pair.run_until([&] { return requests() == 11; }));
    const std::uint64_t after = word_of(there);
    EXPECT_EQ(after, op == FetchOp::kFetchAdd ? 10U : op == FetchOp::kSwap ? 5U : 6U);
    set_word(there, 1000);  // a second execution would show
    pair.b().faults.set_config({});
    ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
    EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
    EXPECT_EQ(word_of(here), 5U);
    EXPECT_EQ(word_of(there), 1000U);
  }
}

TEST(FetchOpTest, S000_05_the_response_is_eight_bytes) {
  AdapterPair pair;
  const QpPair qp = pair.connect(reading());
  Memory& there = pair.a().memory(8);
  Memory& here = pair.b().memory(16);
  SendWr wr;
  wr.op = WrOp::kFetchOp;
  for (const std::size_t bytes : {0U, 4U, 9U, 16U}) {
    const std::vector<Sge> pieces{here.sge(0, bytes)};
    wr.gather = pieces;
    wr.remote_address = there.start;
    wr.remote_handle = there.handle;
    EXPECT_FALSE(pair.b().adapter->post_send(qp.b, wr)) << bytes;
  }
}

}  // namespace splitnic::fabric::testing::fetch_op_test
