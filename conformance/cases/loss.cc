// RC with the target as the sender: loss, ACKs and NAKs that are right and wrong.
// docs/protocol/ack.md
#include "conformance/case.h"
#include "conformance/cases/time_out.h"
#include "conformance/cells.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::AckCode;
using fabric::AckExt;
using fabric::CellHead;
using fabric::Op;
using fabric::Pos;

constexpr base::Duration kQuiet = 60ms;
constexpr base::Duration kFirstTimeOutMax = 600ms;  // 500 ms, and a moment
constexpr int kTimeOuts = 4;                        // the best of them counts
constexpr base::Duration kSettled = 1ms;            // an ACK has arrived
constexpr base::Duration kRnrUnit = 10us;           // of the wait in a NAK

void add_loss(SharedGroup& group) {
  group.add("retransmits", "P-RC-8",
            "A cell that is not acknowledged is sent once more within 500 ms.", [](End& h) {
              if (!h.attach()) return;
              bool is_in_time = false;
              for (int i = 0; i < kTimeOuts && h.is_good() && !is_in_time; ++i) {
                if (!take_unacknowledged(h)) return;
                const auto took = await_again(h, acks_of_cells(h));
                is_in_time = took && *took <= kFirstTimeOutMax;
                acknowledge(h);
              }
              h.expect(is_in_time, "a retransmission within 500 ms");
              h.habits.acknowledges = true;
              expect_serving(h, "a target that serves after a loss");
            });
  Case& follows = group.add("time_out_follows", "P-RC-8",
                            "Round trips that get longer lengthen the time-out.", [](End& h) {
                              if (!h.attach()) return;
                              const auto time_out = lengthen_time_out(h, acks_of_cells(h));
                              if (!time_out) return;
                              h.expect(*time_out >= kTimeOutMin,
                                       "a time-out of 60 ms behind ACKs that come after 100 ms");
                              h.habits.acknowledges = true;
                              expect_serving(h, "a target that serves after a loss");
                            });
  follows.level = Level::kShould;  // which ACKs a target measures is its own choice
  Case& bitmap = group.add(
      "bitmap_obeyed", "P-RC-11",
      "Only the cells that the bitmap does not name are sent once more.", [](End& h) {
        if (!h.attach()) return;
        h.habits.acknowledges = false;
        const fabric::Lcn first = h.channel(0).expected_lcn;
        AckExt some = ack_of(h, 0);  // as before the packet
        const auto context = h.next_context();
        const ByteVector request = echo_message(context, 3000);
        if (!can_send(h, request.size())) return;
        send_message(h, request);
        if (!await_reply(h, context)) return;
        const AckExt all = ack_of(h, 0);
        const auto cells = static_cast<unsigned>(all.cumulative - first) + 1U;
        for (unsigned i = 1; i < cells; ++i) some.set_bit(i - 1);
        for (int i = 0; i < 4; ++i) {
          send_ack(h, 0, Op::kAck, some, h.channel(0).expected_psn - 1U);
        }
        h.listen(kQuiet);  // what was sent before the ACK arrived
        h.inbox().forget();
        for (int i = 0; i < 40 && h.inbox().retransmitted().empty(); ++i) h.listen(kQuiet);
        h.expect(!h.inbox().retransmitted().empty(), "a retransmission of the first cell");
        for (const fabric::Lcn lcn : h.inbox().retransmitted()) {
          h.expect(lcn == first, "no retransmission of a cell that the bitmap names");
        }
        send_ack(h, 0, Op::kAck, all, h.channel(0).expected_psn - 1U);
        h.habits.acknowledges = true;
        expect_serving(h, "a target that serves after a loss");
      });
  bitmap.level = Level::kShould;
}

// A reply that is not acknowledged, and this NAK of it. Returns how long it took until the reply
// came once more; nothing if it did so before the NAK.
std::optional<base::Duration> refuse_reply(End& h, AckCode code, base::Duration wait) {
  const fabric::Psn psn = h.channel(0).expected_psn;
  AckExt nak = ack_of(h, 0);
  nak.code = code;
  nak.detail = static_cast<std::uint16_t>(wait / kRnrUnit);
  const Withheld acks = acks_of_cells(h);
  if (!acks.take()) return std::nullopt;
  const bool is_early = acks.came_again();
  send_ack(h, 0, Op::kNak, nak, psn);
  const auto took = await_again(h, acks);
  acks.acknowledge();
  h.listen(kSettled);
  return is_early || !took || *took < wait ? std::nullopt : took;
}

// The best of some replies comes once more after this part of the time-out, and before half of it.
void expect_obeyed(End& h, AckCode code, int wait_part) {
  if (!h.attach()) return;
  const auto time_out = lengthen_time_out(h, acks_of_cells(h));
  if (!time_out) return;
  const base::Duration wait = wait_part == 0 ? base::Duration{} : *time_out / wait_part;
  expect_soon(h, *time_out, [&] { return refuse_reply(h, code, wait); });
  h.habits.acknowledges = true;
  expect_serving(h, "a target that serves after a NAK");
}

void add_naks(SharedGroup& group) {
  group.add("sequence_nak_obeyed", "P-RC-21",
            "After NAK 0x60 the cells from the named one on are sent once more, before the "
            "time-out.",
            [](End& h) { expect_obeyed(h, AckCode::kSequence, 0); });
  group.add("rnr_obeyed", "P-RC-16",
            "After an RNR NAK the packet is sent once more, not before the time that the NAK "
            "states, and before the time-out.",
            [](End& h) { expect_obeyed(h, AckCode::kRnr, 4); });
}

void add_bad_acks(SharedGroup& group) {
  Case& future = group.add("ack_of_the_future", "P-ACK-6",
                           "An ACK of cells that were never sent is dropped.", [](End& h) {
                             if (!h.attach()) return;
                             AckExt ack = ack_of(h, 0);
                             ack.cumulative = ack.cumulative + 500U;
                             send_ack(h, 0, Op::kAck, ack, h.channel(0).expected_psn);
                             expect_ignored(h, "an ACK of the future that is dropped");
                           });
  future.level = Level::kRobustness;
  Case& past = group.add("ack_of_the_past", "P-ACK-6",
                         "An ACK that is older than the last one is dropped.", [](End& h) {
                           if (!h.attach()) return;
                           AckExt ack = ack_of(h, 0);
                           ack.cumulative = ack.cumulative - 900U;
                           send_ack(h, 0, Op::kAck, ack, h.channel(0).expected_psn - 9U);
                           expect_ignored(h, "an ACK of the past that is dropped");
                         });
  past.level = Level::kRobustness;
  group.add("nak_of_nothing", "P-RC-14,P-ERR-5",
            "A NAK of a packet that is not in flight is dropped.", [](End& h) {
              if (!h.attach() || !expect_serving(h, "a target that serves")) return;
              AckExt nak = ack_of(h, 0);
              nak.code = AckCode::kInvalidRequest;
              send_ack(h, 0, Op::kNak, nak, h.channel(0).expected_psn + 7U);
              expect_ignored(h, "a NAK of nothing that is dropped");
            });
  Case& unknown = group.add("ack_code_unknown", "P-ACK-7",
                            "An ACK with an unknown code is dropped.", [](End& h) {
                              if (!h.attach()) return;
                              const AckExt ack = ack_of(h, 0);
                              CellHead head = h.cell(0, Op::kAck, Pos::kOnly);
                              head.header.lcn = {};
                              head.header.flags = 0;
                              head.ack = &ack;
                              ByteVector cell = make_cell(h, head, {});
                              patch(h, cell, fabric::kMacHeaderBytes, {0x33});
                              h.send_cell(cell);
                              expect_ignored(h, "an ACK with an unknown code that is dropped");
                            });
  unknown.level = Level::kRobustness;
}

void add_loss_ends(SharedGroup& group) {
  group.add_harmful("nak_ends", "P-RC-14", "A NAK 0x61 of a packet in flight ends the connection.",
                    [](End& h) {
                      if (!h.attach()) return;
                      h.habits.acknowledges = false;
                      const fabric::Psn psn = h.channel(0).expected_psn;
                      AckExt nak = ack_of(h, 0);
                      nak.code = AckCode::kInvalidRequest;
                      const auto context = h.next_context();
                      send_message(h, echo_message(context, 8));
                      if (!await_reply(h, context)) return;
                      send_ack(h, 0, Op::kNak, nak, psn);
                      h.habits.acknowledges = true;
                      expect_ended(h, "an end of the connection");
                    });
  group.add_harmful("terminate", "P-TERM-3", "A TERMINATE ends the queue pair.", [](End& h) {
    if (!h.attach()) return;
    std::array<std::byte, fabric::kTerminateBytes> payload{};
    fabric::Terminate{}.emit(payload.data());
    CellHead head = h.cell(0, Op::kTerminate, Pos::kOnly);
    head.header.lcn = {};
    head.header.flags = 0;
    h.send_cell(make_cell(h, head, payload));
    expect_ended(h, "an end of the connection");
  });
}

}  // namespace

std::vector<Case> loss_cases() {
  SharedGroup group("loss");
  add_loss(group);
  add_naks(group);
  add_bad_acks(group);
  add_loss_ends(group);
  return group.take();
}

}  // namespace splitnic::conformance
