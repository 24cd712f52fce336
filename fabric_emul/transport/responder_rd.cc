// RD: a request comes in the order of its end-to-end context, which sends the reply. Each is a
// packet of one cell; a refusal is its result and ends nothing here. docs/protocol/rd.md
#include "base/endian.h"
#include "fabric_emul/mem/placement.h"
#include "fabric_emul/transport/responder.h"

namespace splitnic::fabric {

RdResult Responder::take_rd(const CellView& cell, std::vector<std::byte>& response) {
  context_.counters.add(TransportCounter::kRxCells);
  context_.counters.add(TransportCounter::kRxBytes, cell.payload.size());
  begin_single(cell);
  RdResult result;
  const bool asks = wants_response(cell.header.op);
  const Step step = asks ? respond_rd(cell, response) : execute(cell);
  if (step != Step::kTaken) {
    result.code = nak_->code;
    result.detail = nak_->detail;
  }
  result.has_response = asks && step == Step::kTaken;
  result.receive_credits = receive_credits();
  nak_.reset();
  is_nak_sent_ = context_.has_refused_access = false;
  open_ = Open{};
  return result;
}

// The context keeps the response, so a repeated request executes nothing once more.
Responder::Step Responder::respond_rd(const CellView& cell, std::vector<std::byte>& response) {
  if (const Step s = check_sequence(cell); s != Step::kTaken) return s;
  const VaMh& range = *cell.va_mh;
  if (range.length > context_.attr.mcp) {
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
