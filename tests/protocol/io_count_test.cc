// A command, the RDMA read of its data and its response against one quiescable region, over the
// fabric: end b is the guest that counts them, end a the device. The region goes out when the count
// permits it and not before, and then the device's cells are refused.
#include <gtest/gtest.h>

#include "fabric_emul/paging/io_consumer.h"
#include "tests/support/adapter_pair.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::io_count_test {

using namespace std::chrono_literals;
using State = SwapArbitrator::State;

class IoCountTest : public ::testing::Test, private IoIssuer {
 protected:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kPages = 3;  // of the command, of the data, of the status
  static constexpr IoCount kCommand{.channel = 2, .memory = 1};

  IoCountTest() {
    std::vector<std::byte*> pages;
    for (std::size_t i = 0; i < kPages; ++i) pages.push_back(arena_->take());
    for (std::size_t i = 0; i < kPages * kPage; ++i) pages[i / kPage][i % kPage] = pattern(5, i);
    region_ = table()
                  .regions()
                  .register_pages(pair_.b().pd, {pages, 12, 0, kPages * kPage}, kAccessRights,
                                  {{}, {}, nullptr, &word_})
                  .value();
    consumer_.add_region(region_, word_);
    EXPECT_TRUE(arbitrator_.adopt(region_, consumer_));
  }
  Mrwt& table() { return pair_.b().adapter->memory(); }
  // A page of the region, as work requests name it.
  Sge page(std::size_t number, std::uint32_t length) {
    return {VirtualAddress(table().start_of(region_).value + number * kPage), length, region_};
  }
  // The guest starts the command: room for its status, then the command itself.
  void issue(std::uint64_t id) override {
    EXPECT_TRUE(pair_.a().post_recv(qp_.a, {command_.sge()}));
    EXPECT_TRUE(pair_.b().post_recv(qp_.b, {page(2, 16)}, id));
    EXPECT_TRUE(pair_.b().post_send(qp_.b, {page(0, 64)}, id));
  }
  // The device reads the data; returns the status.
  WcStatus read_data(Qpn qpn) {
    disk_.clear();
    pair_.a().sent.clear();
    const Memory data{.bytes = {}, .handle = region_, .start = table().start_of(region_)};
    EXPECT_TRUE(post_read(pair_.a(), qpn, {disk_.sge()}, data, kPage));
    EXPECT_TRUE(pair_.run_until([&] { return !pair_.a().sent.empty(); }));
    return pair_.a().sent.empty() ? WcStatus::kFlushed : pair_.a().sent[0].status;
  }
  bool disk_holds_data() const {
    for (std::size_t i = 0; i < disk_.bytes.size(); ++i) {
      if (disk_.bytes[i] != pattern(5, kPage + i)) return false;
    }
    return true;
  }

  AdapterPair pair_;
  QpPair qp_ = pair_.connect(reading(4));
  std::unique_ptr<Arena> arena_ = Arena::make(4, 12).value();
  std::atomic<std::uint32_t> word_{0};
  SwapArbitrator arbitrator_{table(), *arena_};
  IoConsumer consumer_{arbitrator_, *this, 4};
  MemoryHandle region_;
  Memory& command_ = pair_.a().memory(64);
  Memory& disk_ = pair_.a().memory(kPage);
  Memory& status_ = pair_.a().memory(16, 8);
};

TEST_F(IoCountTest, S004_11_S004_13_each_kind_of_io_holds_the_region_until_it_has_completed) {
  ASSERT_TRUE(consumer_.submit(region_, 1, kCommand));
  ASSERT_EQ(consumer_.outstanding(), 3U);
  ASSERT_TRUE(
      pair_.run_until([&] { return !pair_.b().sent.empty() && !pair_.a().received.empty(); }));
  ASSERT_TRUE(consumer_.finish(region_)) << "the command was sent";
  EXPECT_EQ(consumer_.outstanding(), 2U);

  ASSERT_TRUE(arbitrator_.request(region_, pair_.now(), 10s));
  EXPECT_EQ(arbitrator_.state(region_), State::kQuiescing);
  EXPECT_EQ(read_data(qp_.a), WcStatus::kSuccess) << "the read was counted: its memory stays";
  EXPECT_TRUE(disk_holds_data());

  ASSERT_TRUE(pair_.a().post_send(qp_.a, {status_.sge()}));
  ASSERT_TRUE(pair_.run_until([&] { return !pair_.b().received.empty(); }));
  EXPECT_EQ(pair_.b().received[0].status, WcStatus::kSuccess);
  ASSERT_TRUE(consumer_.finish(region_)) << "the status shows that the read is over";
  EXPECT_EQ(consumer_.outstanding(), 1U);
  EXPECT_EQ(arbitrator_.state(region_), State::kQuiescing);
  ASSERT_TRUE(consumer_.finish(region_)) << "and it is here";
  EXPECT_EQ(consumer_.outstanding(), 0U);
  EXPECT_EQ(arbitrator_.state(region_), State::kOut);
  EXPECT_EQ(arena_->free_frames(), 4U);
}

TEST_F(IoCountTest, S004_14_S004_15_a_cell_for_a_region_that_is_out_is_refused_and_serves_later) {
  ASSERT_TRUE(arbitrator_.request(region_, pair_.now(), 1s));
  ASSERT_EQ(arbitrator_.state(region_), State::kOut);
  EXPECT_EQ(read_data(qp_.a), WcStatus::kRemoteAccess);
  EXPECT_TRUE(disk_.is_zero());
  EXPECT_EQ(pair_.b().count(TransportCounter::kDropAccess), 1U);
  EXPECT_EQ(pair_.b().count(TransportCounter::kTxNaks), 1U);

  ASSERT_TRUE(arbitrator_.interest(region_));
  ASSERT_EQ(arbitrator_.state(region_), State::kIn);
  const QpPair again = pair_.connect(reading(4));  // the refusal ended the first
  EXPECT_EQ(read_data(again.a), WcStatus::kSuccess) << "the same key";
  EXPECT_TRUE(disk_holds_data());
}

}  // namespace splitnic::fabric::testing::io_count_test
