// The whole suite against the I/O unit in this process, with and without keys; the engine against
// targets that are silent, flood or hang; selections and reports.
#include "conformance/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/report/decode.h"
#include "conformance/report/report.h"
#include "conformance/report/reports.h"
#include "conformance/selection.h"
#include "tests/conformance/dying_target.h"
#include "tests/conformance/faults.h"
#include "tests/conformance/run_suite.h"

namespace splitnic::conformance::suite_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(ConformanceSuite, every_case_passes_against_the_unit) {
  UnitTarget target({});
  const Report report = run(target);
  EXPECT_EQ(failures_of(report), "");
  expect_complete(report, 310);
}

TEST(ConformanceSuite, every_case_passes_against_the_keyed_unit) {
  UnitTarget target({.is_keyed = true});
  const Report report = run(target);
  EXPECT_EQ(failures_of(report), "");
  expect_complete(
      report, 350,
      "keys at the responder: previous to ended, 10 s: it takes ten seconds\n"
      "keys at the responder: current to ended, 180 s, 2^28 records: it takes three minutes\n");
}

// The EUI-64 of a key may begin with any byte, also with the one that these cases once wrote there.
TEST(ConformanceSuite, a_request_of_another_eui64_is_one_whatever_the_eui64_is) {
  for (const bool is_keyed : {false, true}) {
    UnitTarget target({.is_keyed = is_keyed, .eui64_begins = 0x55});
    const Report report = run(target, {"cm.other_eui64", "cm.other_target"});
    EXPECT_EQ(not_passed(report), "");
    EXPECT_EQ(report.count(Verdict::kPass), 2U);
  }
}

// Each flit in a separate datagram, as another implementation may send them.
TEST(ConformanceSuite, every_case_passes_through_a_relay_that_changes_nothing) {
  UnitTarget target({.rule = [](To, RelayBytes&) { return true; }});
  EXPECT_EQ(failures_of(run(target)), "");
}

TEST(ConformanceSuite, every_case_passes_over_a_path_with_a_delay) {
  for (const base::Duration delay : {5ms, 25ms}) {
    UnitTarget target({.delay = delay});
    EXPECT_EQ(failures_of(run(target)), "") << delay / 1ms << " ms";
  }
}

// BYE of each case is lost, so DISC_REP comes in the middle of the handshake of the next one.
TEST(ConformanceSuite, a_reply_that_a_link_has_left_is_none_on_the_next_link) {
  std::size_t left = 0;
  const Rule of_disc = mgmt_rule(To::kSuite, [&left](const fabric::Mgmt& mgmt) {
    left += mgmt.kind == fabric::MgmtKind::kDiscRep ? 1U : 0U;
    return true;
  });
  const Rule no_bye = init_rule(
      To::kTarget, [](const fabric::Init& init) { return init.step != fabric::InitStep::kBye; });
  UnitTarget target({.rule = [&](To to, RelayBytes& datagram) {
    return of_disc(to, datagram) && no_bye(to, datagram);
  }});
  EXPECT_EQ(failures_of(run(target, {"frame", "msg"})), "");
  EXPECT_GT(left, 5U);
}

TEST(ConformanceSuite, ids_are_unique_and_every_case_has_a_clause) {
  expect_described(cases());
  // As README.md and docs/conformance.md have it.
  EXPECT_GE(cases().size(), 400U);
  EXPECT_GE(cases(Role::kUnit).size(), 300U);
  EXPECT_GE(cases(Role::kNodes).size(), 80U);
  EXPECT_GE(cases(Role::kSubnet).size(), 140U);
}

TEST(ConformanceSuite, the_same_seed_sends_the_same_bytes) {
  UnitTarget one({}), two({});
  const Report first = run(one, {"rc.early"});
  const Report second = run(two, {"rc.early"});
  expect_same_bytes(first, second);
}

// The random numbers of a case follow from the seed.
TEST(ConformanceSuite, another_seed_sends_other_bytes) {
  const auto fence = [](std::uint64_t seed) {
    UnitTarget target({});
    const auto lines = target.lines();
    Suite suite(lines, {.timeout = 1s, .seed = seed});
    const Report report = run_cases(suite, select(cases(), {"cm.format"}, {}));
    std::vector<std::vector<std::byte>> sent;
    for (const auto& one : report.results.at(0).transcript.all()) {
      sent.emplace_back(one.bytes.begin(), one.bytes.end());
    }
    return sent;
  };
  const auto one = fence(1);
  EXPECT_EQ(one, fence(1));
  EXPECT_NE(one, fence(2));
}

TEST(ConformanceSuite, a_silent_target_fails_every_case_and_the_rest_is_skipped) {
  UnitTarget target({});
  target.hang();
  const Report report = run(target, {"link"}, {}, 100ms);
  EXPECT_EQ(report.count(Verdict::kPass), 0U);
  EXPECT_EQ(report.results.front().verdict, Verdict::kWedged);
  EXPECT_EQ(report.results.back().verdict, Verdict::kSkip);
  EXPECT_FALSE(report.is_good());
}

// Every datagram of the target a thousand times, or nothing but garbage: the case ends.
TEST(ConformanceSuite, garbage_ends_the_case_and_not_the_run) {
  UnitTarget target({.rule = [](To to, RelayBytes& datagram) {
    if (to == To::kSuite) std::ranges::fill(datagram, std::byte{0x2A});
    return true;
  }});
  const Report report = run(target, {"link"}, {}, 100ms);
  EXPECT_EQ(report.count(Verdict::kPass), 0U);
  EXPECT_EQ(report.results.size(), select(cases(), {"link"}, {}).size());
}

// A target that sends more than anybody reads.
class Flood final : public fabric::Underlay {
 public:
  explicit Flood(base::ManualClock& clock) : clock_(clock) {
    fabric::emit_flit(idle_, {.type = fabric::FlitType::kIdle, .ctl = fabric::kFlitHeaderCrcOnly});
  }
  SendStatus send(const fabric::PeerAddress&, base::Bytes, std::size_t) override {
    return SendStatus::kSent;
  }
  std::optional<Received> receive() override {
    clock_.advance(20us);
    return Received{idle_, idle_.size(), {}};
  }
  std::size_t datagram_bytes_max(const fabric::PeerAddress&) const override { return 1472; }
  std::size_t receive_buffer_bytes() const override { return 1 << 20; }
  std::string name_of(const fabric::PeerAddress&) const override { return "flood"; }

 private:
  base::ManualClock& clock_;
  std::array<std::byte, fabric::kFlitHeaderBytes> idle_{};
};

TEST(ConformanceSuite, a_flood_ends_the_case_and_not_the_run) {
  base::ManualClock clock;
  Flood flood(clock);
  Carrier carrier(flood, {}, clock, [](base::Time) {});
  Line line(carrier);
  std::array lines{&line};
  Suite suite(lines, {.timeout = 20ms});
  std::size_t results = 0;
  suite.run(select(cases(), {"link", "cfg.echo"}, {}), [&](const CaseResult& result) {
    EXPECT_NE(result.verdict, Verdict::kPass) << result.about.id;
    ++results;
  });
  EXPECT_EQ(results, select(cases(), {"link", "cfg.echo"}, {}).size());
}

// A target that dies of one case: the verdict is WEDGED.
TEST(ConformanceSuite, a_target_that_serves_nobody_afterwards_is_wedged) {
  UnitTarget target({.rule = dies_of_terminate()});
  const Report report = run(target, {"loss.terminate", "cfg.echo"}, {}, 100ms);
  expect_wedged(report);
}

TEST(ConformanceSuite, the_rest_of_a_run_can_be_skipped) {
  UnitTarget target({});
  std::vector<CaseResult> results;
  Suite suite(target.lines(), {.timeout = 100ms});
  suite.run(select(cases(), {"cfg.echo*"}, {}), [&](const CaseResult& result) {
    results.push_back(result);
    suite.skip_rest("enough");
  });
  ASSERT_GE(results.size(), 2U);
  EXPECT_EQ(results[0].verdict, Verdict::kPass);
  for (std::size_t i = 1; i < results.size(); ++i) {
    EXPECT_EQ(results[i].verdict, Verdict::kSkip);
    EXPECT_EQ(results[i].expected, "enough");
  }
}

TEST(ConformanceSuite, cases_are_selected_and_skipped) {
  UnitTarget target({});
  const Report report = run(target, {"cfg.echo*", "link.idle"}, {{"link", "no time"}});
  ASSERT_EQ(report.results.size(), 4U);
  EXPECT_EQ(report.results[0].about.id, "link.idle");
  EXPECT_EQ(report.results[0].verdict, Verdict::kSkip);
  EXPECT_EQ(report.results[0].expected, "no time");
  EXPECT_EQ(report.count(Verdict::kPass), 3U);
  EXPECT_TRUE(report.is_good());
}

TEST(ConformanceSuite, a_run_in_which_nothing_ran_is_not_good) {
  UnitTarget target({});
  EXPECT_FALSE(run(target, {"cfg.echo"}, {{"cfg", "no time"}}).is_good());
}

std::size_t arrows_of(const std::string& page) {
  std::size_t arrows = 0;
  for (std::size_t at = 0; (at = page.find("<path ", at)) != std::string::npos; ++at) ++arrows;
  return arrows;
}

TEST(ConformanceReport, the_page_has_every_message_of_a_case_as_an_arrow) {
  UnitTarget target({});
  const Report report = run(target, {"cfg.echo"});
  const std::string page = html_of(report);
  EXPECT_THAT(page, HasSubstr("<svg "));
  for (const char* label : {"INIT hello", "INIT challenge", "INIT ready", "CONNECT_REQ",
                            "CONNECT_REP", "BufferRecvPool", "ECHO"}) {
    EXPECT_THAT(page, HasSubstr(label));
  }
  EXPECT_EQ(arrows_of(page), report.results[0].transcript.all().size());
}

// A browser does not open the 60,000 datagrams of a run around a manager.
TEST(ConformanceReport, the_page_of_many_cases_shortens_those_that_passed) {
  Report report;
  for (int i = 0; i < 200; ++i) {
    CaseResult result{.about = cases().front(),
                      .verdict = i == 0 ? Verdict::kFail : Verdict::kPass};
    for (int k = 0; k < 150; ++k) {
      result.transcript.add(Direction::kSent, {}, base::Bytes(std::array<std::byte, 4>{}));
    }
    report.results.push_back(result);
  }
  const std::string page = html_of(report);
  EXPECT_EQ(arrows_of(page), 150U + 199 * 100);
  EXPECT_THAT(page, HasSubstr("<p>50 more datagrams are left out.</p>"));
  report.results.resize(10);
  EXPECT_EQ(arrows_of(html_of(report)), 10U * 150);
}

TEST(ConformanceReport, clauses_have_the_worst_verdict_of_their_cases_in_the_order_of_their_ids) {
  Report report;
  const auto add = [&report](const char* id, const char* clause, Verdict verdict) {
    CaseResult result{.verdict = verdict};
    result.about.id = id;
    result.about.clause = clause;
    report.results.push_back(result);
  };
  add("a.1", "P-RC-10", Verdict::kPass);
  add("a.2", "P-RC-9", Verdict::kSkip);
  add("a.3", "P-RC-10", Verdict::kFail);
  add("a.4", "P-RC-10", Verdict::kWarn);
  add("a.5", "P-ACK-2", Verdict::kSkip);
  add("a.6", "P-ACK-2", Verdict::kPass);
  add("a.7", "P-RC-11,P-RC-10", Verdict::kPass);
  const auto clauses = report.clauses();
  ASSERT_EQ(clauses.size(), 4U);
  EXPECT_EQ(clauses[0].clause, "P-ACK-2");
  EXPECT_EQ(clauses[0].verdict, Verdict::kPass);
  EXPECT_EQ(clauses[1].clause, "P-RC-9");
  EXPECT_EQ(clauses[1].verdict, Verdict::kSkip);
  EXPECT_EQ(clauses[2].verdict, Verdict::kFail);
  EXPECT_EQ(clauses[2].cases.size(), 4U);
  EXPECT_EQ(clauses[3].clause, "P-RC-11");
  EXPECT_EQ(clauses[3].verdict, Verdict::kPass);
  EXPECT_THAT(html_of(report), HasSubstr("href=\"#a.3\""));
  EXPECT_THAT(json_of(report),
              HasSubstr(R"({"clause":"P-RC-9","verdict":"SKIP","cases":["a.2"]})"));
  EXPECT_THAT(json_of(report), HasSubstr(R"({"id":"a.7","clauses":["P-RC-11","P-RC-10"],)"));
}

// A run of one case drives the target over some edges, and reports the others as missing.
TEST(ConformanceReport, edges_that_a_run_has_not_reached_are_reported_with_the_reason) {
  UnitTarget target({});
  const Report report = run(target, {"cfg.echo"});
  const std::string text = text_of(report.coverage, true);
  EXPECT_THAT(text, HasSubstr("states   link: 2 of 9 edges"));
  EXPECT_THAT(
      text,
      HasSubstr("UP to SILENT, nothing heard for too long (speed, shm): no case of this run"));
  EXPECT_THAT(text, testing::Not(HasSubstr("the passive side")));
  EXPECT_THAT(json_of(report), HasSubstr("an I/O unit is the passive side"));
  EXPECT_THAT(html_of(report), HasSubstr("<td>2 of 9</td>"));
  EXPECT_LT(Coverage::percent_of(report.coverage), 50U);
}

// A target that never replies to DISC does not show that it has taken it.
TEST(ConformanceReport, an_edge_whose_effect_was_not_seen_was_not_reached) {
  UnitTarget silent({.rule = [](To to, RelayBytes& datagram) {
    fabric::FlitView flit;
    fabric::CellView cell;
    fabric::Mgmt mgmt;
    return to != To::kSuite || fabric::parse_flit(datagram, flit) != fabric::FlitError::kNone ||
           flit.header.type != fabric::FlitType::kData ||
           fabric::parse_cell(flit.payload, cell) != fabric::CellError::kNone ||
           fabric::parse_mgmt(cell.payload, mgmt) != fabric::MgmtError::kNone ||
           mgmt.kind != fabric::MgmtKind::kDiscRep;
  }});
  const Report without = run(silent, {"cm.disc"}, {}, 100ms);
  EXPECT_THAT(not_reached(without), HasSubstr("connection: UP to none, DISC:"));
  UnitTarget good({});
  EXPECT_THAT(not_reached(run(good, {"cm.disc"})),
              testing::Not(HasSubstr("connection: UP to none, DISC:")));
}

TEST(ConformanceReport, text_of_a_target_is_escaped) {
  Report report{.target = "<script>"};
  report.results.push_back({.about = cases().front(),
                            .verdict = Verdict::kFail,
                            .expected = "a & b",
                            .received = "\"<\x01"});
  EXPECT_THAT(html_of(report), testing::Not(HasSubstr("<script>")));
  EXPECT_THAT(junit_of(report), HasSubstr("received: &quot;&lt;?"));
  EXPECT_THAT(junit_of(report), HasSubstr("expected: a &amp; b"));
  EXPECT_THAT(junit_of(report), HasSubstr("failures=\"1\""));
  EXPECT_THAT(json_of(report), HasSubstr(R"("failed":1)"));
  EXPECT_THAT(json_of(report), HasSubstr(R"("expected":"a & b")"));
  EXPECT_THAT(json_of(report), HasSubstr(R"("received":"\"<?")"));
}

TEST(ConformanceReport, a_file_that_cannot_be_written_is_an_error_at_once) {
  const auto opened = Reports::open({.junit = "/nonexistent/a.xml"});
  ASSERT_FALSE(opened.has_value());
  EXPECT_THAT(opened.error().text(), HasSubstr("/nonexistent/a.xml"));
}

TEST(ConformanceReport, any_bytes_are_decoded) {
  base::SeededRandom random(3);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> bytes(random.below(200));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.next32() >> 24);
    EXPECT_FALSE(decode(bytes).label.empty());
  }
}

}  // namespace
}  // namespace splitnic::conformance::suite_test
