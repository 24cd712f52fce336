// The suite against the I/O unit and the host of the full profile, in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <utility>

#include "conformance/report/decode.h"
#include "conformance/selection.h"
#include "conformance/suite.h"
#include "conformance/unit_suite.h"
#include "tests/conformance/faults.h"
#include "tests/conformance/host_target.h"
#include "tests/conformance/run_cases.h"
#include "tests/conformance/unit_target.h"

namespace splitnic::conformance::lane_suite_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Report run_unit(UnitTarget& target, const std::vector<std::string>& wanted = {}) {
  const auto lines = target.lines();
  Suite suite(lines, {.timeout = 1s});
  EXPECT_TRUE(suite.is_reachable());
  return run_cases(suite, select(cases(), wanted, {}));
}

Report run_host(HostTarget& target, const std::vector<std::string>& wanted = {}) {
  UnitSuite suite(target.line(), {.timeout = 1s});
  EXPECT_TRUE(suite.is_reachable());
  return run_cases(suite, select(cases(Role::kUnit), wanted, {}));
}

TEST(ConformanceLanes, every_case_passes_against_the_unit_of_the_full_profile) {
  UnitTarget target({.is_full = true});
  const Report report = run_unit(target);
  EXPECT_EQ(failures_of(report), "");
  EXPECT_GE(report.count(Verdict::kPass), 360U);
}

TEST(ConformanceLanes, every_case_passes_against_the_keyed_unit_of_the_full_profile) {
  UnitTarget target({.is_keyed = true, .is_full = true});
  EXPECT_EQ(not_passed(run_unit(target, {"lane", "rc", "loss"})), "");
}

TEST(ConformanceLanes, every_case_passes_against_the_host_of_the_full_profile) {
  HostTarget target({.is_full = true});
  const Report report = run_host(target);
  EXPECT_EQ(failures_of(report), "");
  EXPECT_GE(report.count(Verdict::kPass), 305U);
}

TEST(ConformanceLanes, cases_of_another_profile_are_skipped_with_the_reason) {
  UnitTarget speed({});
  const Report of_speed = run_unit(speed, {"lane.gap", "lane.of_service_level"});
  ASSERT_EQ(of_speed.results.size(), 2U);
  EXPECT_EQ(of_speed.results[0].verdict, Verdict::kPass);
  EXPECT_EQ(of_speed.results[1].expected, "for links of the full profile");
  UnitTarget full({.is_full = true});
  const Report of_full = run_unit(full, {"flit.good"});
  EXPECT_EQ(of_full.results.at(0).expected, "for links of the speed and shm profiles");
}

// A host that was slow to read CHALLENGE has sent HELLO once more behind its ANSWER: the lanes of
// both ends stay those of ANSWER. The host retransmits the flit in whose place HELLO comes.
TEST(ConformanceLanes, P_INIT_10_a_late_hello_does_not_restart_the_lanes_of_the_suite) {
  RelayBytes hello;
  std::optional<std::uint64_t> nonce;
  bool is_due = false;
  const Rule repeats_hello = [&](To to, RelayBytes& datagram) {
    fabric::FlitView flit;
    fabric::Init init;
    if (to != To::kSuite) return true;
    if (std::exchange(is_due, false)) datagram = hello;
    if (fabric::parse_flit(datagram, flit) != fabric::FlitError::kNone ||
        flit.header.type != fabric::FlitType::kInit ||
        fabric::parse_init(flit.payload, init) != fabric::InitError::kNone) {
      return true;
    }
    if (init.step == fabric::InitStep::kHello && hello.empty()) hello = datagram;
    if (init.step == fabric::InitStep::kAnswer && !nonce) {
      nonce = init.nonce;
      is_due = true;
    }
    return true;
  };
  HostTarget target({.rule = repeats_hello, .is_full = true});
  UnitSuite suite(target.line(), {.timeout = 1s});
  ASSERT_TRUE(suite.is_reachable());
  ASSERT_TRUE(nonce);
  EXPECT_EQ(target.line().lanes().nonce(), *nonce);
}

// The suite retransmits what it has sent, so a right target does not fail for a flit that was
// lost. Each flit of a data lane is lost once.
TEST(ConformanceLanes, wrong_flits_that_are_lost_come_again_as_they_were) {
  const Rule loses_first =
      flit_rule(To::kTarget, [known = std::set<std::uint32_t>()](const fabric::FlitHeader& header,
                                                                 RelayBytes&, RelayBytes&) mutable {
        return header.vl == fabric::kMgmtLane || !known.insert(header.lsn.value).second;
      });
  UnitTarget target({.rule = loses_first, .is_full = true});
  EXPECT_EQ(not_passed(run_unit(
                target, {"lane.without_first", "lane.without_last", "lane.behind_half_a_cell"})),
            "");
}

// The rule of every case: it holds for the last block, and breaks for the next one.
TEST(ConformanceLanes, P_LINK_28_a_block_more_than_was_granted_is_noticed) {
  constexpr std::uint8_t kLane = 3;
  const base::Time now{};
  for (const std::uint32_t granted : {4U, 3U}) {
    LaneTerms terms{.lanes = 1U << kLane, .flit_payload_max = 256, .granted = granted};
    Lanes suite;
    suite.start(now, terms, 0x12345678, false);
    terms.target_granted = 100;
    Lanes target;
    target.start(now, terms, 0x12345678, true);
    target.post(kLane, std::vector<std::byte>(256));
    const auto bytes = target.next(now);
    ASSERT_TRUE(bytes);
    fabric::FlitView flit;
    ASSERT_EQ(fabric::parse_flit(*bytes, flit), fabric::FlitError::kNone);
    EXPECT_EQ(suite.take(now, flit).broken, granted == 4 ? "" : "no more blocks than were granted");
  }
}

// Each flit of both sides has its place in the report, whole cell or not.
TEST(ConformanceLanes, a_part_of_a_cell_is_decoded_as_one) {
  UnitTarget target({.is_full = true});
  const Report report = run_unit(target, {"lane.flit_payload"});
  std::string labels;
  for (const Exchanged& one : report.results.at(0).transcript.all()) {
    labels += decode(one.bytes).label + "\n";
  }
  EXPECT_THAT(labels, HasSubstr("first part of a cell, lane 3, LSN "));
  EXPECT_THAT(labels, HasSubstr("last part of a cell, lane 3, LSN "));
  EXPECT_THAT(labels, testing::Not(HasSubstr("not valid")));
}

}  // namespace
}  // namespace splitnic::conformance::lane_suite_test
