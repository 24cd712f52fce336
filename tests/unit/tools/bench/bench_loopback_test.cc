// Both sides of a measurement of `splitnic bench` in one adapter, over its loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>

#include "tools/bench/bench_service.h"
#include "tools/bench/measure.h"

namespace splitnic::bench::bench_loopback_test {
namespace {

using fabric::Service;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

Run run_of(Service service, Op op, std::size_t bytes) {
  Run run;
  run.service = service;
  run.op = op;
  run.bytes = op == Op::kFetchOp ? kFetchOpBytes : bytes;
  run.is_loopback = true;
  run.seconds = 0.01;
  return run;
}

EndConfig config_of(bool spins) {
  EndConfig config;
  config.eui64 = fabric::Eui64(0x0200000000000007ULL);
  config.is_active = true;
  config.spins = spins;
  return config;
}

void expect_measured(const Run& run, bool spins) {
  SCOPED_TRACE(std::string(word_of(run.service)) + " " + std::string(name(run.op)) + " " +
               std::to_string(run.bytes));
  FabricEnd both(config_of(spins));
  const auto connected = both.connect_loopback(run, 10s);
  ASSERT_TRUE(connected.has_value()) << connected.error().text();
  const auto row = measure(both, run);
  ASSERT_TRUE(row.has_value()) << row.error().text();
  EXPECT_EQ(row->carrier, "loopback");
  EXPECT_GT(row->messages, 0U);
  EXPECT_GT(row->median_us, 0);
  if (is_reliable(run.service)) {
    EXPECT_FALSE(row->lost.has_value());
  }
  both.disconnect();
}

TEST(BenchLoopbackTest, S000_11_two_queue_pairs_of_one_adapter_are_measured) {
  for (const Op op : {Op::kWrite, Op::kSend, Op::kRead, Op::kFetchOp}) {
    for (const bool spins : {false, true}) expect_measured(run_of(Service::kRc, op, 5000), spins);
  }
}

TEST(BenchLoopbackTest, S000_11_each_service_reaches_its_own_adapter) {
  for (const Service service : {Service::kUc, Service::kUd, Service::kRd, Service::kStream}) {
    for (const Op op : {Op::kWrite, Op::kSend, Op::kRead, Op::kFetchOp}) {
      if (check_run(service, op, 1)) expect_measured(run_of(service, op, 64), true);
    }
  }
}

TEST(BenchLoopbackTest, S000_11_the_checks_are_those_of_any_other_peer) {
  FabricEnd no_read(config_of(true));
  const auto refused = no_read.connect_loopback(run_of(Service::kUc, Op::kRead, 64), 10s);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().text(), HasSubstr("UC has no read"));
  FabricEnd two_cells(config_of(true));
  const auto too_long = two_cells.connect_loopback(run_of(Service::kUd, Op::kSend, 100'000), 10s);
  ASSERT_FALSE(too_long.has_value());
  EXPECT_EQ(too_long.error().errno_value(), EMSGSIZE);
}

}  // namespace
}  // namespace splitnic::bench::bench_loopback_test
