#include "messaging/wire/send_data.h"

#include "base/check.h"
#include "base/endian.h"

namespace splitnic::messaging {

Parsed<SendData> SendData::parse(base::Bytes message) {
  const auto context = check_header(message, Function::kSendData, kLeastBytes);
  if (!context) return context.error();
  const auto size = base::load_be<std::uint32_t>(message.data() + kHeaderBytes);
  if (size == 0) return DropReason::kRange;
  if (!is_padded_length(message.size(), kFixedBytes, size)) return DropReason::kAlign;
  return SendData{*context, message.subspan(kFixedBytes, size)};
}

Parsed<std::size_t> SendData::emit(base::MutableBytes out) const {
  if (data.empty()) return DropReason::kRange;
  if (data.size() > data_max(out.size())) return DropReason::kTooLong;
  emit_prefix(context, static_cast<std::uint32_t>(data.size()), out);
  return kFixedBytes + put_padded(data, out.subspan(kFixedBytes));
}

void SendData::emit_prefix(TransactionContext context, std::uint32_t data_bytes,
                           base::MutableBytes out) {
  CHECK(out.size() >= kFixedBytes);
  emit_header(Function::kSendData, context, out);
  base::store_be(out.data() + kHeaderBytes, data_bytes);
}

}  // namespace splitnic::messaging
