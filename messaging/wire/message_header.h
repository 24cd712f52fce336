// The first 12 bytes of every message: Function name (16), Version No (16), Transaction Context
// (64), all big endian. The context lies at offset 4, so 64-bit fields are loaded byte-wise, never
// through a struct pointer. docs/protocol/message.md#header [S001-09]
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/strong_id.h"
#include "messaging/drop_reason.h"

namespace splitnic::messaging {

// Chosen by the sender, unique among its open requests; 0 = unsolicited. A reply copies it.
// [S001-10]
using TransactionContext = base::StrongId<struct TransactionContextTag, std::uint64_t>;
// Index of a buffer pool, chosen by its owner, unique for owner and connection.
using PoolRef = base::StrongId<struct PoolRefTag, std::uint32_t>;

inline constexpr TransactionContext kUnsolicited{0};
inline constexpr std::size_t kHeaderBytes = 12;
inline constexpr std::uint16_t kMessageVersion = 1;
inline constexpr std::size_t kMsgMaxLeast = 256;
inline constexpr std::size_t kMsgMaxMost = 65536;
inline constexpr std::size_t kMsgMaxControl = 4096;  // default of channel 0
inline constexpr std::size_t kMsgMaxData = 65536;    // default of channel 1 in Send mode

enum class Function : std::uint16_t {
  kBufferRecvPool = 1,
  kBufferRecvPoolGet = 2,
  kBufferRecvPoolUpdate = 3,
  kBufferPoolFlushRequest = 4,
  kBufferPoolFlushReply = 5,
  kSendData = 6,
  kBufferRdmaIndicate = 7,
  kCfgUtilRequest = 8,
  kCfgUtilReply = 9,
};
inline constexpr std::uint16_t kFunctionLast = 9;

// The name as in the protocol, for example "BufferRDMAIndicate"; "unknown" for any other code.
std::string_view name(Function function);

// The header as received, before function and version are checked.
struct MessageHeader {
  std::uint16_t function_code = 0;
  std::uint16_t version = kMessageVersion;
  TransactionContext context;

  // Returns kShort if there are fewer than 12 bytes.
  static Parsed<MessageHeader> parse(base::Bytes message);
  // REQUIRES out.size() >= kHeaderBytes.
  void emit(base::MutableBytes out) const;
  // Returns kFunction for a code that is not in the table.
  Parsed<Function> function() const;
  friend bool operator==(const MessageHeader&, const MessageHeader&) = default;
};

// Performs the checks with which every parse begins: at least 12 bytes, this function, version 1,
// at least `least_bytes` in total. Returns the context.
Parsed<TransactionContext> check_header(base::Bytes message, Function function,
                                        std::size_t least_bytes);
void emit_header(Function function, TransactionContext context, base::MutableBytes out);

constexpr std::size_t pad4(std::size_t n) { return base::round_up(n, 4); }
// Returns true if `length` is `fixed` plus `size` padded to 4 bytes; no value of `size` wraps.
// [P-37]
constexpr bool is_padded_length(std::size_t length, std::size_t fixed, std::uint32_t size) {
  return length >= fixed && length - fixed == pad4(std::size_t{size});
}
// Copies `data` to the front of `out` and zeroes the padding; returns pad4(data.size()).
// REQUIRES out.size() >= pad4(data.size()).
std::size_t put_padded(base::Bytes data, base::MutableBytes out);

}  // namespace splitnic::messaging
