// The target as the sender of flits in the full profile: lanes, credits, retransmissions.
// docs/protocol/flit.md#full-profile
#include <algorithm>
#include <iterator>

#include "conformance/case.h"
#include "conformance/cases/lane_parts.h"
#include "conformance/cases/time_out.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::FlitType;

// Sends a DISC of no connection, whose reply is the next control message.
fabric::Mgmt send_question(End& h) {
  const fabric::Mgmt disc = h.mgmt(fabric::MgmtKind::kDisc, h.random().next());
  h.send(disc);
  return disc;
}
void await_disc_rep(End& h, const fabric::Mgmt& disc, std::string_view expected) {
  h.await_if(
      [&](const Event& e) {
        return e.kind == EventKind::kMgmt && e.mgmt.kind == fabric::MgmtKind::kDiscRep &&
               e.mgmt.transaction == disc.transaction;
      },
      expected);
}

void add_lanes(SharedGroup& group) {
  group.add("flit_payload", "P-LINK-21",
            "A cell leaves in flits of the smaller payload of both INITs, the last one shorter.",
            [](End& h) {
              if (!h.attach()) return;
              const auto context = h.next_context();
              if (!ask_long_echo(h, context)) return;
              await_reply(h, context);
              const auto& arrived = h.lanes().arrived();
              h.expect(std::ranges::any_of(arrived,
                                           [&](const ArrivedFlit& a) {
                                             return a.bytes == h.lanes().terms().flit_payload_max &&
                                                    (a.ctl & fabric::kFlitEof) == 0;
                                           }),
                       "a cell in several flits of the agreed payload");
            });
  group.add("idle_of_lanes", "P-LINK-33", "A link on which nothing is sent gets many IDLE.",
            [](End& h) {
              if (!h.attach()) return;
              // One every 10 ms, but either end may wait for a processor: any of some spans will
              // do.
              constexpr std::size_t kIdlesMin = 20;  // of 70
              std::size_t most = 0;
              for (int i = 0; i < 8 && h.is_good() && most < kIdlesMin; ++i) {
                const std::size_t before = h.inbox().idles();
                h.listen(700ms);
                most = std::max(most, h.inbox().idles() - before);
              }
              h.expect(most >= kIdlesMin, "20 IDLE within 700 ms");
            });
}

// In any profile: the lane is the same in a flit of a whole cell.
void add_service_level(SharedGroup& group) {
  group.add("of_service_level", "P-LINK-12",
            "Cells are on the lane of their service level, connection messages on lane 15.",
            [](End& h) {
              if (!h.attach()) return;
              expect_serving(h, "a reply on the lane of its service level");
              await_disc_rep(h, send_question(h), "DISC_REP on lane 15");
            });
}

// A long reply of which the first flit is lost. Returns how long it took until that came.
std::optional<base::Duration> lose_flit(End& h) {
  h.lanes().behave();
  h.lanes().loses = 1;
  const auto context = h.next_context();
  if (!ask_long_echo(h, context) || !await_reply(h, context)) return std::nullopt;
  const auto& arrived = h.lanes().arrived();
  const auto lost = std::ranges::find_if(arrived, &ArrivedFlit::is_lost);
  if (!h.expect(lost != arrived.end(), "DATA flits")) return std::nullopt;
  // One of before may come once more, because its acknowledgement came late.
  const auto next = std::find_if(lost, arrived.end(),
                                 [](const ArrivedFlit& a) { return !a.is_lost && !a.is_repeated; });
  if (!h.expect(next != arrived.end() && next->lsn == lost->lsn,
                "the flit that was lost before those behind it")) {
    return std::nullopt;
  }
  return next->at - lost->at;
}

// A long reply without acknowledgement, and LNAK. Returns how long it took until flits came once
// more; nothing if some did so before LNAK.
std::optional<base::Duration> refuse_flits(End& h) {
  const Withheld acks = acks_of_flits(h);
  h.listen(kLaneQuiet);  // all is acknowledged
  h.lanes().behave();
  h.lanes().acknowledges = false;
  const auto context = h.next_context();
  if (!ask_long_echo(h, context) || !await_reply(h, context)) return std::nullopt;
  const bool is_early = acks.came_again();
  const fabric::FlitHeader lnak = h.lanes().control(FlitType::kLnak);
  const fabric::Lsn first = lnak.ack + 1U;
  const base::Time sent_at = h.now();
  h.send_flit(lnak, {});
  // One of before may come once more, because its acknowledgement came late.
  const auto& arrived = h.lanes().arrived();
  const auto repeated = [&] {
    return std::ranges::find_if(
        arrived, [first](const ArrivedFlit& a) { return a.is_repeated && a.lsn - first >= 0; });
  };
  wait_until(h, [&] { return repeated() != arrived.end(); });
  if (!h.expect(repeated() != arrived.end() && repeated()->lsn == first,
                "a retransmission that begins behind the acknowledge number")) {
    return std::nullopt;
  }
  const base::Time at = repeated()->at;
  acks.acknowledge();
  return is_early ? std::nullopt : std::optional(at - sent_at);
}

void expect_repaired(End& h, std::optional<base::Duration> (*attempt)(End&)) {
  if (!h.attach()) return;
  const auto time_out = lengthen_time_out(h, acks_of_flits(h));
  if (time_out) expect_soon(h, *time_out, [&] { return attempt(h); });
  h.lanes().behave();
  expect_serving(h, "a link that serves on");
}

void add_retransmissions(SharedGroup& group) {
  group.add("lost_flit", "P-LINK-26",
            "A flit that was lost comes once more before its time-out, and those behind it, in "
            "order.",
            [](End& h) { expect_repaired(h, lose_flit); });
  group.add("lnak_goes_back", "P-LINK-26",
            "On LNAK the flits leave once more, before their time-out and from the acknowledge "
            "number + 1 on.",
            [](End& h) { expect_repaired(h, refuse_flits); });
  group.add("time_out", "P-LINK-27", "Flits that are not acknowledged leave once more.",
            [](End& h) {
              if (!h.attach()) return;
              h.lanes().behave();
              h.lanes().acknowledges = false;
              const auto context = h.next_context();
              if (!ask_long_echo(h, context) || !await_reply(h, context)) return;
              const auto& arrived = h.lanes().arrived();
              const auto is_there = [&] {
                return std::ranges::any_of(arrived, &ArrivedFlit::is_repeated);
              };
              h.expect(wait_until(h, is_there), "a retransmission");
              h.lanes().acknowledges = true;
              expect_serving(h, "a link that serves on");
            });
}

void add_limits(SharedGroup& group) {
  const auto add = [&](const std::string& name, const std::string& description,
                       std::uint32_t offset) {
    group.add(name, "P-LINK-29", description, [offset](End& h) {
      if (!h.attach()) return;
      h.lanes().limit_offset = offset;
      grant_all(h, 0);
      const auto context = h.next_context();
      if (!ask_long_echo(h, context)) return;
      await_reply(h, context);
      expect_serving(h, "a target that uses the credits of before");
    });
  };
  add("limit_goes_back", "A credit limit that is older than the last one is ignored.",
      (1U << 24) - 5000);
  add("limit_too_far", "A credit limit that is half of the numbers ahead is older, and ignored.",
      (1U << 23) + 5000);
}

// Cases of links with other terms, for the end that begins them. `prefix`: of their names.
template <class Player>
void add_terms(GroupOf<Player>& group, const std::string& prefix) {
  group.add(prefix + "first_lsn", "P-LINK-22",
            "The first flit has the number that follows from the nonce of the INIT.",
            [](Player& h) {
              if (!begin_link(h)) return;
              send_question(h);
              wait_until(h, [&] { return h.lanes().first_seen().has_value(); });
              h.expect(h.lanes().first_seen() == h.lanes().first_expected(),
                       "a first flit with the number of the nonce");
            });
  group.add(prefix + "credits", "P-LINK-28",
            "The target sends no more blocks than were granted, and the rest when there are more.",
            [](Player& h) {
              const auto context = h.next_context();
              if (!begin_reply(h, context)) return;
              h.lanes().grants = true;
              grant_all(h, kManyBlocks);
              await_reply(h, context);
            });
  group.add(prefix + "blocked_lane", "P-LINK-30", "A lane without credits delays no other.",
            [](Player& h) {
              h.terms.granted_blocks = 0;
              if (!begin_link(h) || !connect_only(h)) return;
              h.listen(kLaneQuiet);
              h.expect(h.inbox().waiting(EventKind::kMessage) == 0, "no message without credits");
              await_disc_rep(h, send_question(h), "DISC_REP on lane 15");
              grant_all(h, kManyBlocks);
              await_message(h, messaging::Function::kBufferRecvPool,
                            "BufferRecvPool of the target");
            });
  Case& control = group.add(prefix + "control_first", "P-LINK-30",
                            "Lane 15 leaves before a lane that gets its credits at the same time.",
                            [](Player& h) {
                              h.terms.granted_blocks = 0;
                              if (!begin_link(h) || !connect_only(h)) return;
                              h.listen(kLaneQuiet);
                              h.lanes().behave();
                              // One flit has the credits of lane 3 and the question.
                              h.lanes().grant(3, kManyBlocks);
                              await_disc_rep(h, send_question(h), "DISC_REP");
                              const auto& arrived = h.lanes().arrived();
                              h.expect(!arrived.empty() && arrived.front().vl == fabric::kMgmtLane,
                                       "a flit of lane 15 first");
                            });
  control.level = Level::kShould;
}

// The same for the lanes of a link.
template <class Player>
void add_few_lanes(GroupOf<Player>& group, const std::string& prefix) {
  group.add(prefix + "few_lanes", "P-LINK-20", "Lanes that one end has not are not used.",
            [](Player& h) {
              h.terms.lanes = 0x8001;
              if (attach_by_new_link(h)) expect_serving(h, "a reply on lane 0");
            });
}

}  // namespace

std::vector<Case> lane_cases() {
  SharedGroup level("lane"), shared("lane");
  add_service_level(level);
  add_lanes(shared);
  add_retransmissions(shared);
  add_limits(shared);
  Group of_host("lane");
  add_terms(of_host, "");
  add_few_lanes(of_host, "");
  UnitGroup of_unit("lane");
  add_terms(of_unit, "host_");
  add_few_lanes(of_unit, "host_");
  std::vector<Case> all = level.take();
  for (auto some : {shared.take(Profiles::kFull), of_host.take(Profiles::kFull),
                    of_unit.take(Profiles::kFull)}) {
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace splitnic::conformance
