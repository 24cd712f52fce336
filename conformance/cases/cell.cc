// Cells that are not valid, or that are for somebody else. docs/protocol/cell.md
#include <tuple>

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

using ChangeCell = std::function<void(const End& host, ByteVector& cell)>;

// The next cell of channel 0, an ECHO, changed: it is dropped silently, and as it should be it is
// the next one still.
void add_dropped(SharedGroup& group, const std::string& name, const std::string& clause,
                 const std::string& description, ChangeCell change) {
  group.add(name, clause, description, [change = std::move(change)](End& h) {
    if (!h.attach()) return;
    const auto context = h.next_context();
    const ByteVector good = next_echo(h, context);
    ByteVector bad = good;
    change(h, bad);
    h.send_cell(bad);
    expect_missing(h, good, context);
    expect_ignored(h, "no NAK of a cell that is dropped");
  });
}

// The same, and the target sends NAK 0x61: the header of the cell is usable.
void add_refused(SharedGroup& group, const std::string& name, const std::string& clause,
                 const std::string& description, ChangeCell change) {
  group.add_harmful(name, clause, description, [change = std::move(change)](End& h) {
    if (!h.attach()) return;
    const auto context = h.next_context();
    ByteVector bad = make_cell(h, h.cell(0, Op::kSend, Pos::kOnly), echo_message(context, 8));
    change(h, bad);
    h.send_cell(bad);
    const auto nak = expect_nak(h, 0, AckCode::kInvalidRequest, "NAK invalid request");
    if (!nak) return;
    h.expect(nak->header.psn == h.channel(0).psn, "the PSN of the refused cell in the NAK");
    expect_ended_by(h, *nak, "a queue pair that takes no cell after its NAK");
  });
}

// A good cell that looks unusual.
void add_taken(SharedGroup& group, const std::string& name, const std::string& clause,
               const std::string& description,
               std::function<ByteVector(End&, CellHead, const ByteVector&)> make) {
  group.add(name, clause, description, [make = std::move(make)](End& h) {
    if (!h.attach()) return;
    const auto context = h.next_context();
    h.send_cell(make(h, h.cell(0, Op::kSend, Pos::kOnly), echo_message(context, 8)));
    advance(h, 0, Pos::kOnly);
    await_reply(h, context);
    expect_ignored(h, "a cell that is taken");
  });
}

ChangeCell patched(std::size_t at, const std::vector<std::uint8_t>& bytes) {
  return [=](const End& h, ByteVector& cell) { patch(h, cell, at, bytes); };
}

void add_all_dropped(SharedGroup& group) {
  add_dropped(group, "crc", "P-CELL-3", "A cell with a wrong CRC is dropped.",
              [](const End&, ByteVector& cell) { cell[cell.size() - 1] ^= std::byte{1}; });
  add_dropped(group, "head_bit", "P-CELL-3",
              "A cell of which a bit of the header has changed is dropped.",
              [](const End&, ByteVector& cell) { cell[22] ^= std::byte{4}; });
  add_dropped(group, "short", "P-LINK-11", "A cell of fewer than 32 bytes is dropped.",
              [](const End&, ByteVector& cell) { cell.resize(28); });
  add_dropped(group, "version", "P-CELL-2", "A cell of another version is dropped.",
              patched(0, {0x20}));
  add_dropped(group, "extensions_past_the_end", "P-CELL-2",
              "A cell whose extensions run past its end is dropped.", patched(3, {200}));
  add_dropped(group, "other_dlid", "P-CELL-12", "A cell for another link address is dropped.",
              patched(4, {0x7F, 0xFF}));
  add_dropped(group, "other_slid", "P-CELL-12", "A cell from another link address is dropped.",
              patched(6, {0x7F, 0xFF}));
  add_dropped(group, "unknown_qp", "P-CELL-13",
              "A cell for a queue pair that does not exist is dropped.",
              patched(9, {0x7F, 0xFF, 0xFF}));
  add_dropped(group, "other_source_qp", "P-CELL-14",
              "A cell from a queue pair that is not the peer is dropped.",
              patched(13, {0x7F, 0xFF, 0xFF}));
  add_dropped(group, "other_service", "P-CELL-14",
              "A cell of another service than that of its queue pair is dropped.",
              patched(8, {0x10}));
  add_dropped(group, "malformed_early", "P-RC-23",
              "A malformed cell that is not the next one is dropped without a NAK.",
              [](const End& h, ByteVector& cell) {
                const auto lcn = base::load_be<std::uint16_t>(&cell[26]);
                base::store_be(&cell[26], static_cast<std::uint16_t>(lcn + 9));
                patch(h, cell, 1, {0xFF});
              });
}

// The keys of both ends match: the lower 15 bits are those of the default partition.
void add_partitions(SharedGroup& group) {
  const auto of_partition = [](std::uint16_t key) {
    return [key](End& h, CellHead head, const ByteVector& payload) {
      head.header.partition = fabric::PartitionKey(key);
      return make_cell(h, head, payload);
    };
  };
  add_taken(group, "limited_member", "P-PART-1,P-PART-2",
            "A cell of a limited member of the default partition is taken.", of_partition(0x7FFF));
  for (const auto& [name, key] : {std::pair<std::string, std::uint16_t>{"other_partition", 0x8ABC},
                                  {"partition_zero", 0x8000}}) {
    group.add(name, "P-PART-3,P-CELL-15", "A cell of another partition is dropped.",
              [make = of_partition(key)](End& h) {
                if (!h.attach()) return;
                const auto context = h.next_context();
                const CellHead head = h.cell(0, Op::kSend, Pos::kOnly);
                h.send_cell(make(h, head, echo_message(context, 8)));
                expect_missing(h, next_echo(h, context), context);
                expect_ignored(h, "no NAK of a cell that is dropped");
              });
  }
}

void add_levels(SharedGroup& group) {
  group.add("service_levels", "P-CELL-16", "A cell of each service level is taken.", [](End& h) {
    if (!h.attach()) return;
    for (std::uint8_t level = 0; level < 16 && h.is_good(); ++level) {
      const auto context = h.next_context();
      CellHead head = h.cell(0, Op::kSend, Pos::kOnly);
      head.header.sl = level;
      put_cell(h, 0, head, echo_message(context, 8));
      await_reply(h, context);
    }
  });
  Case& of_messages = group.add(
      "level_of_messages", "P-CH-17", "Messages of the target have service level 3.", [](End& h) {
        if (!h.attach()) return;
        const auto context = h.next_context();
        send_message(h, echo_message(context, 8));
        const auto reply = h.await_if(
            [context](const Event& e) {
              return e.kind == EventKind::kMessage && e.message.context == context;
            },
            "a reply to ECHO");
        if (reply) h.expect(reply->header.sl == 3, "service level 3");
      });
  of_messages.level = Level::kShould;
}

void add_all_dropped_or_refused(SharedGroup& group) {
  add_refused(group, "op_unknown", "P-CELL-11",
              "The next cell with an unknown operation gets NAK 0x61.", patched(1, {0xFF}));
  add_refused(group, "op_of_another_service", "P-CELL-11",
              "The next cell with an operation that its service does not have gets NAK 0x61.",
              patched(1, {0xC8}));
  add_refused(group, "only_with_csn", "P-CELL-4",
              "A cell with pos only and a CSN other than 0 gets NAK 0x61.", patched(20, {0, 3}));
  add_refused(group, "idata_without_extension", "P-CELL-10",
              "Flag I without the extension gets NAK 0x61.",
              [](const End& h, ByteVector& cell) { patch(h, cell, 2, {0xC0}); });
  add_refused(group, "extension_without_flag", "P-CELL-10",
              "Extension words that nothing calls for get NAK 0x61.",
              [](const End& h, ByteVector& cell) { patch(h, cell, 3, {1}); });
  add_refused(group, "payload_longer", "P-CELL-2",
              "A payload length beyond the end of the cell gets NAK 0x61.",
              [](const End& h, ByteVector& cell) {
                patch(h, cell, 22, {0x05, 0x00});
              });
  add_refused(group, "payload_shorter", "P-CELL-2",
              "A payload length before the end of the cell gets NAK 0x61.",
              [](const End& h, ByteVector& cell) {
                patch(h, cell, 22, {0, 4});
              });
  add_refused(group, "pad_bits", "P-CELL-9",
              "Pad bits that the payload length contradicts get NAK 0x61.",
              [](const End& h, ByteVector& cell) { patch(h, cell, 2, {0x83}); });
  add_refused(group, "fetchop_response_length", "P-CELL-2",
              "A FETCHOP_RESP of another length than 8 gets NAK 0x61.", patched(1, {0xC6}));
}

void add_all_taken(SharedGroup& group) {
  add_taken(group, "reserved_bits", "P-GEN-4", "Reserved bits of the MAC header are ignored.",
            [](End& h, const CellHead& head, const ByteVector& payload) {
              ByteVector cell = make_cell(h, head, payload);
              patch(h, cell, 12, {0xFF});
              patch(h, cell, 16, {0xFF});
              return cell;
            });
  add_taken(group, "solicited", "P-CELL-17", "Flag S changes nothing.",
            [](End& h, CellHead head, const ByteVector& payload) {
              head.header.flags |= fabric::kFlagSolicited;
              return make_cell(h, head, payload);
            });
  add_taken(group, "retransmission", "P-CELL-17",
            "Flag R on a cell that was not seen changes nothing.",
            [](End& h, CellHead head, const ByteVector& payload) {
              head.header.flags |= fabric::kFlagRetransmission;
              return make_cell(h, head, payload);
            });
  add_taken(group, "global_header", "P-CELL-1", "A cell may have a GNH.",
            [](End& h, CellHead head, const ByteVector& payload) {
              fabric::Gnh gnh;
              gnh.hop_limit = 64;
              head.gnh = &gnh;
              return make_cell(h, head, payload);
            });
  add_taken(group, "idata_on_send", "P-CELL-7", "A Send may have idata.",
            [](End& h, CellHead head, const ByteVector& payload) {
              head.idata = 0x12345678;
              return make_cell(h, head, payload);
            });
  add_taken(group, "packet_crc", "P-CELL-8", "A cell with a good packet CRC is taken.",
            [](End& h, CellHead head, const ByteVector& payload) {
              head.header.flags |= fabric::kFlagPacketCrc;
              return make_cell(h, head, payload);
            });
}

// A first cell of MCP bytes with a flag that it may not have, or a good one and a cell with CSN 0
// behind it: nothing else of them is wrong.
void add_all_refused_behind_a_first(SharedGroup& group) {
  for (const auto& [name, pos, what] : {std::tuple{"middle_with_csn_zero", Pos::kMiddle, "middle"},
                                        {"last_with_csn_zero", Pos::kLast, "last"}}) {
    group.add_harmful(
        name, "P-CELL-4", "A " + std::string(what) + " cell with CSN 0 gets NAK 0x61.",
        [pos = pos](End& h) {
          if (!h.attach()) return;
          const ByteVector payload(h.channel(0).mcp, std::byte{0x5A});
          put_cell(h, 0, h.cell(0, Op::kSend, Pos::kFirst), payload);
          put_cell(h, 0, h.cell(0, Op::kSend, pos), payload);
          const auto nak = expect_nak(h, 0, AckCode::kInvalidRequest, "NAK invalid request");
          if (nak) expect_ended_by(h, *nak, "a queue pair that takes no more cells");
        });
  }
  group.add_harmful(
      "packet_crc_on_first", "P-CELL-8", "Flag P on a first cell gets NAK 0x61.", [](End& h) {
        if (!h.attach()) return;
        const ByteVector payload(h.channel(0).mcp, std::byte{0x5A});
        CellHead head = h.cell(0, Op::kSend, Pos::kFirst);
        head.header.flags |= fabric::kFlagPacketCrc;
        put_cell(h, 0, head, payload);
        const auto nak = expect_nak(h, 0, AckCode::kInvalidRequest, "NAK invalid request");
        if (nak) expect_ended_by(h, *nak, "a queue pair that takes no more cells");
      });
}

}  // namespace

std::vector<Case> cell_cases() {
  SharedGroup group("cell");
  add_all_refused_behind_a_first(group);
  add_all_dropped(group);
  add_partitions(group);
  add_levels(group);
  add_all_dropped_or_refused(group);
  add_all_taken(group);
  return group.take();
}

}  // namespace splitnic::conformance
