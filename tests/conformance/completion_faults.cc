// Wrong implementations of what follows the completion of a write: of the element that an Update
// has returned before, of BufferRDMAIndicate, and of the Update of an owner.
#include <memory>
#include <optional>

#include "messaging/wire/buffer_recv_pool.h"
#include "tests/conformance/faults.h"

namespace splitnic::conformance {
namespace {

using fabric::AckExt;
using fabric::CellView;
using fabric::Op;
using messaging::Function;

// The writes of the unit to the queue pair that got the last one.
struct Writes {
  std::uint32_t queue_pair = 0;  // of the suite
  fabric::Lcn lcn{};             // of the newest
  RelayBytes newest{};
  bool is_open = false;       // the newest has no ACK
  bool is_overtaken = false;  // an Update came before the ACK of a write
  bool is_late = false;       // and then the ACK came
  int since = 0;              // writes behind the Update that overtook
};

bool is_write(const CellView& view) { return view.header.op == Op::kRdmaWrite && view.va_mh; }

// Looks at writes of the unit, and returns whether `view` is one that is new.
bool note_write(Writes& writes, const CellView& view, const RelayBytes& cell) {
  if (!is_write(view)) return false;
  const bool is_same = writes.queue_pair == view.header.dqpn.value;
  if (is_same && view.header.lcn - writes.lcn <= 0) return false;
  if (!is_same) writes = {.queue_pair = view.header.dqpn.value};
  writes.lcn = view.header.lcn;
  writes.newest = cell;
  writes.is_open = true;
  if (writes.is_overtaken) ++writes.since;
  return true;
}

// Looks at Updates and ACKs on their way to the unit.
void note_reply(Writes& writes, const CellView& view) {
  if (view.header.op == Op::kSend && view.header.csn == 0) {
    const auto header = messaging::MessageHeader::parse(view.payload);
    if (!header || header->function() != Function::kBufferRecvPoolUpdate) return;
    writes.is_overtaken = writes.is_open;
    writes.is_late = false;
    writes.since = 0;
    return;
  }
  AckExt ack;
  if (view.header.op != Op::kAck || view.header.sqpn.value != writes.queue_pair ||
      !fabric::parse_ack(view, ack) || ack.cumulative - writes.lcn < 0) {
    return;
  }
  writes.is_open = false;
  writes.is_late = writes.is_overtaken;
}

Rule to_target(const std::shared_ptr<Writes>& writes) {
  return cell_rule(To::kTarget, [writes](const CellView& view, RelayBytes&) {
    note_reply(*writes, view);
    return true;
  });
}

RelayBytes flit_behind(const fabric::FlitHeader& header, RelayBytes cell) {
  renew_cell_crc(cell);
  return flit_of(header, cell);
}

// The element is not AVAILABLE any more: nothing is written.
Rule completion_takes() {
  const auto writes = std::make_shared<Writes>();
  return both(to_target(writes),
              cell_rule(To::kSuite, [writes](const CellView& view, RelayBytes& cell) {
                if (writes->is_late && is_write(view) && view.header.lcn - writes->lcn > 0) {
                  return false;
                }
                note_write(*writes, view, cell);
                return true;
              }));
}

// The element is AVAILABLE although the second write is in it: the second write leaves once more,
// as a third one.
Rule completion_returns() {
  const auto writes = std::make_shared<Writes>();
  return both(to_target(writes),
              flit_rule(To::kSuite, [writes](const fabric::FlitHeader& header,
                                             const RelayBytes& cell, RelayBytes& behind) {
                CellView view;
                if (fabric::parse_cell(cell, view) != fabric::CellError::kNone) return true;
                note_write(*writes, view, cell);
                if (!writes->is_late || writes->since != 1) return true;
                writes->since = 2;
                RelayBytes third = writes->newest;
                if (fabric::parse_cell(third, view) != fabric::CellError::kNone) return true;
                fabric::MacHeader next = view.header;
                ++next.psn;
                ++next.lcn;
                next.emit(third.data());
                behind = flit_behind(header, third);
                return true;
              }));
}

// A write counts as completed when the next message comes, as if its ACK had come.
Rule indicated_early() {
  const auto writes = std::make_shared<Writes>();
  const auto last_ack = std::make_shared<RelayBytes>();
  const auto note = cell_rule(To::kSuite, [writes](const CellView& view, RelayBytes& cell) {
    note_write(*writes, view, cell);
    return true;
  });
  return both(note, flit_rule(To::kTarget, [=](const fabric::FlitHeader& header,
                                               const RelayBytes& cell, RelayBytes& behind) {
                CellView view;
                if (fabric::parse_cell(cell, view) != fabric::CellError::kNone) return true;
                note_reply(*writes, view);
                if (view.header.op == Op::kAck && view.header.sqpn.value == writes->queue_pair) {
                  *last_ack = cell;
                }
                if (view.header.op != Op::kSend || !writes->is_open || last_ack->empty())
                  return true;
                RelayBytes ours = *last_ack;
                AckExt ack;
                if (fabric::parse_cell(ours, view) != fabric::CellError::kNone ||
                    !fabric::parse_ack(view, ack)) {
                  return true;
                }
                fabric::MacHeader next = view.header;
                ++next.psn;
                next.emit(ours.data());
                ack.cumulative = writes->lcn;
                ++ack.msn;
                ack.emit(ours.data() + fabric::kMacHeaderBytes);
                behind = flit_behind(header, ours);
                return true;
              }));
}

}  // namespace

std::vector<Fault> completion_faults() {
  std::vector<Fault> all;
  all.push_back(of_unit("completion_takes",
                        "an ACK behind the Update of its element makes the element unavailable",
                        "state.element_stays", completion_takes));
  all.push_back(of_unit("completion_returns",
                        "an ACK behind the Update of its element returns the element once more",
                        "state.element_once", completion_returns));
  all.push_back(of_unit("indicated_early", "BufferRDMAIndicate does not wait for the ACK",
                        "variant.idata_none_completes", indicated_early));
  // The unit returns elements when half of the pool is used, which is a quarter to the suite.
  all.push_back(of_messages(
      "update_early", "elements are returned when a quarter is used", "data.returned", To::kSuite,
      Function::kBufferRecvPool, [](base::MutableBytes message) {
        for (std::size_t at = kRecordWord; word_of(message, at + 1) != ~0U; at += kRecordWords) {
          set_word(message, at + 1, 2 * word_of(message, at + 1));
        }
        return true;
      }));
  return all;
}

}  // namespace splitnic::conformance
