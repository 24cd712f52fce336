// The messages of an RD queue pair, which its end-to-end contexts number, repeat and get replies
// for. docs/protocol/rd.md
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/endian.h"
#include "fabric_emul/mem/placement.h"
#include "fabric_emul/transport/ee_table.h"
#include "fabric_emul/transport/requester.h"

namespace splitnic::fabric {

base::Status Requester::check_context(const SendWr& wr, std::uint64_t bytes) const {
  const EeContext* ee = context_.contexts->find(wr.destination_ee);
  if (ee == nullptr || !ee->is_ready() || ee->partition() != context_.partition) {
    return base::Error(
        "no end-to-end context of this number and partition is connected: EeTable::connect() first",
        EINVAL);
  }
  if (bytes > ee->mcp()) {
    return base::Error("longer than a cell of the path to that node", EMSGSIZE);
  }
  return {};
}

std::optional<EeId> Requester::next_context(base::Time now) {
  if (is_in_flight_) return std::nullopt;
  while (queue_.has_unsent() && is_local(queue_.next().op)) {
    if (!run_local(now)) return std::nullopt;
  }
  if (!queue_.has_unsent() || now < rnr_until_ || context_.fault || context_.has_send_fault) {
    return std::nullopt;
  }
  Wqe& w = queue_.next();
  if (!may_start(w)) return std::nullopt;
  return w.destination_ee;
}

std::size_t Requester::emit_rd(Link& link, const EePlace& place) {
  Wqe& w = queue_.front();
  w.psn = place.psn;
  w.destination_lid = link.remote_lid();
  head_.ee = place.context;
  const std::size_t bytes = emit(link, queue_.head_no(), 0, place.flags);
  if (bytes == 0 || is_in_flight_) return bytes;
  is_in_flight_ = w.is_started = true;
  credits_.claim(w);
  queue_.advance();
  return bytes;
}

void Requester::on_rd_result(WcStatus status) {
  is_in_flight_ = false;
  rnr_tries_ = 0;
  complete_front(status);
  if (status != WcStatus::kSuccess) context_.has_send_fault = true;
}

void Requester::on_rd_rnr(base::Duration wait, base::Time now) {
  context_.counters.add(TransportCounter::kRnrSeen);
  if (context_.attr.rnr_retry < kRnrRetryForever && rnr_tries_ >= context_.attr.rnr_retry) {
    return on_rd_result(WcStatus::kRnrRetryExceeded);
  }
  ++rnr_tries_;
  is_in_flight_ = false;
  Wqe& w = queue_.front();
  w.is_started = false;
  credits_.release(w);
  queue_.continue_at(queue_.head_no());
  rnr_until_ = now + wait;
}

WcStatus Requester::take_rd_response(const CellView& cell) {
  const Wqe& w = queue_.front();
  const bool fetches = w.op == WrOp::kFetchOp;
  if (!is_responded(w.op)) {
    return cell.header.op == Op::kAck ? WcStatus::kSuccess : WcStatus::kBadResponse;
  }
  const Op wanted = fetches ? Op::kFetchOpResp : Op::kRdmaReadResp;
  if (cell.header.op != wanted || cell.payload.size() != w.gather.bytes) {
    return WcStatus::kBadResponse;
  }
  base::Bytes from = cell.payload;
  std::array<std::byte, sizeof(std::uint64_t)> word;
  if (fetches) {
    const auto value = base::load_be<std::uint64_t>(from.data());
    std::memcpy(word.data(), &value, word.size());
    from = word;
  }
  const auto placed = scatter(context_.mrwt, context_.pd, w.gather.span(), 0, from);
  return placed.ok() ? WcStatus::kSuccess : WcStatus::kLocalProtection;
}

}  // namespace splitnic::fabric
