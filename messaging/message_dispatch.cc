#include "messaging/message_dispatch.h"

namespace splitnic::messaging {
namespace {

// Parses the bytes as a Message and calls the handler with it.
template <typename Message>
Verdict pass(base::Bytes bytes, MessageHandler& handler,
             Verdict (MessageHandler::*on)(const Message&)) {
  const auto message = Message::parse(bytes);
  if (!message) return message.error();
  return (handler.*on)(*message);
}

}  // namespace

Verdict MessageDispatch::dispatch(base::Bytes message, base::Time now) {
  const Verdict verdict = check_and_execute(message, now);
  if (!verdict) {
    drops_.add(verdict.error());
    note_error(verdict.error(), now);
  }
  return verdict;
}

// Checks length, function and role. The parse of each function checks the version and the rest,
// because a CfgUtilRequest of another version gets a reply.
Verdict MessageDispatch::check_and_execute(base::Bytes message, base::Time now) {
  if (message.size() > msg_max_) return DropReason::kTooLong;
  const auto header = MessageHeader::parse(message);
  if (!header) return header.error();
  const auto function = header->function();
  if (!function) return function.error();
  if (channel_ == Channel::kData && *function != Function::kSendData) return DropReason::kRole;
  return execute(*function, message, now);
}

Verdict MessageDispatch::execute(Function function, base::Bytes message, base::Time now) {
  using Handler = MessageHandler;
  switch (function) {
    case Function::kBufferRecvPool:
      return pass(message, handler_, &Handler::on_buffer_recv_pool);
    case Function::kBufferRecvPoolGet:
      return pass(message, handler_, &Handler::on_buffer_recv_pool_get);
    case Function::kBufferRecvPoolUpdate:
      return pass(message, handler_, &Handler::on_buffer_recv_pool_update);
    case Function::kBufferPoolFlushRequest:
      return pass(message, handler_, &Handler::on_buffer_pool_flush_request);
    case Function::kBufferPoolFlushReply:
      return pass(message, handler_, &Handler::on_buffer_pool_flush_reply);
    case Function::kSendData:
      return pass(message, handler_, &Handler::on_send_data);
    case Function::kBufferRdmaIndicate:
      return on_buffer_rdma_indicate(message, now);
    case Function::kCfgUtilRequest:
      return on_cfg_util_request(message);
    case Function::kCfgUtilReply:
      return pass(message, handler_, &Handler::on_cfg_util_reply);
  }
  return DropReason::kFunction;
}

Verdict MessageDispatch::on_buffer_rdma_indicate(base::Bytes message, base::Time now) {
  const auto indicate = BufferRdmaIndicate::parse(message);
  if (!indicate) return indicate.error();
  return handler_.on_buffer_rdma_indicate(*indicate, now);
}

Verdict MessageDispatch::on_cfg_util_request(base::Bytes message) {
  const auto request = CfgUtilRequest::parse(message);
  if (request) return handler_.on_cfg_util_request(*request);
  handler_.on_cfg_util_refused(CfgUtilRefusal::of(message, request.error()));
  return request.error();
}

}  // namespace splitnic::messaging
