// The suite as an I/O unit against the host in this process, with and without keys, and against a
// host that is silent or does not come back.
#include "conformance/unit_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "conformance/report/report.h"
#include "conformance/selection.h"
#include "messaging/wire/cfg_util.h"
#include "tests/conformance/dying_target.h"
#include "tests/conformance/faults.h"
#include "tests/conformance/host_target.h"
#include "tests/conformance/run_cases.h"

namespace splitnic::conformance::unit_suite_test {
namespace {

using namespace std::chrono_literals;

Report run(HostTarget& target, const std::vector<std::string>& wanted = {},
           base::Duration timeout = 1s, std::uint64_t run_number = 0) {
  UnitSuite suite(target.line(), {.timeout = timeout, .run = run_number});
  if (!suite.is_reachable()) return {};
  return run_cases(suite, select(cases(Role::kUnit), wanted, {}));
}

bool is_mgmt(const RelayBytes& datagram, fabric::MgmtKind kind) {
  fabric::FlitView flit;
  fabric::CellView cell;
  fabric::Mgmt mgmt;
  return fabric::parse_flit(datagram, flit) == fabric::FlitError::kNone &&
         flit.header.type == fabric::FlitType::kData &&
         fabric::parse_cell(flit.payload, cell) == fabric::CellError::kNone &&
         cell.header.op == fabric::Op::kMgmt &&
         fabric::parse_mgmt(cell.payload, mgmt) == fabric::MgmtError::kNone && mgmt.kind == kind;
}

bool proves_address(const RelayBytes& datagram) {
  fabric::FlitView flit;
  fabric::Init init;
  return fabric::parse_flit(datagram, flit) == fabric::FlitError::kNone &&
         flit.header.type == fabric::FlitType::kInit &&
         fabric::parse_init(flit.payload, init) == fabric::InitError::kNone &&
         init.step == fabric::InitStep::kAnswer;
}

// Our programs send packet CRCs on links of the full profile.
constexpr std::string_view kOfFullProfile =
    "cm.packet_crc_of_target SKIP: expected the target states no flag 0x0002: it sends no packet "
    "CRCs; received \n";

TEST(ConformanceUnitSuite, every_case_passes_against_the_host) {
  HostTarget target({});
  const Report report = run(target);
  EXPECT_EQ(not_passed(report), kOfFullProfile);
  expect_complete(report, 265);
}

TEST(ConformanceUnitSuite, every_case_passes_against_the_keyed_host) {
  HostTarget target({.is_keyed = true});
  const Report report = run(target);
  EXPECT_EQ(not_passed(report), kOfFullProfile);
  expect_complete(
      report, 275,
      "session at the initiator: KEYED to none, 180 s, 2^28 records: it takes three minutes\n");
}

constexpr auto kInitNic = static_cast<std::uint32_t>(messaging::CfgCode::kInitNic);
constexpr auto kGetVersion = static_cast<std::uint32_t>(messaging::CfgCode::kGetVersion);

// The first try of each INIT_NIC of the host becomes GET_VERSION, whose reply it does not get.
Rule version_first() {
  const auto seen = std::make_shared<std::set<std::uint32_t>>();
  return both(
      message_rule(To::kSuite, messaging::Function::kCfgUtilRequest,
                   [seen](base::MutableBytes message) {
                     if (word_of(message, kCodeWord) == kInitNic &&
                         seen->insert(word_of(message, kContextWord + 1)).second) {
                       set_word(message, kCodeWord, kGetVersion);
                     }
                     return true;
                   }),
      message_rule(To::kTarget, messaging::Function::kCfgUtilReply, [](base::MutableBytes message) {
        if (word_of(message, kCodeWord) == kGetVersion) become_frame(message);
        return true;
      }));
}

// INIT_NIC comes once for each context.
Rule init_nic_once() {
  const auto seen = std::make_shared<std::set<std::uint32_t>>();
  return message_rule(To::kSuite, messaging::Function::kCfgUtilRequest,
                      [seen](base::MutableBytes message) {
                        if (word_of(message, kCodeWord) == kInitNic &&
                            !seen->insert(word_of(message, kContextWord + 1)).second) {
                          become_frame(message);
                        }
                        return true;
                      });
}

// P-CFG-12 has INIT_NIC before START, and nothing of other requests.
TEST(ConformanceUnitSuite, a_host_may_request_its_version_first_and_must_repeat_init_nic) {
  const std::vector<std::string> wanted{"cfg.busy_unit", "cfg.reply_other_context"};
  HostTarget right({.rule = version_first()});
  EXPECT_EQ(not_passed(run(right, wanted)), "");
  HostTarget wrong({.rule = both(version_first(), init_nic_once())});
  EXPECT_EQ(run(wrong, {"cfg.reply_other_context"}).count(Verdict::kFail), 1U);
}

// The relay clears what is wrong with the record: it was sealed with that, and stays no good one.
TEST(ConformanceUnitSuite, P_KEY_5_the_reserved_byte_of_a_record_is_under_its_tag) {
  HostTarget target({.is_keyed = true, .rule = [](To to, RelayBytes& datagram) {
                       if (to == To::kTarget && datagram.size() > 2) datagram[2] = std::byte{0};
                       return true;
                     }});
  EXPECT_EQ(not_passed(run(target, {"key.host_reserved"})), "");
}

// One nonce for all of its life: the specification requires a random one, and not another one.
Rule keep_nonce() {
  constexpr std::uint64_t kKept = 0x1234567812345678;
  const auto real = std::make_shared<std::uint64_t>(0);
  return both(init_rule(To::kSuite,
                        [=](fabric::Init& init) {
                          if (init.step == fabric::InitStep::kHello)
                            *real = std::exchange(init.nonce, kKept);
                          return true;
                        }),
              init_rule(To::kTarget, [=](fabric::Init& init) {
                if (init.echo == kKept) init.echo = *real;
                return true;
              }));
}

TEST(ConformanceUnitSuite, a_host_that_keeps_its_nonce_passes) {
  HostTarget target({.rule = keep_nonce()});
  EXPECT_EQ(not_passed(run(target, {"link.hello*", "link.proof"})), "");
}

TEST(ConformanceUnitSuite, every_case_passes_over_a_path_with_a_delay) {
  for (const base::Duration delay : {5ms, 25ms}) {
    HostTarget target({.delay = delay});
    EXPECT_EQ(not_passed(run(target)), kOfFullProfile) << delay / 1ms << " ms";
  }
}

// Cases of two channels are skipped, all others are the same.
TEST(ConformanceUnitSuite, S001_51_a_host_that_asks_for_one_channel_passes_what_applies) {
  HostTarget target({.channels = messaging::Channels::kOne});
  const Report report =
      run(target, {"cm.request_pairs", "cm.pairs_in_any_order", "cm.reply_of_one_pair", "rc.read",
                   "rc.write_on_channel_0", "pool.flush_*", "data.*", "frame", "variant"});
  std::set<std::string> skipped;
  for (const CaseResult& one : report.results) {
    if (one.verdict == Verdict::kSkip) {
      skipped.insert(one.about.id);
    } else {
      EXPECT_EQ(one.verdict, Verdict::kPass) << one.about.id << ": " << one.expected;
    }
  }
  EXPECT_TRUE(skipped.contains("data.send_on_channel_1"));
  EXPECT_LE(skipped.size(), 6U);
}

// A host may take idata of form B, or none, and may be able to produce none.
TEST(ConformanceUnitSuite, a_host_with_another_form_of_idata_passes) {
  const std::vector<std::string> wanted{"frame", "pool", "data", "variant"};
  for (const auto form : {std::optional(messaging::IdataForm::kOffsetLength),
                          std::optional<messaging::IdataForm>()}) {
    HostTarget target({.idata_form = form});
    const Report report = run(target, wanted);
    EXPECT_EQ(failures_of(report), "");
    EXPECT_GE(report.count(Verdict::kPass), 50U);
  }
  HostTarget target(
      {.rule = without_idata_out(fabric::MgmtKind::kConnectReq, fabric::MgmtKind::kConnectRep)});
  EXPECT_EQ(failures_of(run(target, wanted)), "");
}

TEST(ConformanceUnitSuite, S001_51_a_host_that_asks_for_separate_connections_is_served) {
  HostTarget target({.channels = messaging::Channels::kSeparate});
  const Report report = run(target, {"variant.host_separate", "cm.ready_to_use"});
  ASSERT_EQ(report.results.size(), 2U);
  for (const CaseResult& one : report.results) {
    const bool is_for_it = one.about.id == "variant.host_separate";
    EXPECT_EQ(one.verdict, is_for_it ? Verdict::kPass : Verdict::kSkip)
        << one.about.id << ": " << one.expected << "; " << one.received;
  }
}

// Its CONNECT_REQ never come: the author of a host begins with the link.
TEST(ConformanceUnitSuite, a_host_with_a_link_alone_passes_the_cases_of_the_link) {
  const RelayBytes idle = [] {
    RelayBytes out(fabric::kFlitHeaderBytes);
    const fabric::FlitHeader header{.type = fabric::FlitType::kIdle,
                                    .vl = fabric::kMgmtLane,
                                    .ctl = fabric::kFlitHeaderCrcOnly};
    out.resize(fabric::emit_flit(out, header, {}));
    return out;
  }();
  HostTarget target({.rule = [idle](To to, RelayBytes& datagram) {
    fabric::FlitView flit;
    const bool is_cell = fabric::parse_flit(datagram, flit) == fabric::FlitError::kNone &&
                         flit.header.type == fabric::FlitType::kData;
    if (to == To::kSuite && is_cell) datagram = idle;
    return true;
  }});
  const Report report =
      run(target, {"link.hello", "link.hello_*d", "link.proof", "link.ready_other_*"}, 200ms);
  EXPECT_EQ(not_passed(report), "");
  EXPECT_GE(report.results.size(), 6U);
}

// DISC is due while ANSWER is on its way: it is of the link before, and no fault of the host.
TEST(ConformanceUnitSuite, a_disc_of_the_link_before_may_come_until_ready) {
  RelayBytes disc;
  bool is_due = false;
  unsigned sent = 0;
  HostTarget target({.rule = [&](To to, RelayBytes& datagram) {
    if (to != To::kSuite) return true;
    if (is_due) {
      datagram = disc;
      ++sent;
    }
    if (is_mgmt(datagram, fabric::MgmtKind::kDisc)) disc = datagram;
    is_due = sent == 0 && !disc.empty() && proves_address(datagram);
    return true;
  }});
  const Report report = run(target, {"state.host_restart_when_closing"});
  EXPECT_EQ(not_passed(report), "");
  EXPECT_EQ(sent, 1U);
}

// The next request has another transaction.
TEST(ConformanceUnitSuite, a_request_that_crosses_its_rejection_is_no_other_request) {
  RelayBytes request;
  bool is_due = false;
  unsigned sent = 0;
  HostTarget target({.rule = [&](To to, RelayBytes& datagram) {
    if (to == To::kTarget) {
      is_due |= sent == 0 && is_mgmt(datagram, fabric::MgmtKind::kConnectRej);
    } else if (std::exchange(is_due, false)) {
      datagram = request;
      ++sent;
    } else if (is_mgmt(datagram, fabric::MgmtKind::kConnectReq)) {
      request = datagram;
    }
    return true;
  }});
  EXPECT_EQ(not_passed(run(target, {"cm.rejected_4"})), "");
  EXPECT_EQ(sent, 1U);
}

// As the last READY of the suite states it; nothing where the case began no link.
std::optional<std::uint32_t> receive_buffer_of(const CaseResult& result) {
  std::optional<std::uint32_t> bytes;
  for (const Exchanged& one : result.transcript.all()) {
    fabric::FlitView flit;
    fabric::Init init;
    if (one.direction == Direction::kSent &&
        fabric::parse_flit(one.bytes, flit) == fabric::FlitError::kNone &&
        flit.header.type == fabric::FlitType::kInit &&
        fabric::parse_init(flit.payload, init) == fabric::InitError::kNone &&
        init.step == fabric::InitStep::kReady) {
      bytes = init.receive_buffer_bytes;
    }
  }
  return bytes;
}

TEST(ConformanceUnitSuite, a_small_receive_buffer_ends_with_its_case) {
  HostTarget target({});
  const Report report = run(target, {"loss.host_asks_for_ack", "cfg.announce"});
  ASSERT_EQ(report.results.size(), 2U);
  EXPECT_EQ(receive_buffer_of(report.results[0]), 32U << 10);
  EXPECT_EQ(receive_buffer_of(report.results[1]), 4U << 20);
}

TEST(ConformanceUnitSuite, ids_are_unique_in_all_roles_and_every_case_is_for_one) {
  expect_described(all_cases());
  for (const Case& one : all_cases()) {
    EXPECT_TRUE(one.is_for(Role::kHost) || one.is_for(Role::kUnit) || one.is_for(Role::kNodes) ||
                one.is_for(Role::kSubnet))
        << one.id;
  }
}

TEST(ConformanceUnitSuite, nobody_is_reachable_where_no_host_comes) {
  HostTarget target({});
  target.hang();
  UnitSuite suite(target.line(), {.timeout = 100ms});
  EXPECT_FALSE(suite.is_reachable());
}

// A host that dies of one case: the verdict is WEDGED.
TEST(ConformanceUnitSuite, a_host_that_does_not_come_back_is_wedged) {
  HostTarget target({.rule = dies_of_terminate()});
  const Report report = run(target, {"loss.terminate", "cfg.announce"}, 100ms);
  expect_wedged(report);
}

TEST(ConformanceUnitSuite, the_same_seed_sends_the_same_first_bytes) {
  HostTarget one({}), two({});
  const Report first = run(one, {"cell.crc"});
  const Report second = run(two, {"cell.crc"});
  expect_same_bytes(first, second);
}

// The first that the case sends is BYE, and then the unit is another process.
TEST(ConformanceUnitSuite, two_runs_share_no_identity) {
  std::set<std::uint64_t> instances, identities;
  for (const std::uint64_t number : {1U, 2U}) {
    HostTarget target({});
    const Report report = run(target, {"link.hello"}, 1s, number);
    for (const Exchanged& one : report.results.at(0).transcript.all()) {
      fabric::FlitView flit;
      fabric::Init init;
      if (one.direction != Direction::kSent ||
          fabric::parse_flit(one.bytes, flit) != fabric::FlitError::kNone ||
          flit.header.type != fabric::FlitType::kInit ||
          fabric::parse_init(flit.payload, init) != fabric::InitError::kNone) {
        continue;
      }
      instances.insert(init.instance);
      identities.insert(init.eui64.value);
    }
  }
  EXPECT_EQ(instances.size(), 4U);
  EXPECT_EQ(identities.size(), 2U);
}

}  // namespace
}  // namespace splitnic::conformance::unit_suite_test
