#include "messaging/wire/buffer_pool_flush.h"

namespace splitnic::messaging {

Parsed<BufferPoolFlushReply> BufferPoolFlushReply::parse(base::Bytes message) {
  const auto context = check_header(message, Function::kBufferPoolFlushReply, kBytes);
  if (!context) return context.error();
  if (message.size() != kBytes) return DropReason::kAlign;
  return BufferPoolFlushReply{*context};
}

std::size_t BufferPoolFlushReply::emit(base::MutableBytes out) const {
  emit_header(Function::kBufferPoolFlushReply, context, out);
  return kBytes;
}

}  // namespace splitnic::messaging
