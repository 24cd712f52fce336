// RD: cells come in the order of their end-to-end context, which sends the replies. A refusal is
// the result of its message and ends nothing here. docs/protocol/rd.md
#include "base/endian.h"
#include "fabric_emul/mem/placement.h"
#include "fabric_emul/transport/responder.h"

namespace splitnic::fabric {

RdResult Responder::take_rd(const CellView& cell, RdMessage& message,
                            std::vector<std::byte>& response) {
  context_.counters.add(TransportCounter::kRxCells);
  context_.counters.add(TransportCounter::kRxBytes, cell.payload.size());
  message_ = &message;
  open_ = message.open;
  expected_psn_ = cell.header.psn;
  expected_csn_ = message.next_csn;
  RdResult result;
  const bool asks = wants_response(cell.header.op);
  const Step step = asks ? respond_rd(cell, response) : execute_rd(cell, message);
  if (step != Step::kTaken) {
    result.code = nak_->code;
    result.detail = nak_->detail;
  }
  result.has_response = asks && step == Step::kTaken;
  result.is_whole = step != Step::kTaken || is_last(cell.header.pos);
  if (result.is_whole) {
    drop_rd(message);
  } else {
    message.open = open_;
    message.next_csn = expected_csn_;
  }
  result.receive_credits = receive_credits();
  message_ = nullptr;
  nak_.reset();
  is_nak_sent_ = context_.has_refused_access = false;
  open_ = Open{};
  return result;
}

// After the last cell its receive is complete, and nothing is left to drop.
void Responder::drop_rd(RdMessage& message) {
  message.open = Open{};
  if (!message.receive) return;
  rq_.abort(*message.receive);
  message.receive.reset();
}

Responder::Step Responder::execute_rd(const CellView& cell, const RdMessage& message) {
  if (cell.header.pos == Pos::kOnly) return execute(cell);
  const std::uint64_t upto = std::uint64_t{cell.header.csn} * message.mcp + cell.payload.size();
  if (!message.takes_several_cells() || upto > message.bytes_max) {
    return refuse(cell, AckCode::kInvalidRequest, kSubLength);
  }
  return execute(cell);
}

// The context keeps the response, so a repeated request executes nothing once more.
Responder::Step Responder::respond_rd(const CellView& cell, std::vector<std::byte>& response) {
  if (const Step s = check_sequence(cell); s != Step::kTaken) return s;
  const VaMh& range = *cell.va_mh;
  if (range.length > full_cell_bytes()) {
    return refuse(cell, AckCode::kInvalidRequest, kSubLength);
  }
  if (const Step s = check_request(cell); s != Step::kTaken) return s;
  response.resize(range.length);
  if (cell.header.op == Op::kFetchOpReq) {
    base::store_be(response.data(), fetch(cell));
  } else if (!read_remote(context_.mrwt, context_.pd, context_.qpn, range.handle, range.address,
                          response)
                  .ok()) {
    return refuse(cell, AckCode::kRemoteOperational, 0);
  }
  context_.mrwt.one_touch().spend(range.handle, context_.qpn, cell.header.psn);
  return Step::kTaken;
}

}  // namespace splitnic::fabric
