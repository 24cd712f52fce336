// RC with the target as the sender: loss, ACKs and NAKs that are right and wrong.
// docs/protocol/ack.md
#include "conformance/case.h"
#include "conformance/cases/parts.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::AckCode;
using fabric::AckExt;
using fabric::CellHead;
using fabric::Op;
using fabric::Pos;

constexpr base::Duration kQuiet = 60ms;

void add_loss(SharedGroup& group) {
  group.add("retransmits", "P-RC-8", "A cell that is not acknowledged is sent once more.",
            [](End& h) {
              if (!h.attach()) return;
              h.acknowledges = false;
              const auto context = h.next_context();
              h.send_message(echo_message(context, 8));
              if (!h.await_reply(context)) return;
              h.forget_events();
              for (int i = 0; i < 40 && h.retransmitted().empty(); ++i) h.listen(kQuiet);
              h.expect(!h.retransmitted().empty(), "a retransmission");
              h.acknowledges = true;
              h.expect_serving("a target that serves after a loss");
            });
  Case& bitmap =
      group.add("bitmap_obeyed", "P-RC-11",
                "Only the cells that the bitmap does not name are sent once more.", [](End& h) {
                  if (!h.attach()) return;
                  h.acknowledges = false;
                  const fabric::Lcn first = h.channel(0).expected_lcn;
                  const auto context = h.next_context();
                  const ByteVector request = echo_message(context, 3000);
                  if (!can_send(h, request.size())) return;
                  h.send_message(request);
                  if (!h.await_reply(context)) return;
                  const AckExt all = h.ack_of(0);
                  AckExt some = all;
                  some.cumulative = first - 1U;
                  const auto cells = static_cast<unsigned>(all.cumulative - first) + 1U;
                  for (unsigned i = 1; i < cells; ++i) some.set_bit(i - 1);
                  for (int i = 0; i < 4; ++i) {
                    h.send_ack(0, Op::kAck, some, h.channel(0).expected_psn - 1U);
                  }
                  h.listen(kQuiet);  // what was sent before the ACK arrived
                  h.forget_events();
                  for (int i = 0; i < 40 && h.retransmitted().empty(); ++i) h.listen(kQuiet);
                  h.expect(!h.retransmitted().empty(), "a retransmission of the first cell");
                  for (const fabric::Lcn lcn : h.retransmitted()) {
                    h.expect(lcn == first, "no retransmission of a cell that the bitmap names");
                  }
                  h.send_ack(0, Op::kAck, all, h.channel(0).expected_psn - 1U);
                  h.acknowledges = true;
                  h.expect_serving("a target that serves after a loss");
                });
  bitmap.level = Level::kShould;
}

void add_naks(SharedGroup& group) {
  group.add("sequence_nak_obeyed", "P-RC-21",
            "After NAK 0x60 the cells from the named one on are sent once more.", [](End& h) {
              if (!h.attach()) return;
              h.acknowledges = false;
              const fabric::Psn psn = h.channel(0).expected_psn;
              AckExt nak = h.ack_of(0);
              nak.code = AckCode::kSequence;
              const auto context = h.next_context();
              h.send_message(echo_message(context, 8));
              if (!h.await_reply(context)) return;
              h.forget_events();
              h.send_ack(0, Op::kNak, nak, psn);
              h.listen(kQuiet);
              h.expect(!h.retransmitted().empty(), "a retransmission at once");
              h.acknowledges = true;
              h.expect_serving("a target that serves after NAK 0x60");
            });
  group.add("rnr_obeyed", "P-RC-16",
            "After an RNR NAK the packet is sent once more, and nothing is lost.", [](End& h) {
              if (!h.attach()) return;
              h.acknowledges = false;
              const fabric::Psn psn = h.channel(0).expected_psn;
              AckExt rnr = h.ack_of(0);
              rnr.code = AckCode::kRnr;
              rnr.detail = 100;
              const auto context = h.next_context();
              h.send_message(echo_message(context, 8));
              if (!h.await_reply(context)) return;
              h.forget_events();
              h.send_ack(0, Op::kNak, rnr, psn);
              for (int i = 0; i < 20 && h.retransmitted().empty(); ++i) h.listen(kQuiet);
              h.expect(!h.retransmitted().empty(), "a retransmission after the wait");
              h.acknowledges = true;
              h.expect_serving("a target that serves after an RNR NAK");
            });
}

void add_bad_acks(SharedGroup& group) {
  Case& future = group.add("ack_of_the_future", "P-ACK-6",
                           "An ACK of cells that were never sent is dropped.", [](End& h) {
                             if (!h.attach()) return;
                             AckExt ack = h.ack_of(0);
                             ack.cumulative = ack.cumulative + 500U;
                             h.send_ack(0, Op::kAck, ack, h.channel(0).expected_psn);
                             h.expect_ignored("an ACK of the future that is dropped");
                           });
  future.level = Level::kRobustness;
  Case& past = group.add("ack_of_the_past", "P-ACK-6",
                         "An ACK that is older than the last one is dropped.", [](End& h) {
                           if (!h.attach()) return;
                           AckExt ack = h.ack_of(0);
                           ack.cumulative = ack.cumulative - 900U;
                           h.send_ack(0, Op::kAck, ack, h.channel(0).expected_psn - 9U);
                           h.expect_ignored("an ACK of the past that is dropped");
                         });
  past.level = Level::kRobustness;
  group.add("nak_of_nothing", "P-RC-14,P-ERR-5",
            "A NAK of a packet that is not in flight is dropped.", [](End& h) {
              if (!h.attach() || !h.expect_serving("a target that serves")) return;
              AckExt nak = h.ack_of(0);
              nak.code = AckCode::kInvalidRequest;
              h.send_ack(0, Op::kNak, nak, h.channel(0).expected_psn + 7U);
              h.expect_ignored("a NAK of nothing that is dropped");
            });
  Case& unknown = group.add("ack_code_unknown", "P-ACK-7",
                            "An ACK with an unknown code is dropped.", [](End& h) {
                              if (!h.attach()) return;
                              const AckExt ack = h.ack_of(0);
                              CellHead head = h.cell(0, Op::kAck, Pos::kOnly);
                              head.header.lcn = {};
                              head.header.flags = 0;
                              head.ack = &ack;
                              ByteVector cell = h.make(head, {});
                              patch(h, cell, fabric::kMacHeaderBytes, {0x33});
                              h.send_cell(cell);
                              h.expect_ignored("an ACK with an unknown code that is dropped");
                            });
  unknown.level = Level::kRobustness;
}

void add_loss_ends(SharedGroup& group) {
  group.add_harmful("nak_ends", "P-RC-14", "A NAK 0x61 of a packet in flight ends the connection.",
                    [](End& h) {
                      if (!h.attach()) return;
                      h.acknowledges = false;
                      const fabric::Psn psn = h.channel(0).expected_psn;
                      AckExt nak = h.ack_of(0);
                      nak.code = AckCode::kInvalidRequest;
                      const auto context = h.next_context();
                      h.send_message(echo_message(context, 8));
                      if (!h.await_reply(context)) return;
                      h.send_ack(0, Op::kNak, nak, psn);
                      h.acknowledges = true;
                      h.expect_ended("an end of the connection");
                    });
  group.add_harmful("terminate", "P-TERM-3", "A TERMINATE ends the queue pair.", [](End& h) {
    if (!h.attach()) return;
    std::array<std::byte, fabric::kTerminateBytes> payload{};
    fabric::Terminate{}.emit(payload.data());
    CellHead head = h.cell(0, Op::kTerminate, Pos::kOnly);
    head.header.lcn = {};
    head.header.flags = 0;
    h.send_cell(h.make(head, payload));
    h.expect_ended("an end of the connection");
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
