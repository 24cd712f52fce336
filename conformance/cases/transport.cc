// RC: sequence and acknowledgement. docs/protocol/ack.md, docs/protocol/cell.md
#include <algorithm>

#include "conformance/case.h"
#include "conformance/cases/parts.h"
#include "conformance/cells.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"

namespace splitnic::conformance {
namespace {

using fabric::AckCode;
using fabric::CellHead;
using fabric::Op;
using fabric::Pos;

constexpr std::uint32_t kNoTag = 0x5EED0BAD;  // of a window
constexpr std::size_t kLongBytes = 3000;      // of a message in several cells

void skip_if_reads_are_served(End& h) {
  if (h.channel(h.data()).reads_served > 0)
    h.outcome().skip("the target serves reads and FetchOps");
}

ByteVector payload_of(std::size_t bytes) { return ByteVector(bytes, std::byte{0x5A}); }

// The ACK of this cell, the newest that was sent.
std::optional<Event> await_ack(End& h, fabric::Lcn lcn) {
  return h.await_if(
      [lcn](const Event& e) {
        return e.kind == EventKind::kAck && e.channel == 0 && e.ack.selective &&
               e.ack.cumulative == lcn;
      },
      "an ACK with the LCN of the cell");
}

// An ACK whose bitmap names a cell. Words without a bit name none.
bool names_cells(const Event& e) {
  if (e.kind != EventKind::kAck) return false;
  for (unsigned i = 0; i < e.ack.bitmap_words; ++i) {
    if (e.ack.bitmap.at(i) != 0) return true;
  }
  return false;
}

// Cells that must be refused with NAK 0x61 and end the connection.
void add_refused(SharedGroup& group, const std::string& name, const std::string& clause,
                 const std::string& description, std::function<unsigned(End&)> send) {
  group.add_harmful(name, clause, description, [send = std::move(send)](End& h) {
    if (!h.attach()) return;
    const unsigned channel = send(h);
    const auto nak = expect_nak(h, channel, AckCode::kInvalidRequest, "NAK invalid request");
    if (nak) expect_ended_by(h, *nak, "a queue pair that takes no cell after its NAK");
  });
}

void add_acks(SharedGroup& group) {
  group.add(
      "ack", "P-RC-5,P-ACK-1,P-ACK-2", "A cell with flag A gets an ACK of its PSN and LCN.",
      [](End& h) {
        if (!h.attach()) return;
        const fabric::Psn psn = h.channel(0).psn;
        const fabric::Lcn lcn = h.channel(0).lcn;
        h.send_cell(next_echo(h, h.next_context()));
        const auto ack = await_ack(h, lcn);
        if (!ack) return;
        h.expect(ack->header.psn == psn && ack->header.csn == 0, "the PSN and CSN of the cell");
        h.expect(ack->ack.detail == 0 && !names_cells(*ack), "no detail, and no bit in a bitmap");
        h.expect(ack->ack.receive_credits > 0, "receive credits");
      });
  group.add("msn", "P-ACK-5,P-CELL-19", "The MSN of ACKs counts the completed packets.",
            [](End& h) {
              if (!h.attach()) return;
              std::uint32_t before = 0;
              for (int i = 0; i < 3; ++i) {
                const fabric::Lcn lcn = h.channel(0).lcn;
                h.send_cell(next_echo(h, h.next_context()));
                const auto ack = await_ack(h, lcn);
                if (!ack) return;
                h.expect(i == 0 || ack->ack.msn == before + 1, "one packet more in each ACK");
                before = ack->ack.msn;
              }
            });
  group.add("duplicate", "P-RC-3", "A cell that was taken before is acknowledged and not executed.",
            [](End& h) {
              if (!h.attach()) return;
              const auto context = h.next_context();
              const ByteVector cell = next_echo(h, context);
              h.send_cell(cell);
              await_reply(h, context);
              h.inbox().forget();
              h.send_cell(cell);
              h.await(EventKind::kAck, "an ACK of a duplicate");
              expect_ignored(h, "no NAK of a duplicate");
              h.expect(h.inbox().waiting(EventKind::kMessage) == 0, "no second reply");
            });
}

void add_gaps(SharedGroup& group) {
  Case& early =
      group.add("early", "P-RC-4",
                "A cell behind a gap is kept, and executed when the gap is filled.", [](End& h) {
                  if (!h.attach()) return;
                  const auto first = h.next_context();
                  const auto second = h.next_context();
                  const fabric::Lcn lcn = h.channel(0).lcn;
                  const ByteVector one = next_echo(h, first);
                  const ByteVector two = next_echo(h, second);
                  h.send_cell(two);
                  const auto ack = h.await_if(names_cells, "an ACK with a bit in its bitmap");
                  if (!ack) return;
                  h.expect(ack->ack.cumulative == lcn - 1U, "the last LCN before the gap");
                  h.expect(ack->ack.bit(0), "the first bit for the second cell behind it");
                  h.send_cell(one);
                  await_reply(h, first);
                  await_reply(h, second);
                });
  early.level = Level::kShould;
  group.add("bitmap", "P-ACK-3,P-ACK-4",
            "The bitmap has a bit for each cell behind the gap that arrived.", [](End& h) {
              if (!h.attach()) return;
              std::vector<ByteVector> cells;
              std::vector<messaging::TransactionContext> contexts;
              for (int i = 0; i < 5; ++i) {
                contexts.push_back(h.next_context());
                cells.push_back(next_echo(h, contexts.back()));
              }
              h.send_cell(cells[2]);
              h.send_cell(cells[4]);
              auto ack = h.await_if(names_cells, {});
              if (!ack) return h.outcome().skip("the target keeps no early cells");
              while (ack && !ack->ack.bit(3)) ack = h.await_if(names_cells, "the bit of the fifth");
              if (!ack) return;
              h.expect(ack->ack.bit(1) && !ack->ack.bit(0) && !ack->ack.bit(2),
                       "bits of the third and fifth cell only");
              for (const std::size_t i : {0U, 1U, 3U}) h.send_cell(cells[i]);
              for (const auto context : contexts) await_reply(h, context);
            });
  group
      .add("far_ahead", "P-RC-4", "A cell beyond the window is dropped.",
           [](End& h) {
             if (!h.attach()) return;
             CellHead head = h.cell(0, Op::kSend, Pos::kOnly);
             head.header.lcn = head.header.lcn + 20000U;
             h.send_cell(make_cell(h, head, echo_message(h.next_context(), 8)));
             expect_ignored(h, "a cell beyond the window that is dropped");
           })
      .level = Level::kRobustness;
  group.add("far_behind", "P-RC-3", "A cell far behind the next one is not executed.", [](End& h) {
    if (!h.attach()) return;
    const auto context = h.next_context();
    CellHead head = h.cell(0, Op::kSend, Pos::kOnly);
    head.header.lcn = head.header.lcn - 3000U;
    h.send_cell(make_cell(h, head, echo_message(context, 8)));
    expect_ignored(h, "a cell of the past that is dropped");
    h.expect(!h.inbox().has_message(context), "no reply to a cell of the past");
  });
}

void add_bitmap_limit(SharedGroup& group) {
  group.add("bitmap_is_bounded", "P-ACK-8",
            "However far ahead a cell is, the bitmap has 64 words at most, 8 in the full profile.",
            [](End& h) {
              if (!h.attach()) return;
              const std::uint32_t words_max = h.is_full() ? 8 : 64;
              CellHead head = h.cell(0, Op::kSend, Pos::kOnly);
              const std::uint32_t ahead = 32 * words_max + 40;
              head.header.lcn = head.header.lcn + ahead;
              head.header.psn = head.header.psn + ahead;
              h.send_cell(make_cell(h, head, echo_message(h.next_context(), 8)));
              // One that is nearer has its bit in any case.
              const ByteVector missing = next_echo(h, h.next_context());
              h.send_cell(next_echo(h, h.next_context()));
              const auto ack = h.await_if(names_cells, {});
              if (!ack) return h.outcome().skip("the target keeps no early cells");
              h.expect(ack->ack.bitmap_words <= words_max, "a bitmap within its limit");
              h.send_cell(missing);
              expect_ignored(h, "a connection that stays");
            });
}

void add_long_messages(SharedGroup& group) {
  group.add("long_message", "P-RC-1", "A message of several cells is put together.", [](End& h) {
    if (!h.attach()) return;
    const auto context = h.next_context();
    const ByteVector request = echo_message(context, kLongBytes);
    if (!can_send(h, request.size())) return;
    send_message(h, request);
    const auto reply = await_reply(h, context);
    if (reply) h.expect(reply->data.size() >= kLongBytes, "all of the data in the reply");
  });
  Case& reordered = group.add(
      "long_message_reordered", "P-RC-4", "Its cells may arrive in any order.", [](End& h) {
        if (!h.attach()) return;
        const auto context = h.next_context();
        const ByteVector request = echo_message(context, kLongBytes);
        if (!can_send(h, request.size())) return;
        const std::size_t mcp = h.channel(0).mcp;
        const auto count = static_cast<std::uint32_t>((request.size() + mcp - 1) / mcp);
        std::vector<ByteVector> cells;
        for (std::uint32_t csn = 0; csn < count; ++csn) {
          const Pos pos = fabric::position_of(csn, count);
          const base::Bytes part =
              base::Bytes(request).subspan(csn * mcp, std::min(mcp, request.size() - csn * mcp));
          cells.push_back(
              make_cell(h, h.cell(0, Op::kSend, pos, static_cast<std::uint16_t>(csn)), part));
          advance(h, 0, pos);
        }
        for (std::size_t i = cells.size(); i > 0; --i) h.send_cell(cells[i - 1]);
        await_reply(h, context);
        expect_ignored(h, "no NAK of cells that arrive in another order");
      });
  reordered.level = Level::kShould;
}

// Sends the first cell of a packet, and behind it a whole cell of this operation, position and CSN,
// on channel 0. Returns that channel.
std::uint32_t put_after_first(End& h, Op op, Pos pos, std::uint16_t csn) {
  const std::size_t mcp = h.channel(0).mcp;
  put_cell(h, 0, h.cell(0, Op::kSend, Pos::kFirst), payload_of(mcp));
  put_cell(h, 0, h.cell(0, op, pos, csn), payload_of(mcp));
  return 0;
}

void add_refused_sequences(SharedGroup& group) {
  add_refused(group, "psn_jumps", "P-RC-12,P-RC-24",
              "The next cell with another PSN gets NAK 0x61.", [](End& h) {
                CellHead head = h.cell(0, Op::kSend, Pos::kOnly);
                head.header.psn = head.header.psn + 1U;
                h.send_cell(make_cell(h, head, echo_message(h.next_context(), 8)));
                return 0U;
              });
  add_refused(group, "csn_jumps", "P-RC-12", "A cell whose CSN leaves one out gets NAK 0x61.",
              [](End& h) { return put_after_first(h, Op::kSend, Pos::kMiddle, 2); });
  add_refused(group, "middle_without_first", "P-RC-12",
              "A packet that begins in its middle gets NAK 0x61.", [](End& h) {
                put_cell(h, 0, h.cell(0, Op::kSend, Pos::kMiddle, 1), payload_of(h.channel(0).mcp));
                return 0U;
              });
  add_refused(group, "op_changes", "P-RC-12", "A packet whose operation changes gets NAK 0x61.",
              [](End& h) { return put_after_first(h, Op::kRdmaWrite, Pos::kMiddle, 1); });
  add_refused(group, "first_in_a_packet", "P-RC-12",
              "A packet that begins inside another gets NAK 0x61.",
              [](End& h) { return put_after_first(h, Op::kSend, Pos::kFirst, 0); });
  add_refused(group, "short_first", "P-CELL-5",
              "A first cell of fewer bytes than the MCP gets NAK 0x61.", [](End& h) {
                put_cell(h, 0, h.cell(0, Op::kSend, Pos::kFirst),
                         payload_of(h.channel(0).mcp - 4U));
                return 0U;
              });
  add_refused(group, "empty_last", "P-CELL-5", "A last cell without a payload gets NAK 0x61.",
              [](End& h) {
                put_cell(h, 0, h.cell(0, Op::kSend, Pos::kFirst), payload_of(h.channel(0).mcp));
                put_cell(h, 0, h.cell(0, Op::kSend, Pos::kLast, 1), {});
                return 0U;
              });
}

void add_refused_operations(SharedGroup& group) {
  add_refused(group, "long_cell", "P-CELL-5", "A cell of more bytes than the MCP gets NAK 0x61.",
              [](End& h) {
                put_cell(h, 0, h.cell(0, Op::kSend, Pos::kOnly), payload_of(h.channel(0).mcp + 4U));
                return 0U;
              });
  group.add_harmful(
      "too_long_for_the_receive", "P-RC-19",
      "A Send of more than MSG_MAX gets NAK 0x61, or is dropped as a message.", [](End& h) {
        if (!h.attach()) return;
        const auto context = h.next_context();
        const std::size_t over = echo_message(context, 0).size();
        send_message(h, echo_message(context, h.agreed().message_max + 8 - over));
        const auto nak = h.await_if([](const Event& e) { return e.kind == EventKind::kNak; }, {});
        if (!nak) {
          expect_ignored(h, "a message that is dropped");
          h.expect(!h.inbox().has_message(context), "no reply to a message that is too long");
          return;
        }
        h.expect(nak->ack.code == AckCode::kInvalidRequest, "NAK invalid request");
        expect_ended_by(h, *nak, "a queue pair that takes no cell after its NAK");
        h.expect(!h.inbox().has_message(context), "no reply to a message that is too long");
      });
  add_refused(group, "write_on_channel_0", "P-CH-8,P-RC-26",
              "An RDMA write on channel 0 gets NAK 0x61.", [](End& h) {
                has_two_channels(h);
                CellHead head = h.cell(0, Op::kRdmaWrite, Pos::kOnly);
                head.va_mh = {h.agreed().pools.at(0).address, h.agreed().pools.at(0).handle, 64};
                put_cell(h, 0, head, payload_of(64));
                return 0U;
              });
  add_refused(group, "read", "P-RC-42",
              "An RDMA read, which the target does not serve, gets NAK 0x61.", [](End& h) {
                skip_if_reads_are_served(h);
                CellHead head = h.cell(h.data(), Op::kRdmaReadReq, Pos::kOnly);
                head.va_mh = {h.agreed().pools.at(0).address, h.agreed().pools.at(0).handle, 64};
                put_cell(h, h.data(), head, {});
                return h.data();
              });
  add_refused(group, "fetchop", "P-RC-42",
              "A FetchOp, which the target does not serve, gets NAK 0x61.", [](End& h) {
                skip_if_reads_are_served(h);
                const fabric::AtomicExt add{fabric::FetchOp::kFetchAdd, 1, 0};
                CellHead head = h.cell(h.data(), Op::kFetchOpReq, Pos::kOnly);
                head.va_mh = {h.agreed().pools.at(0).address, h.agreed().pools.at(0).handle, 8};
                head.atomic = &add;
                put_cell(h, h.data(), head, {});
                return h.data();
              });
  group.add_harmful(
      "send_dereg", "P-RC-25",
      "A SEND_DEREG of a tag that nobody has gets NAK 0x61, or 0x62 where it is permitted.",
      [](End& h) {
        if (!h.attach()) return;
        CellHead head = h.cell(0, Op::kSendDereg, Pos::kOnly);
        std::uint32_t tag = kNoTag;
        while (std::ranges::any_of(h.agreed().pools,
                                   [tag](const auto& p) { return p.handle.value == tag; }))
          ++tag;
        head.dereg = tag;
        put_cell(h, 0, head, echo_message(h.next_context(), 8));
        const auto nak = h.await_if(
            [](const Event& e) { return e.kind == EventKind::kNak && e.channel == 0; }, "a NAK");
        if (!nak) return;
        h.expect(
            nak->ack.code == AckCode::kInvalidRequest || nak->ack.code == AckCode::kRemoteAccess,
            "NAK invalid request or remote access");
        expect_ended_by(h, *nak, "a queue pair that takes no cell after its NAK");
      });
}

}  // namespace

std::vector<Case> transport_cases() {
  SharedGroup group("rc");
  add_acks(group);
  add_gaps(group);
  add_bitmap_limit(group);
  add_long_messages(group);
  add_refused_sequences(group);
  add_refused_operations(group);
  return group.take();
}

}  // namespace splitnic::conformance
