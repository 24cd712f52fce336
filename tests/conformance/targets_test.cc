// The suite against targets that differ from the I/O unit and are right, or that are wrong in a way
// that no single case shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "conformance/cases/parts.h"
#include "messaging/wire/buffer_rdma_indicate.h"
#include "messaging/wire/buffer_recv_pool.h"
#include "messaging/wire/buffer_recv_pool_update.h"
#include "tests/conformance/dying_target.h"
#include "tests/conformance/faults.h"
#include "tests/conformance/run_suite.h"

namespace splitnic::conformance::targets_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A target may keep the settings of a host for a minute.
TEST(ConformanceTargets, a_second_run_passes_at_once_and_is_other_processes) {
  std::multiset<std::uint64_t> instances;
  UnitTarget target({.rule = [&](To to, RelayBytes& datagram) {
    fabric::FlitView flit;
    fabric::Init init;
    if (to == To::kTarget && fabric::parse_flit(datagram, flit) == fabric::FlitError::kNone &&
        fabric::parse_init(flit.payload, init) == fabric::InitError::kNone &&
        init.step == fabric::InitStep::kHello) {
      instances.insert(init.instance);
    }
    return true;
  }});
  for (const std::uint64_t number : {1U, 2U}) {
    EXPECT_EQ(failures_of(run(target, {"nic.digest*", "loss.terminate"}, {}, 1s, number)), "");
  }
  EXPECT_EQ(instances.size(), 8U);
  for (const std::uint64_t instance : instances) EXPECT_EQ(instances.count(instance), 1U);
}

// Keys end after 180 s.
TEST(ConformanceTargets, a_keyed_run_may_take_longer_than_keys_live) {
  UnitTarget target({.is_keyed = true});
  const std::array lines{target.lines().front()};
  Suite suite(lines, {});
  std::size_t passed = 0;
  suite.run(select(cases(), {"cfg.echo*", "nic.link", "nic.version"}, {}),
            [&](const CaseResult& result) {
              passed += result.verdict == Verdict::kPass ? 1U : 0U;
              target.clock().advance(100s);
            });
  EXPECT_EQ(passed, 5U);
}

TEST(ConformanceTargets, a_target_under_load_gets_its_cookie) {
  UnitTarget target({.is_keyed = true, .wants_cookies = true});
  EXPECT_EQ(failures_of(run(target, {"cfg.echo", "key.handshake"})), "");
}

// A target may agree on another form of idata, or on none, and on short messages.
TEST(ConformanceTargets, a_target_without_idata_and_with_short_messages_passes) {
  UnitTarget target({.idata_form = std::nullopt, .message_max = 2048});
  const Report report = run(target);
  EXPECT_EQ(failures_of(report), "");
  EXPECT_GE(report.count(Verdict::kPass), 300U);
}

// A target need not be able to produce idata: it indicates each write by a message then.
TEST(ConformanceTargets, a_target_that_can_produce_no_idata_passes) {
  UnitTarget target(
      {.rule = without_idata_out(fabric::MgmtKind::kConnectRep, fabric::MgmtKind::kConnectReq)});
  const Report report = run(target, {"frame", "pool", "data", "variant"});
  EXPECT_EQ(failures_of(report), "");
  EXPECT_GE(report.count(Verdict::kPass), 80U);
}

// Frames up to a length of the target's choice are no writes: cases about writes are skipped.
TEST(ConformanceTargets, a_target_that_sends_short_frames_by_send_data_fails_nothing) {
  UnitTarget target({.send_threshold = 256});
  const Report report = run(target, {"frame", "data.indicate", "msg.send_data", "pool.another_pool",
                                     "variant.one_channel_frame", "state.element_returned"});
  EXPECT_EQ(failures_of(report), "");
  EXPECT_GE(report.count(Verdict::kPass), 1U);
  EXPECT_GE(report.count(Verdict::kSkip), 8U);
}

// One message may indicate several frames, and one before it others.
TEST(ConformanceTargets, an_indication_of_several_writes_is_one_of_each) {
  const messaging::PoolRecord pool{
      messaging::PoolRef(3),           16, 2048, fabric::MemoryHandle(0x2A01),
      fabric::VirtualAddress(0x10000), 0};
  const std::array records{messaging::ConsumedRecord{pool.pool, 2, 1, 72},
                           messaging::ConsumedRecord{pool.pool, 5, 1, 72},
                           messaging::ConsumedRecord{messaging::PoolRef(4), 7, 1, 72}};
  ByteVector bytes(messaging::BufferRdmaIndicate::bytes(records.size()));
  messaging::BufferRdmaIndicate::emit(messaging::kUnsolicited, records, bytes);
  Event message;
  message.kind = EventKind::kMessage;
  message.bytes = bytes;
  for (std::uint32_t element = 0; element < pool.elements; ++element) {
    Event write;
    write.kind = EventKind::kWrite;
    write.target.address = pool.element_address(element);
    EXPECT_EQ(indicates(message, pool, write), element == 2 || element == 5) << element;
  }
}

// Two elements of those that were used, in another order: the suite writes into these.
TEST(ConformanceTargets, P_POOL_9_an_update_may_name_elements_in_any_order) {
  std::vector<std::uint64_t> first, again;
  bool is_returned = false;
  const Rule sees_writes = cell_rule(To::kTarget, [&](const fabric::CellView& view, RelayBytes&) {
    if (view.header.op != fabric::Op::kRdmaWrite || !view.va_mh) return true;
    (is_returned ? again : first).push_back(view.va_mh->address.value);
    return true;
  });
  const Rule returns_two =
      flit_rule(To::kSuite, [&](const fabric::FlitHeader&, RelayBytes& cell, const RelayBytes&) {
        fabric::CellView view;
        if (is_returned || fabric::parse_cell(cell, view) != fabric::CellError::kNone) return true;
        const auto update = messaging::BufferRecvPoolUpdate::parse(view.payload);
        if (view.header.op != fabric::Op::kSend || !update) return true;
        is_returned = true;
        const messaging::PoolRef pool = (*update)[0].pool;
        const std::array records{messaging::ElementRange{pool, 3, 1},
                                 messaging::ElementRange{pool, 0, 1}};
        RelayBytes message(messaging::BufferRecvPoolUpdate::bytes(records.size()));
        messaging::BufferRecvPoolUpdate::emit(messaging::kUnsolicited, records, message);
        fabric::CellHead head;
        head.header = view.header;
        head.header.payload_bytes = static_cast<std::uint16_t>(message.size());
        RelayBytes longer(fabric::cell_bytes(head, message.size()));
        longer.resize(fabric::emit_cell(longer, head, message));
        cell = longer;
        return true;
      });
  UnitTarget target({.rule = both(sees_writes, returns_two)});
  EXPECT_EQ(not_passed(run(target, {"data.returned"})), "");
  ASSERT_GE(first.size(), 4U);
  EXPECT_EQ(again, (std::vector{first[3], first[0]}));
}

// A target without separate connections may refuse the number of queue pairs: code 2.
TEST(ConformanceTargets, S001_51_an_arrangement_may_be_refused_as_a_bad_parameter) {
  UnitTarget target({.rule = mgmt_rule(To::kSuite, [](fabric::Mgmt& mgmt) {
                       if (mgmt.kind == fabric::MgmtKind::kConnectRej) {
                         mgmt.reject = fabric::MgmtReject::kBadParameter;
                       }
                       return true;
                     })});
  EXPECT_EQ(not_passed(run(target, {"cm.second_channel_alone"})), "");
}

// Nothing is wrong with the cell but that there is no link.
TEST(ConformanceTargets, P_LINK_5_the_cell_without_a_link_has_the_queue_pair_of_mgmt) {
  UnitTarget target({});
  const Report report = run(target, {"link.cell_without_a_link"});
  EXPECT_EQ(not_passed(report), "");
  unsigned cells = 0;
  for (const Exchanged& one : report.results.at(0).transcript.all()) {
    fabric::FlitView flit;
    fabric::CellView cell;
    if (one.direction != Direction::kSent ||
        fabric::parse_flit(one.bytes, flit) != fabric::FlitError::kNone ||
        flit.header.type != fabric::FlitType::kData) {
      continue;
    }
    ++cells;
    ASSERT_EQ(fabric::parse_cell(flit.payload, cell), fabric::CellError::kNone);
    EXPECT_EQ(cell.header.dqpn, fabric::Qpn(1));
    EXPECT_EQ(cell.header.sqpn, fabric::Qpn(1));
  }
  EXPECT_EQ(cells, 1U);
}

// The relay clears what is wrong with the record: it was sealed with that, and stays no good one.
TEST(ConformanceTargets, P_KEY_5_the_reserved_byte_of_a_record_is_under_its_tag) {
  UnitTarget target({.is_keyed = true, .rule = [](To to, RelayBytes& datagram) {
                       if (to == To::kTarget && datagram.size() > 2) datagram[2] = std::byte{0};
                       return true;
                     }});
  EXPECT_EQ(not_passed(run(target, {"key.record_reserved"})), "");
}

TEST(ConformanceTargets, the_suite_sends_idle_while_it_waits) {
  int idles = 0;
  UnitTarget target({.rule = [&](To to, RelayBytes& datagram) {
    fabric::FlitView flit;
    if (to == To::kTarget && fabric::parse_flit(datagram, flit) == fabric::FlitError::kNone) {
      idles += flit.header.type == fabric::FlitType::kIdle ? 1 : 0;
    }
    return true;
  }});
  EXPECT_EQ(failures_of(run(target, {"link.idle"})), "");
  EXPECT_GE(idles, 3);
}

// The carrier of the second host may not be set up when that of the first one is.
TEST(ConformanceTargets, the_first_hello_of_each_line_may_be_lost) {
  std::set<std::uint64_t> instances;
  UnitTarget target({.rule = init_rule(To::kTarget, [&](const fabric::Init& init) {
                       return init.step != fabric::InitStep::kHello ||
                              !instances.insert(init.instance).second;
                     })});
  const auto lines = target.lines();
  Suite suite(lines, {.timeout = 1s});
  ASSERT_TRUE(suite.is_reachable());
  EXPECT_EQ(instances.size(), lines.size());
}

// A path may reorder: the first probe of the target overtakes its READY.
TEST(ConformanceTargets, a_probe_before_ready_does_not_matter) {
  RelayBytes ready;
  bool is_held = false;
  UnitTarget target({.rule = [&](To to, RelayBytes& datagram) {
    fabric::FlitView flit;
    fabric::Init init;
    if (to != To::kSuite || fabric::parse_flit(datagram, flit) != fabric::FlitError::kNone ||
        fabric::parse_init(flit.payload, init) != fabric::InitError::kNone) {
      return true;
    }
    if (init.step == fabric::InitStep::kReady && !is_held) {
      is_held = true;
      ready = datagram;
      init.step = fabric::InitStep::kProbe;
      std::array<std::byte, fabric::kInitBytes> payload{};
      fabric::emit_init(payload.data(), init);
      fabric::emit_flit(datagram, flit.header, payload);
    } else if (!ready.empty()) {
      datagram = std::exchange(ready, {});
    }
    return true;
  }});
  EXPECT_EQ(failures_of(run(target, {"link.proof_gets_ready"})), "");
  EXPECT_TRUE(is_held);
}

TEST(ConformanceTargets, a_short_timeout_waits_long_enough_for_a_repetition) {
  UnitTarget target({});
  EXPECT_EQ(failures_of(run(target, {"nic.request_is_repeated"}, {}, 50ms)), "");
}

// After one case the target refuses everybody.
TEST(ConformanceTargets, a_target_that_refuses_everybody_is_not_good) {
  bool is_refusing = false;
  const Rule see = [&](To to, RelayBytes& datagram) {
    is_refusing |= to == To::kTarget && is_terminate(datagram);
    return true;
  };
  const Rule refuse = [&](To to, RelayBytes& datagram) {
    fabric::FlitView flit;
    fabric::Init init;
    if (to == To::kSuite && is_refusing &&
        fabric::parse_flit(datagram, flit) == fabric::FlitError::kNone &&
        fabric::parse_init(flit.payload, init) == fabric::InitError::kNone) {
      init.step = fabric::InitStep::kRefuse;
      init.reason = fabric::InitReason::kBusy;
      std::array<std::byte, fabric::kInitBytes> payload{};
      fabric::emit_init(payload.data(), init);
      fabric::emit_flit(datagram, flit.header, payload);
    }
    return true;
  };
  const Rule both = [=](To to, RelayBytes& d) { return see(to, d) && refuse(to, d); };
  UnitTarget target({.rule = both});
  const Report report = run(target, {"loss.terminate", "cfg.echo"}, {}, 100ms);
  ASSERT_EQ(report.results.size(), 2U);
  EXPECT_EQ(report.results[0].verdict, Verdict::kWedged);
  EXPECT_THAT(report.results[0].received, HasSubstr("refuse"));
  EXPECT_FALSE(report.is_good());
  UnitTarget again({.rule = both});
  const Report rejected = run(again, {"cfg.echo"}, {}, 100ms);
  EXPECT_EQ(rejected.count(Verdict::kRejected), 1U);
  EXPECT_FALSE(rejected.is_good());
}

// A SHOULD that is not met is reported, and fails nothing.
TEST(ConformanceTargets, a_target_that_keeps_no_early_cells_is_warned) {
  std::optional<fabric::Lcn> next;
  UnitTarget target({.rule = [&](To to, RelayBytes& datagram) {
    fabric::FlitView flit;
    fabric::CellView cell;
    if (to != To::kTarget || fabric::parse_flit(datagram, flit) != fabric::FlitError::kNone ||
        fabric::parse_cell(flit.payload, cell) != fabric::CellError::kNone ||
        cell.header.op != fabric::Op::kSend) {
      return true;
    }
    if (cell.header.dqpn.value != 0 && next && cell.header.lcn - *next > 0 &&
        cell.header.lcn - *next < 100) {
      return false;
    }
    if (!next || cell.header.lcn - *next == 0 || cell.header.lcn - *next >= 100 ||
        cell.header.lcn - *next <= -100) {
      next = cell.header.lcn + 1U;
    }
    return true;
  }});
  const Report report = run(target, {"rc.early", "rc.bitmap", "cfg.echo", "cell.crc"});
  ASSERT_EQ(report.results.size(), 4U);
  EXPECT_EQ(report.count(Verdict::kWarn), 1U);
  EXPECT_EQ(report.count(Verdict::kSkip), 1U);
  EXPECT_EQ(report.count(Verdict::kPass), 2U) << failures_of(report);
  EXPECT_TRUE(report.is_good());
}

TEST(ConformanceTargets, the_transcript_of_two_hosts_has_both) {
  UnitTarget target({});
  const Report report = run(target, {"frame.to_another_host"});
  const auto& all = report.results.at(0).transcript.all();
  EXPECT_TRUE(std::ranges::any_of(all, [](const Exchanged& one) { return one.host == 1; }));
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &Exchanged::at));
  EXPECT_THAT(html_of(report), HasSubstr("end 2: "));
}

TEST(ConformanceTranscript, a_flood_of_long_datagrams_is_cut) {
  Transcript transcript;
  const std::vector<std::byte> datagram(65'000);
  for (int i = 0; i < 100; ++i) transcript.add(Direction::kReceived, {}, datagram);
  EXPECT_LE(transcript.bytes(), Transcript::kBytesKept);
  EXPECT_EQ(transcript.received(), 100U);
  EXPECT_EQ(transcript.all().size() + transcript.left_out(), 100U);
}

}  // namespace
}  // namespace splitnic::conformance::targets_test
