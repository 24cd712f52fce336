// ACK and NAK cells: one per batch, or one per cell with an ack interval of 1. docs/protocol/ack.md
#include "fabric_emul/transport/responder.h"
#include "fabric_emul/transport/send_cell.h"
#include "fabric_emul/transport/service.h"

namespace splitnic::fabric {

void Responder::fill_ack(AckExt& ack) const {
  ack.msn = msn_;
  ack.receive_credits = receive_credits();
  ack.selective = true;
  ack.cumulative = expected_lcn_ - 1U;
  if (early_ != nullptr && !early_->empty()) {
    ack.bitmap_words = early_->bitmap({ack.bitmap.data(), limits_.bitmap_words_max});
  }
}

// Returns false when the link has no room now; the reply stays due.
bool Responder::send_reply(const Nak* nak) {
  const PathSet::Way way = context_.paths.next_reply();
  Link& link = *way.link;
  AckExt ack;
  fill_ack(ack);
  CellHead head;
  MacHeader& h = head.header;
  h = context_.header(nak == nullptr ? Op::kAck : Op::kNak, Pos::kOnly, link);
  h.dlid = way.lid;
  h.psn = last_psn_;
  h.csn = last_csn_;
  if (nak != nullptr) {
    h.psn = nak->psn;
    h.csn = nak->csn;
    ack.code = nak->code;
    ack.detail = nak->detail;
  }
  head.ack = &ack;
  if (link.has_flits()) ack.bitmap_words = std::min(ack.bitmap_words, kAckBitmapWordsFull);
  // A small MCP bounds the cell: the bitmap is cut to what fits.
  while (ack.bitmap_words > 0 && cell_bytes(head, 0) > context_.attr.mcp + kCellOverheadMax) {
    --ack.bitmap_words;
  }
  if (send_cell(link, head, NoPayload{}) == 0) return false;
  // An ACK by two paths: one that is lost would make the peer avoid the path of what it is for.
  if (nak == nullptr && context_.paths.count() > 1) {
    const PathSet::Way other = context_.paths.next_reply();
    h.slid = other.link->local_lid();
    h.dlid = other.lid;
    if (other != way) send_cell(*other.link, head, NoPayload{});
  }
  context_.counters.add(nak == nullptr               ? TransportCounter::kTxAcks
                        : nak->code == AckCode::kRnr ? TransportCounter::kTxRnr
                                                     : TransportCounter::kTxNaks);
  ack_schedule_.clear();
  return true;
}

void Responder::end_batch(base::Time now) {
  if (!has_own_sequence(context_.service)) return;
  if (nak_) {
    const bool fatal = is_refusing();
    if (fatal && responses_.has_due()) return;  // responses to earlier requests come first
    if (!send_reply(&*nak_)) return;
    if (fatal && !context_.fault) {
      context_.fault =
          nak_->code == AckCode::kRemoteAccess ? WcStatus::kRemoteAccess : WcStatus::kRemoteInvalid;
    }
    nak_.reset();
    return;
  }
  if (ack_schedule_.is_due(now)) send_reply(nullptr);
}

}  // namespace splitnic::fabric
