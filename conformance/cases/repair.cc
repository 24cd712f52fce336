// RC with the target as the sender: what it sends at once and what it does not, by the ACKs and the
// receive buffer of its peer. docs/protocol/transport.md#clauses-of-rc
#include <algorithm>
#include <iterator>
#include <set>

#include "conformance/case.h"
#include "conformance/cases/time_out.h"
#include "conformance/cells.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::AckExt;
using fabric::Op;
using messaging::TransactionContext;

constexpr std::uint16_t kSmallMcp = 256;   // the smallest that a target has to take: P-INIT-12
constexpr std::size_t kLongReply = 600;    // bytes: several cells of it
constexpr base::Duration kSentAll = 60ms;  // the target has sent what it may

// Until cells of channel 0 have come, and then no more of them for a while.
void await_burst(End& h) {
  const fabric::Lcn first = h.channel(0).expected_lcn;
  const base::Time until = h.now() + h.config().timeout;
  while (h.is_good() && h.channel(0).expected_lcn == first && h.now() < until) h.listen(kMoment);
  for (fabric::Lcn before = first; h.is_good() && h.channel(0).expected_lcn != before;) {
    before = h.channel(0).expected_lcn;
    h.listen(kSentAll);
  }
}

void take_all(End& h, const std::vector<TransactionContext>& contexts) {
  h.habits.acknowledges = true;
  acknowledge(h);
  for (const auto context : contexts) await_reply(h, context);
}

// Six replies of which the second is lost: the ACK has all others. Returns how long it took until
// a cell came once more; nothing if one did so before the ACK, or another cell did.
std::optional<base::Duration> lose_one(End& h) {
  h.habits.acknowledges = false;
  h.inbox().forget();
  const fabric::Lcn first = h.channel(0).expected_lcn;
  AckExt ack = ack_of(h, 0);
  std::vector<TransactionContext> contexts;
  for (int i = 0; i < 6; ++i) {
    contexts.push_back(h.next_context());
    send_message(h, echo_message(contexts.back(), 8));
  }
  for (const auto context : contexts) {
    if (await_echo(h, context, {})) continue;
    // By its congestion window, which is small behind a round trip that was long.
    h.outcome().skip("the target has fewer than six messages in flight");
    return std::nullopt;
  }
  const auto cells = static_cast<unsigned>(h.channel(0).expected_lcn - first);
  ack.cumulative = first;
  ++ack.msn;
  for (unsigned i = 0; i + 2 < cells; ++i) ack.set_bit(i);
  const bool is_early = !h.inbox().retransmitted().empty();
  send_ack(h, 0, Op::kAck, ack, h.channel(0).expected_psn - cells);
  const auto took = is_early ? std::nullopt : await_again(h, acks_of_cells(h));
  h.listen(kMoment);
  const auto& again = h.inbox().retransmitted();
  const bool is_lost_one = std::ranges::all_of(again, [&](auto lcn) { return lcn == first + 1U; });
  acknowledge(h);
  h.listen(kMoment);
  if (!is_early && !h.expect(is_lost_one, "the cell that was lost, and no other")) return {};
  return took;
}

void add_lost(SharedGroup& group) {
  Case& lost =
      group.add("one_lost", "P-RC-11",
                "Of several cells the one that was lost comes once more, long before its time-out.",
                [](End& h) {
                  if (!h.attach()) return;
                  const auto time_out = lengthen_time_out(h, acks_of_cells(h));
                  if (time_out) expect_soon(h, *time_out, [&h] { return lose_one(h); });
                  h.habits.acknowledges = true;
                  expect_serving(h, "a target that serves after a loss");
                });
  lost.level = Level::kShould;
}

// NAK 0x60 with CSN 0 goes back to before cells that were acknowledged.
void add_refused_packet(SharedGroup& group) {
  group.add("nak_of_packet", "P-RC-20,P-ACK-6",
            "NAK 0x60 with CSN 0 has the whole packet sent once more, of which cells were "
            "acknowledged.",
            [](End& h) {
              h.terms.mcp_max = kSmallMcp;
              if (!h.attach()) return;
              h.habits.acknowledges = false;
              h.inbox().forget();
              const fabric::Psn psn = h.channel(0).expected_psn;
              const fabric::Lcn first = h.channel(0).expected_lcn;
              AckExt ack = ack_of(h, 0);  // as before the packet
              const auto context = h.next_context();
              const ByteVector request = echo_message(context, kLongReply);
              if (!can_send(h, request.size() + request.size() / 20)) return;
              send_message(h, request);
              if (!await_echo(h, context, {}))
                return h.outcome().skip("the target has fewer than three cells in flight");
              const auto cells = static_cast<std::size_t>(h.channel(0).expected_lcn - first);
              AckExt nak = ack;
              ack.cumulative = first;
              send_ack(h, 0, Op::kAck, ack, psn);
              // Behind this reply nothing is sent that the target had not taken the ACK before.
              const auto fence = h.next_context();
              send_message(h, echo_message(fence, 8));
              if (!await_echo(h, fence)) return;
              h.inbox().forget();
              nak.code = fabric::AckCode::kSequence;
              send_ack(h, 0, Op::kNak, nak, psn);
              const auto came_again = [&] {
                std::set<std::uint32_t> ahead;  // of the first cell
                for (const fabric::Lcn lcn : h.inbox().retransmitted()) {
                  ahead.insert(static_cast<std::uint32_t>(lcn - first));
                }
                return std::ranges::count_if(ahead, [&](auto one) { return one < cells; }) ==
                       static_cast<std::ptrdiff_t>(cells);
              };
              const base::Time until = h.now() + kLongWait;
              while (h.is_good() && !came_again() && h.now() < until) h.listen(kMoment);
              h.expect(came_again(), "each cell of the packet once more");
              h.habits.acknowledges = true;
              acknowledge(h);
              expect_serving(h, "a target that serves after NAK 0x60");
            });
}

// A NAK that is dropped ends nothing, although it names the oldest packet.
void add_dropped_nak(SharedGroup& group, const std::string& name, const std::string& what,
                     std::int32_t ahead) {
  group.add(name, "P-ACK-6", "A NAK that acknowledges " + what + " is dropped.", [ahead](End& h) {
    if (!h.attach() || !expect_serving(h, "a target that serves")) return;
    if (!take_unacknowledged(h)) return;
    AckExt nak = ack_of(h, 0);
    nak.code = fabric::AckCode::kInvalidRequest;
    nak.cumulative = nak.cumulative + static_cast<std::uint32_t>(ahead);
    h.inbox().forget();
    send_ack(h, 0, Op::kNak, nak, h.channel(0).expected_psn - 1U);
    if (!await_again(h, acks_of_cells(h))) return;  // it has acknowledged nothing
    h.habits.acknowledges = true;
    acknowledge(h);
    expect_ignored(h, "a NAK that is dropped");
  });
}

// Four messages for one receive, of which one has come. The others wait for an ACK of it.
std::vector<TransactionContext> wait_for_receives(End& h) {
  if (!h.attach()) return {};
  h.habits.receive_credits = 1;
  if (!expect_serving(h, "a target that serves")) return {};
  h.listen(kSentAll);
  h.habits.acknowledges = false;
  h.inbox().forget();
  std::vector<TransactionContext> contexts;
  for (int i = 0; i < 4; ++i) {
    contexts.push_back(h.next_context());
    send_message(h, echo_message(contexts.back(), 8));
  }
  await_burst(h);
  h.expect(h.inbox().waiting(EventKind::kMessage) == 1, "one message that is not acknowledged");
  return h.is_good() ? contexts : std::vector<TransactionContext>{};
}

// The receives of an ACK that is dropped are none.
void add_ack_of_less(SharedGroup& group) {
  group.add("ack_of_less", "P-ACK-6",
            "An ACK that acknowledges less than one before is dropped, with its receive credits.",
            [](End& h) {
              const auto contexts = wait_for_receives(h);
              if (contexts.empty()) return;
              AckExt old = ack_of(h, 0);
              old.cumulative = old.cumulative - 2U;
              old.receive_credits = 64;
              send_ack(h, 0, Op::kAck, old, h.channel(0).expected_psn - 2U);
              h.listen(kSentAll);
              h.expect(h.inbox().waiting(EventKind::kMessage) == 1,
                       "no message for the receives of it");
              take_all(h, contexts);
            });
}

// An ACK that is dropped acknowledges nothing: the cell comes once more.
void add_dropped_ack(SharedGroup& group, const std::string& name, const std::string& clause,
                     const std::string& what, std::function<ByteVector(End&)> make) {
  group.add(name, clause, "An ACK " + what + " acknowledges nothing.",
            [make = std::move(make)](End& h) {
              if (!h.attach() || !take_unacknowledged(h)) return;
              h.inbox().forget();
              h.send_cell(make(h));
              if (!await_again(h, acks_of_cells(h))) return;
              h.habits.acknowledges = true;
              acknowledge(h);
              expect_serving(h, "a target that serves after a loss");
            });
}

ByteVector ack_cell(End& h, const AckExt& ack) {
  fabric::CellHead head = h.cell(0, Op::kAck, fabric::Pos::kOnly);
  head.header.lcn = {};
  head.header.flags = 0;
  head.header.psn = h.channel(0).expected_psn - 1U;
  head.ack = &ack;
  return make_cell(h, head, {});
}

void add_dropped_acks(SharedGroup& group) {
  add_dropped_ack(group, "ack_of_unsent", "P-ACK-6", "of cells that were never sent", [](End& h) {
    AckExt ack = ack_of(h, 0);
    ack.cumulative = ack.cumulative + 500U;
    return ack_cell(h, ack);
  });
  add_dropped_ack(group, "ack_of_no_code", "P-ACK-7", "with the code of a NAK", [](End& h) {
    ByteVector cell = ack_cell(h, ack_of(h, 0));
    patch(h, cell, fabric::kMacHeaderBytes, {0x60});
    return cell;
  });
}

void add_credits(SharedGroup& group) {
  group.add("receive_credits", "P-RC-17",
            "With one receive in our ACKs one message at a time is sent.", [](End& h) {
              const auto contexts = wait_for_receives(h);
              if (!contexts.empty()) take_all(h, contexts);
            });
}

constexpr std::uint32_t kSmallBuffer = 32 << 10;  // bytes: fewer than the replies of a case have

// Replies for a receive buffer that does not take all of them at once: those that came are not
// acknowledged. Returns their contexts; none if the case has ended.
template <class Player>
std::vector<TransactionContext> fill_small_buffer(Player& h) {
  h.terms.receive_buffer_bytes = kSmallBuffer;
  if (!attach_by_new_link(h)) return {};
  constexpr std::size_t kReplyBytes = 3900;
  if (!can_send(h, kReplyBytes + kReplyBytes / 20)) return {};
  std::vector<TransactionContext> contexts;
  h.habits.acknowledges = false;
  h.inbox().forget();
  for (int i = 0; i < 8; ++i) {  // that may be open: P-CFG-2
    contexts.push_back(h.next_context());
    send_message(h, echo_message(contexts.back(), kReplyBytes));
  }
  await_burst(h);
  return h.is_good() ? contexts : std::vector<TransactionContext>{};
}

template <class Player>
void add_buffer(GroupOf<Player>& group, const std::string& prefix) {
  group.add(prefix + "receive_buffer", "P-RC-22,P-LINK-16",
            "No more than half of the peer's receive buffer is in flight.", [](Player& h) {
              const auto contexts = fill_small_buffer(h);
              if (contexts.empty()) return;
              std::size_t bytes = h.channel(0).partial.size();
              for (const Event& e : h.inbox().events()) {
                bytes += e.kind == EventKind::kMessage ? e.bytes.size() : 0;
              }
              h.expect(bytes > 0 && bytes <= kSmallBuffer / 2,
                       "half of the receive buffer at most");
              take_all(h, contexts);
            });
  Case& asks = group.add(prefix + "asks_for_ack", "P-RC-6",
                         "The last cell that may be sent for now asks for an ACK.", [](Player& h) {
                           const auto contexts = fill_small_buffer(h);
                           if (contexts.empty()) return;
                           h.expect(h.channel(0).asked_for_ack, "flag A");
                           take_all(h, contexts);
                         });
  asks.level = Level::kShould;
}

}  // namespace

std::vector<Case> repair_cases() {
  SharedGroup shared("loss");
  add_lost(shared);
  add_refused_packet(shared);
  add_dropped_acks(shared);
  add_dropped_nak(shared, "nak_of_unsent", "cells that were never sent", 500);
  add_dropped_nak(shared, "nak_of_less", "less than an ACK before", -2);
  add_ack_of_less(shared);
  add_credits(shared);
  Group of_host("loss");
  add_buffer(of_host, "");
  UnitGroup of_unit("loss");
  add_buffer(of_unit, "host_");
  std::vector<Case> all = shared.take();
  for (std::vector<Case> some : {of_host.take(), of_unit.take()}) {
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace splitnic::conformance
