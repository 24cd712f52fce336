// TERMINATE: the payload that ends a stream (or an RC pair) and names the cause.
// docs/protocol/terminate.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/limits.h"
#include "fabric_emul/wire/mac_header.h"

namespace splitnic::fabric {

// As in iWARP: layer 0 is RDMAP, 1 DDP.
enum class TerminateCause : std::uint16_t {  // layer (4) << 12 | type (4) << 8 | code (8)
  kLocalCatastrophic = 0x000,
  kInvalidTag = 0x100,        // checks a, d
  kBounds = 0x101,            // check e
  kAccess = 0x102,            // checks b, f, g
  kProtectionDomain = 0x103,  // check c
  kWrap = 0x104,
  kUnexpectedOp = 0x206,  // an operation that the stream does not accept
  kStreamError = 0x207,   // sequence, length or position of cells
  kReadQueueFull = 0x1202,
  kMsnRange = 0x1203,  // not the next message sequence number
  kTooLong = 0x1205,   // longer than the receive
};

struct Terminate {
  TerminateCause cause = TerminateCause::kLocalCatastrophic;
  char check = 0;  // 'a'..'g', or 0 where no check of access failed
  MemoryHandle handle{};
  VirtualAddress address{};
  std::uint32_t length = 0;
  MacHeader offending{};

  // Returns nothing if the size is not kTerminateBytes, the cause unknown or the letter not one of
  // the seven.
  static std::optional<Terminate> parse(base::Bytes in);
  void emit(std::byte* at) const;  // writes kTerminateBytes
  friend bool operator==(const Terminate&, const Terminate&) = default;
};

}  // namespace splitnic::fabric
