#include "messaging/wire/message_header.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/endian.h"

namespace splitnic::messaging {

std::string_view name(Function function) {
  switch (function) {
    case Function::kBufferRecvPool:
      return "BufferRecvPool";
    case Function::kBufferRecvPoolGet:
      return "BufferRecvPoolGet";
    case Function::kBufferRecvPoolUpdate:
      return "BufferRecvPoolUpdate";
    case Function::kBufferPoolFlushRequest:
      return "BufferPoolFlushRequest";
    case Function::kBufferPoolFlushReply:
      return "BufferPoolFlushReply";
    case Function::kSendData:
      return "SendData";
    case Function::kBufferRdmaIndicate:
      return "BufferRDMAIndicate";
    case Function::kCfgUtilRequest:
      return "CfgUtilRequest";
    case Function::kCfgUtilReply:
      return "CfgUtilReply";
  }
  return "unknown";
}

Parsed<MessageHeader> MessageHeader::parse(base::Bytes message) {
  if (message.size() < kHeaderBytes) return DropReason::kShort;
  const std::byte* at = message.data();
  return MessageHeader{base::load_be<std::uint16_t>(at), base::load_be<std::uint16_t>(at + 2),
                       TransactionContext(base::load_be<std::uint64_t>(at + 4))};
}

void MessageHeader::emit(base::MutableBytes out) const {
  CHECK(out.size() >= kHeaderBytes);
  base::store_be(out.data(), function_code);
  base::store_be(out.data() + 2, version);
  base::store_be(out.data() + 4, context.value);
}

Parsed<Function> MessageHeader::function() const {
  if (function_code == 0 || function_code > kFunctionLast) return DropReason::kFunction;
  return static_cast<Function>(function_code);
}

Parsed<TransactionContext> check_header(base::Bytes message, Function function,
                                        std::size_t least_bytes) {
  const auto header = MessageHeader::parse(message);
  if (!header) return header.error();
  if (header->function_code != static_cast<std::uint16_t>(function)) return DropReason::kFunction;
  if (header->version != kMessageVersion) return DropReason::kVersion;
  if (message.size() < least_bytes) return DropReason::kShort;
  return header->context;
}

void emit_header(Function function, TransactionContext context, base::MutableBytes out) {
  MessageHeader{static_cast<std::uint16_t>(function), kMessageVersion, context}.emit(out);
}

std::size_t put_padded(base::Bytes data, base::MutableBytes out) {
  const std::size_t padded = pad4(data.size());
  CHECK(out.size() >= padded);
  if (!data.empty()) std::memcpy(out.data(), data.data(), data.size());
  std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(data.size()), padded - data.size(),
              std::byte{0});
  return padded;
}

}  // namespace splitnic::messaging
