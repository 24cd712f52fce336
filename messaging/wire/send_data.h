// SendData (0x0006): one frame inside the message itself, for the send mode and for small frames.
// It has no reply. docs/protocol/data.md#senddata [S001-23]
#pragma once

#include <cstddef>
#include <cstdint>

#include "messaging/wire/message_header.h"

namespace splitnic::messaging {

struct SendData {
  static constexpr std::size_t kFixedBytes = 16;
  static constexpr std::size_t kLeastBytes = 20;
  static constexpr std::size_t bytes(std::size_t data_bytes) {
    return kFixedBytes + pad4(data_bytes);
  }
  // Returns the length of the longest frame for a MSG_MAX (which is a multiple of 4).
  static constexpr std::size_t data_max(std::size_t msg_max) {
    return msg_max < kFixedBytes ? 0 : (msg_max - kFixedBytes) / 4 * 4;
  }

  TransactionContext context;
  base::Bytes data;  // lies in the message

  static Parsed<SendData> parse(base::Bytes message);
  // Writes the whole message and returns its length. Writes nothing and returns kTooLong if the
  // message does not fit `out` (which has MSG_MAX bytes), or kRange if there is no data.
  Parsed<std::size_t> emit(base::MutableBytes out) const;
  // Writes only the 16 bytes before the data, for a gather list; the sender adds the data and 0-3
  // zero bytes.
  static void emit_prefix(TransactionContext context, std::uint32_t data_bytes,
                          base::MutableBytes out);
};

}  // namespace splitnic::messaging
