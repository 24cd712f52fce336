// Header prediction at the sending side: the bytes on the wire are those of cell by cell.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing::sent_runs_test {

using namespace std::chrono_literals;

// The sending side, over a path with faults: both ends predict or none does, and each end sends the
// same bytes in the same order at the same time.
struct PathCase {
  std::string name;
  FaultConfig faults;
  std::uint16_t mcp = 0;
  LinkProfile profile = LinkProfile::kSpeed;
  bool has_runs = true;
  bool selective_repeat = true;
};
std::ostream& operator<<(std::ostream& out, const PathCase& c) { return out << c.name; }

struct Outcome {
  std::vector<std::vector<std::byte>> cells;
  std::vector<std::byte> memory;
  std::string counters;
  std::uint64_t predicted = 0;
};

Outcome send_over(const PathCase& path, std::uint64_t seed, bool predicts) {
  PairOptions options;
  options.seed = seed;
  options.mcp = path.mcp;
  options.profile = path.profile;
  options.limits.predicts_headers = predicts;
  AdapterPair pair(options);
  QpInit init;
  init.window_bytes_max = 20'000;
  init.selective_repeat = path.selective_repeat;
  const QpPair qp = pair.connect(init);
  Memory& to = pair.a().memory(100'000);
  Memory& from = pair.b().memory(100'000, seed);
  for (End* end : {&pair.a(), &pair.b()}) {
    end->faults.set_config(path.faults);
    end->tap.is_recording = true;
  }
  base::SeededRandom random(seed);
  std::size_t posted = 0;
  for (; posted < 30; ++posted) {
    std::vector<Sge> gather;
    std::size_t bytes = 0;
    for (std::uint64_t pieces = 1 + random.below(3); pieces > 0; --pieces) {
      const std::size_t length = random.below(12'000);
      gather.push_back(from.sge(random.below(80'000), length));
      bytes += length;
    }
    const base::Status posted_one =
        pair.b().post_write(qp.b, gather, to.at(random.below(60'000)), to.handle, posted);
    CHECK(posted_one.has_value() && bytes < 40'000);
  }
  CHECK(pair.run_until([&] { return pair.b().sent.size() == posted; }));
  Outcome out;
  for (End* end : {&pair.a(), &pair.b()}) {
    for (TappedCell& cell : end->tap.cells) {
      if (cell.sent) out.cells.push_back(std::move(cell.bytes));
    }
    end->adapter->visit_counters([&](std::string_view name, std::uint64_t value) {
      if (!name.ends_with(".predicted")) {
        out.counters += std::string(name) + " " + std::to_string(value) + "\n";
      }
    });
  }
  out.memory = to.bytes;
  out.predicted = pair.b().count(TransportCounter::kTxPredicted);
  return out;
}

class RunsOnAPath : public ::testing::TestWithParam<PathCase> {};

TEST_P(RunsOnAPath, S001_35_every_cell_is_sent_as_cell_by_cell) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome with = send_over(GetParam(), seed, true);
    const Outcome without = send_over(GetParam(), seed, false);
    ASSERT_EQ(with.cells.size(), without.cells.size()) << "seed " << seed;
    for (std::size_t i = 0; i < with.cells.size(); ++i) {
      ASSERT_EQ(with.cells[i], without.cells[i]) << "seed " << seed << ", cell " << i;
    }
    ASSERT_EQ(with.memory, without.memory) << "seed " << seed;
    ASSERT_EQ(with.counters, without.counters) << "seed " << seed;
    EXPECT_EQ(with.predicted > 0, GetParam().has_runs);
    EXPECT_EQ(without.predicted, 0U);
  }
}

FaultConfig loss(std::uint32_t ppm) {
  FaultConfig f;
  f.loss_ppm = ppm;
  return f;
}
FaultConfig everything() {
  FaultConfig f = loss(10'000);
  f.duplicate_ppm = f.reorder_ppm = f.corrupt_ppm = 10'000;
  f.jitter = 100us;
  return f;
}

INSTANTIATE_TEST_SUITE_P(
    All, RunsOnAPath,
    ::testing::Values(PathCase{"clean", {}}, PathCase{"loss_1", loss(10'000)},
                      PathCase{"loss_5", loss(50'000)}, PathCase{"everything", everything()},
                      PathCase{"go_back_n", loss(20'000), 0, LinkProfile::kSpeed, true, false},
                      PathCase{"cells_of_256", loss(10'000), 256},
                      PathCase{"full_profile_has_packet_crcs", {}, 0, LinkProfile::kFull, false}),
    [](const auto& test) { return test.param.name; });

// Where cells pass switches, only the packet CRC is end to end.
TEST(SentRuns, S001_38_queue_pairs_over_links_with_credits_send_packet_crcs_unasked) {
  for (const LinkProfile profile : {LinkProfile::kSpeed, LinkProfile::kFull}) {
    PairOptions options;
    options.profile = profile;
    AdapterPair pair(options);
    const QpPair qp = pair.connect({});
    EXPECT_EQ(pair.a().qp(qp.a).sends_packet_crc(), profile == LinkProfile::kFull);
  }
}

TEST(SentRuns, S002_19_memory_that_is_deregistered_in_the_middle_of_a_run_fails_the_post) {
  AdapterPair pair;
  QpInit init;
  init.window_bytes_max = 20'000;  // the run has to wait for ACKs
  const QpPair qp = pair.connect(init);
  Memory& to = pair.a().memory(100'000);
  Memory& from = pair.b().memory(100'000, 1);
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, 5));
  ASSERT_TRUE(pair.run_until([&] { return pair.b().count(TransportCounter::kTxPredicted) > 20; }));
  ASSERT_TRUE(pair.b().adapter->memory().regions().deregister(from.handle));
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 1; }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kLocalProtection);
  EXPECT_EQ(pair.b().qp(qp.b).state(), QpState::kErr);
}

}  // namespace splitnic::fabric::testing::sent_runs_test
