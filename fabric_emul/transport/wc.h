// Work completions: which queue pair and which work request completed, and with which status
// [S004-01]. Unless the status is kSuccess, only wr_id, status, op and qpn are valid.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "fabric_emul/transport/work_request.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

enum class WcStatus : std::uint8_t {
  kSuccess,
  kLocalLength,        // LOC_LEN_ERR: longer than the receive's scatter list
  kLocalProtection,    // LOC_PROT_ERR: a gather or scatter piece failed checks a..f [S002-19]
  kFlushed,            // WR_FLUSH_ERR: the queue pair left its working state first
  kRemoteInvalid,      // REM_INV_REQ_ERR
  kRemoteAccess,       // REM_ACCESS_ERR
  kRemoteOperational,  // REM_OP_ERR
  kRetryExceeded,      // RETRY_EXC_ERR: unknown whether it was executed
  kRnrRetryExceeded,   // RNR_RETRY_EXC_ERR
  kBind,               // MW_BIND_ERR: a bind or unbind that the table refused
  kBadResponse,        // BAD_RESP_ERR: a response that does not match its request
  kRegisterEntry,      // a registration whose key points to no reserved entry [S002-31]
  kRegisterInstance,   // one whose entry belongs to a later key
  kRegisterSpace,      // one for which the translation tables have no room
  kCount_
};

inline constexpr std::array<std::string_view, 14> kWcStatusNames = {"success",
                                                                    "local_length",
                                                                    "local_protection",
                                                                    "flushed",
                                                                    "remote_invalid",
                                                                    "remote_access",
                                                                    "remote_operational",
                                                                    "retry_exceeded",
                                                                    "rnr_retry_exceeded",
                                                                    "bind",
                                                                    "bad_response",
                                                                    "register_entry",
                                                                    "register_instance",
                                                                    "register_space"};
static_assert(kWcStatusNames.size() == static_cast<std::size_t>(WcStatus::kCount_));
constexpr std::string_view name(WcStatus s) { return kWcStatusNames[static_cast<std::size_t>(s)]; }

enum class WcOp : std::uint8_t {
  kSend,
  kRdmaWrite,
  kRdmaRead,
  kFetchOp,
  kBind,
  kUnbind,
  kDelay,
  kRegister,
  kReceive,
  kReceiveRdmaIdata
};
constexpr WcOp wc_op(WrOp op) {
  switch (op) {
    case WrOp::kSend:
    case WrOp::kSendDereg:
    case WrOp::kRegisterSend:
      return WcOp::kSend;
    case WrOp::kRdmaWrite:
      return WcOp::kRdmaWrite;
    case WrOp::kRdmaRead:
      return WcOp::kRdmaRead;
    case WrOp::kFetchOp:
      return WcOp::kFetchOp;
    case WrOp::kBind:
      return WcOp::kBind;
    case WrOp::kUnbind:
      return WcOp::kUnbind;
    case WrOp::kRegister:
      return WcOp::kRegister;
    case WrOp::kDelay:
      break;
  }
  return WcOp::kDelay;
}

struct Wc {
  std::uint64_t wr_id = 0;
  WcStatus status = WcStatus::kSuccess;
  WcOp op = WcOp::kSend;
  bool has_idata = false;
  bool is_solicited = false;  // a receive whose sender requested it: SendWr::is_solicited
  Qpn qpn;
  std::uint32_t bytes = 0;  // that arrived (receives, RDMA reads and FetchOps)
  std::uint32_t idata = 0;
  VirtualAddress address;  // kReceiveRdmaIdata: where the write began
  MemoryHandle ended;      // kReceive: the key that the peer's Send has deregistered, 0 if none
  Lid source_lid;          // connectionless receive
  Qpn source_qpn;
  EeId source_ee;  // RD: our context with the sender's node
};

// The completions that one poll of a completion queue takes. A larger batch costs more to construct
// than another poll.
using WcBatch = std::array<Wc, 4>;

}  // namespace splitnic::fabric
