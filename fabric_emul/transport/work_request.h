// What is posted: send and receive work requests with gather and scatter lists [S000-03] [S000-08].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"
#include "fabric_emul/mem/placement.h"
#include "fabric_emul/wire/extensions.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

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
  kRegisterSend  // the same: a registration, then a Send that tells the peer of it
};
// The peer sends data back, and the work request completes when all of it is in place.
constexpr bool is_responded(WrOp op) { return op == WrOp::kRdmaRead || op == WrOp::kFetchOp; }
// Nothing is sent: it runs when its turn in the queue comes.
constexpr bool is_local(WrOp op) {
  return op == WrOp::kBind || op == WrOp::kUnbind || op == WrOp::kDelay || op == WrOp::kRegister;
}
constexpr bool makes_region(WrOp op) { return op == WrOp::kRegister || op == WrOp::kRegisterSend; }

// What becomes of a queue pair whose registration through the send queue fails.
enum class FailureOption : std::uint8_t {
  kReactive = 1,     // the send queue drains; the consumer may post again and resume [S002-32]
  kAnticipatory = 2  // the queue pair ends, and the peer's with it [S002-33]
};

// What a local work request does.
struct LocalWork {
  base::Duration delay{};  // kDelay: later work requests of this queue wait so long
  MemoryHandle window{};   // kBind: from Mrwt::reserve_window(); kUnbind: a window, which ends
  MemoryHandle region{};   // kBind: what of which region, who may do what
  VirtualAddress address{};
  std::uint64_t length = 0;
  std::uint8_t rights = 0;
  bool is_one_touch = false;  // kBind: the window ends with its first use
  Qpn bound_qp{};             // 0: any queue pair of the protection domain
};

struct SendWr {
  std::uint64_t wr_id = 0;
  WrOp op = WrOp::kSend;
  // Copied by post; <= kSgeMax pieces. Answered operations write to them: the bytes read, or the
  // old value of a FetchOp, 8 bytes in this machine's order.
  std::span<const Sge> gather;
  VirtualAddress remote_address;  // where an RDMA write lands; what a read or FetchOp is of
  MemoryHandle remote_handle;
  std::optional<std::uint32_t> idata;  // Sends and RDMA write
  MemoryHandle dereg;                  // kSendDereg: which region or window of the peer ends
  // kRegisterSend: the 16 bytes from here in the message are the region's address, key and length,
  // big endian as in VA/MH, whatever the gather list has there [S002-34].
  std::uint32_t region_at = 0;
  AtomicExt fetch_op{};  // FetchOp: compare-and-swap: operand1 old, operand2 new
  LocalWork local{};
  bool is_fenced = false;  // begins when every answer that was asked for is here
  Lid destination_lid;     // connectionless services only [S001-32]
  Qpn destination_qpn;     // 0 = none: the post is refused
};

struct RecvWr {
  std::uint64_t wr_id = 0;
  std::span<const Sge> scatter;  // may be empty: takes an RDMA write's idata, or an empty Send
};

// A gather or scatter list as it is kept in a queue element.
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
