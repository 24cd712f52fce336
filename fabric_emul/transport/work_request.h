// Send and receive work requests, with gather and scatter lists [S000-03] [S000-08].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/strong_id.h"
#include "fabric_emul/mem/placement.h"
#include "fabric_emul/wire/extensions.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

// The number of an end-to-end context at one of its nodes; 0 is none.
using EeId = base::StrongId<struct EeTag, std::uint32_t>;

inline constexpr std::size_t kSgeMax = 4;  // pieces of one gather or scatter list
inline constexpr std::uint64_t kPacketBytesMax = 1ULL << 31;

enum class WrOp : std::uint8_t {
  kSend,
  kSendDereg,
  kRdmaWrite,
  kRdmaRead,
  kFetchOp,
  kBind,
  kUnbind,
  kDelay,
  kRegister,     // by post_register only
  kRegisterSend  // likewise: a registration, then a Send that announces it to the peer
};
// The peer sends data back, and the work request completes when all of it is in place.
constexpr bool is_responded(WrOp op) { return op == WrOp::kRdmaRead || op == WrOp::kFetchOp; }
// Nothing is sent: the work runs when the send queue reaches it.
constexpr bool is_local(WrOp op) {
  return op == WrOp::kBind || op == WrOp::kUnbind || op == WrOp::kDelay || op == WrOp::kRegister;
}
constexpr bool makes_region(WrOp op) { return op == WrOp::kRegister || op == WrOp::kRegisterSend; }

// The fate of a queue pair whose registration through the send queue fails.
enum class FailureOption : std::uint8_t {
  kReactive = 1,     // the send queue drains; the consumer may post again and resume [S002-32]
  kAnticipatory = 2  // the queue pair ends, and the peer's with it [S002-33]
};

// The parameters of a local work request.
struct LocalWork {
  base::Duration delay{};  // kDelay: later work requests of this queue wait this long
  MemoryHandle window{};   // kBind, kUnbind: the key that gets the range, or loses it
  MemoryHandle region{};   // kBind: the region, the range in it, and the rights
  VirtualAddress address{};
  std::uint64_t length = 0;
  std::uint8_t rights = 0;
  bool is_one_touch = false;  // kBind: the window ends with its first use
  Qpn bound_qp{};             // 0: any queue pair of the protection domain
};

struct SendWr {
  std::uint64_t wr_id = 0;
  WrOp op = WrOp::kSend;
  // Copied by post; <= kSgeMax pieces. Operations with a response write to them: the bytes read, or
  // the old value of a FetchOp, 8 bytes in this machine's order.
  std::span<const Sge> gather;
  VirtualAddress remote_address;  // target of an RDMA write, source of a read or FetchOp
  MemoryHandle remote_handle;
  std::optional<std::uint32_t> idata;  // Sends and RDMA write
  MemoryHandle dereg;                  // kSendDereg: the region or window of the peer that ends
  // kRegisterSend: the region's address, key and length, big endian as in VA/MH, replace the 16
  // bytes of the gather list from this offset on [S002-34].
  std::uint32_t region_at = 0;
  AtomicExt fetch_op{};  // FetchOp: compare-and-swap: operand1 old, operand2 new
  LocalWork local{};
  bool is_fenced = false;  // starts when no response is outstanding
  // The peer's receive is a solicited completion (Wc::is_solicited), on which it may wait
  // [S000-02]. No effect without such a receive, and on STREAM.
  bool is_solicited = false;
  Lid destination_lid;    // UD and Raw [S001-32]
  EeId destination_ee{};  // RD: the context that leads to the node of the destination [S000-12]
  Qpn destination_qpn;    // UD and RD; 0 = none: the post is refused
};

struct RecvWr {
  std::uint64_t wr_id = 0;
  std::span<const Sge> scatter;  // may be empty: takes an RDMA write's idata, or an empty Send
};

// A gather or scatter list as a work queue element keeps it.
struct SgeList {
  std::array<Sge, kSgeMax> pieces{};
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;

  bool assign(std::span<const Sge> from) {
    if (from.size() > kSgeMax) return false;
    count = static_cast<std::uint32_t>(from.size());
    bytes = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      pieces[i] = from[i];
      bytes += from[i].length;
    }
    return true;
  }
  std::span<const Sge> span() const { return {pieces.data(), count}; }
};

}  // namespace splitnic::fabric
