#include "fabric_emul/transport/rd_requester.h"

#include "fabric_emul/transport/response_payload.h"

namespace splitnic::fabric {

std::optional<EeId> RdRequester::next_context(base::Time now) {
  if (is_in_flight_) return std::nullopt;
  const Requester::Wqe* next = requester_.next_startable(now);
  if (next == nullptr) return std::nullopt;
  return next->destination_ee;
}

std::size_t RdRequester::emit(Link& link, const EePlace& place) {
  const std::size_t bytes = requester_.emit_front(link, place);
  if (bytes == 0 || is_in_flight_) return bytes;
  is_in_flight_ = true;
  requester_.start_front();
  return bytes;
}

void RdRequester::on_result(WcStatus status) {
  is_in_flight_ = false;
  requester_.finish_front(status);
  if (status != WcStatus::kSuccess) context_.has_send_fault = true;
}

void RdRequester::on_rnr(base::Duration wait, base::Time now) {
  context_.counters.add(TransportCounter::kRnrSeen);
  if (!requester_.return_front(wait, now)) return on_result(WcStatus::kRnrRetryExceeded);
  is_in_flight_ = false;
}

WcStatus RdRequester::take_response(const CellView& cell) {
  const Requester::Wqe& w = requester_.front();
  if (!is_responded(w.op)) {
    return cell.header.op == Op::kAck ? WcStatus::kSuccess : WcStatus::kBadResponse;
  }
  const Op wanted = w.op == WrOp::kFetchOp ? Op::kFetchOpResp : Op::kRdmaReadResp;
  if (cell.header.op != wanted || cell.payload.size() != w.gather.bytes) {
    return WcStatus::kBadResponse;
  }
  return place_response_payload(context_, w, 0, cell.payload) ? WcStatus::kSuccess
                                                              : WcStatus::kLocalProtection;
}

}  // namespace splitnic::fabric
