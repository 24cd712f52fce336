// BufferRecvPoolGet (0x0002): the user of the peer's pools requests more memory. The peer need not
// reply, and the sender does not wait. docs/protocol/pools.md#bufferrecvpoolget [S001-13]
#pragma once

#include <cstddef>
#include <cstdint>

#include "messaging/wire/message_header.h"

namespace splitnic::messaging {

// Each side keeps at most this many requests of a connection.
inline constexpr std::size_t kBufferRequestsMax = 8;

struct BufferRecvPoolGet {
  static constexpr std::size_t kBytes = 20;

  TransactionContext context;
  std::uint32_t packet_bytes = 0;  // >= 1
  std::uint32_t packets = 0;       // >= 1

  static Parsed<BufferRecvPoolGet> parse(base::Bytes message);
  // Returns kBytes. REQUIRES out.size() >= kBytes.
  std::size_t emit(base::MutableBytes out) const;
  friend bool operator==(const BufferRecvPoolGet&, const BufferRecvPoolGet&) = default;
};

}  // namespace splitnic::messaging
