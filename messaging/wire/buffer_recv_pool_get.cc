#include "messaging/wire/buffer_recv_pool_get.h"

#include "base/check.h"
#include "base/endian.h"

namespace splitnic::messaging {

Parsed<BufferRecvPoolGet> BufferRecvPoolGet::parse(base::Bytes message) {
  const auto context = check_header(message, Function::kBufferRecvPoolGet, kBytes);
  if (!context) return context.error();
  if (message.size() != kBytes) return DropReason::kAlign;
  const BufferRecvPoolGet get{*context, base::load_be<std::uint32_t>(message.data() + 12),
                              base::load_be<std::uint32_t>(message.data() + 16)};
  if (get.packet_bytes == 0 || get.packets == 0) return DropReason::kRange;
  return get;
}

std::size_t BufferRecvPoolGet::emit(base::MutableBytes out) const {
  CHECK(out.size() >= kBytes);
  emit_header(Function::kBufferRecvPoolGet, context, out);
  base::store_be(out.data() + 12, packet_bytes);
  base::store_be(out.data() + 16, packets);
  return kBytes;
}

}  // namespace splitnic::messaging
