#include "messaging/message_dispatch.h"

namespace splitnic::messaging {
namespace {

// Parses as Message and calls the handler with it.
template <typename Message>
Verdict pass(base::Bytes bytes, base::Time now, MessageHandler& handler,
             Verdict (MessageHandler::*on)(const Message&, base::Time)) {
  const auto message = Message::parse(bytes);
  if (!message) return message.error();
  return (handler.*on)(*message, now);
}

}  // namespace

Verdict MessageDispatch::dispatch(base::Bytes message, base::Time now) {
  const Verdict verdict = judge(message, now);
  if (!verdict) {
    drops_.add(verdict.error());
    note_error(verdict.error(), now);
  }
  return verdict;
}

// Length, function, role; the version and the rest belong to each function's parse, because a
// CfgUtilRequest of another version is answered.
Verdict MessageDispatch::judge(base::Bytes message, base::Time now) {
  if (message.size() > msg_max_) return DropReason::kTooLong;
  const auto header = MessageHeader::parse(message);
  if (!header) return header.error();
  const auto function = header->function();
  if (!function) return function.error();
  if (channel_ == Channel::kData && *function != Function::kSendData) return DropReason::kRole;
  return hand_over(*function, message, now);
}

Verdict MessageDispatch::hand_over(Function function, base::Bytes message, base::Time now) {
  using Handler = MessageHandler;
  switch (function) {
    case Function::kBufferRecvPool:
      return pass(message, now, handler_, &Handler::on_buffer_recv_pool);
    case Function::kBufferRecvPoolGet:
      return pass(message, now, handler_, &Handler::on_buffer_recv_pool_get);
    case Function::kBufferRecvPoolUpdate:
      return pass(message, now, handler_, &Handler::on_buffer_recv_pool_update);
    case Function::kBufferPoolFlushRequest:
      return pass(message, now, handler_, &Handler::on_buffer_pool_flush_request);
    case Function::kBufferPoolFlushReply:
      return pass(message, now, handler_, &Handler::on_buffer_pool_flush_reply);
    case Function::kSendData:
      return pass(message, now, handler_, &Handler::on_send_data);
    case Function::kBufferRdmaIndicate:
      return pass(message, now, handler_, &Handler::on_buffer_rdma_indicate);
    case Function::kCfgUtilRequest:
      return on_cfg_util_request(message, now);
    case Function::kCfgUtilReply:
      return pass(message, now, handler_, &Handler::on_cfg_util_reply);
  }
  return DropReason::kFunction;
}

Verdict MessageDispatch::on_cfg_util_request(base::Bytes message, base::Time now) {
  const auto request = CfgUtilRequest::parse(message);
  if (request) return handler_.on_cfg_util_request(*request, now);
  handler_.on_cfg_util_refused(CfgUtilRefusal::of(message, request.error()), now);
  return request.error();
}

}  // namespace splitnic::messaging
