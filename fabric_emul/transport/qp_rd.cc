// The part of a queue pair that its end-to-end contexts call. After each call what the requester
// and the responder found takes effect, as after a cell. docs/protocol/rd.md
#include "fabric_emul/transport/ee_table.h"
#include "fabric_emul/transport/qp.h"

namespace splitnic::fabric {

Qp::~Qp() {
  if (context_.contexts != nullptr) context_.contexts->abandon(*this);
  drop_messages();
}

// The messages that are arriving end, and their receives are posted as before.
void Qp::drop_messages() {
  if (context_.contexts != nullptr) context_.contexts->drop_message(*this);
}

void Qp::flush_sends() {
  if (context_.contexts != nullptr) context_.contexts->abandon(*this);
  requester_.flush();
  rd_.on_flush();
}

unsigned Qp::transmit_rd(base::Time now) {
  const auto to = rd_.next_context(now);
  if (!to || context_.state != QpState::kRts) return 0;
  EeContext* ee = context_.contexts->find(*to);
  if (ee != nullptr && ee->is_ready()) return ee->send(*this, now) ? 1 : 0;
  rd_.on_result(WcStatus::kRetryExceeded);  // it has ended since the post
  return 0;
}

std::size_t Qp::emit_rd(Link& link, const EePlace& place) {
  const std::size_t bytes = rd_.emit(link, place);
  settle();
  return bytes;
}

void Qp::on_rd_result(WcStatus status) {
  rd_.on_result(status);
  settle();
}

void Qp::on_rd_rnr(base::Duration wait, base::Time now) {
  rd_.on_rnr(wait, now);
  settle();
}

void Qp::on_rd_response(const CellView& cell) { on_rd_result(rd_.take_response(cell)); }

// A refusal here is that of a queue pair that the sender cannot know to be gone.
RdResult Qp::execute_rd(const CellView& cell, RdMessage& message,
                        std::vector<std::byte>& response) {
  RdResult none;
  none.code = AckCode::kInvalidRdRequest;
  if (!is_in_partition(cell.header)) {
    context_.counters.add(TransportCounter::kCellDropPartition);
    return none;
  }
  if (!may_receive()) {
    context_.counters.add(TransportCounter::kCellDropState);
    return none;
  }
  const RdResult result = responder_.take_rd(cell, message, response);
  settle();
  return result;
}

void Qp::on_raw(const CellView& cell) {
  if (!is_in_partition(cell.header)) {
    return context_.counters.add(TransportCounter::kCellDropPartition);
  }
  if (!may_receive()) return context_.counters.add(TransportCounter::kCellDropState);
  responder_.on_raw(cell);
  settle();
}

}  // namespace splitnic::fabric
