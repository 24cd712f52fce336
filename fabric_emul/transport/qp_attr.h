// The attributes of a queue pair, and which of them belong to each change of state, per service, as
// data. A modify is checked whole, then applied whole: check_modify() changes nothing, and
// apply_attributes() cannot fail. Attributes are plain values; the queue pair's thread owns its
// copy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "fabric_emul/mem/access.h"
#include "fabric_emul/transport/qp_state.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/limits.h"
#include "fabric_emul/wire/op_table.h"

namespace splitnic::fabric {

inline constexpr std::uint8_t kRetryCountMax = 7;  // tries are always finite
inline constexpr std::uint8_t kRnrRetryForever = 7;
inline constexpr std::uint16_t kReadsMax = 128;  // open at a time

struct QpAttr {
  std::uint8_t rights = kRemoteRead | kRemoteWrite;  // of the peer: remote bits only
  std::uint8_t sl = 0;                               // service level, 0..15
  Lid remote_lid;
  Qpn remote_qpn;
  std::uint16_t mcp = kDefaultMcpFull;  // maximum cell payload, bytes, a multiple of 4
  Psn receive_psn;                      // first PSN and LCN that the peer will send
  Lcn receive_lcn;
  std::uint16_t min_rnr_timer = 10;  // wait that an RNR NAK requests, units of 10 us
  bool selective_repeat = true;      // false: go-back-N
  Psn send_psn;                      // first PSN and LCN that we send
  Lcn send_lcn;
  // Packets not yet acknowledged. Fixed when the queue pair is created: no change of state takes it
  // [S000-16].
  std::uint32_t max_outstanding = 256;
  std::uint8_t retry_count = kRetryCountMax;  // retransmissions without progress, 0..7
  std::uint8_t rnr_retry = kRnrRetryForever;  // 0..6, 7 = indefinitely
  std::uint16_t ack_interval = 64;            // K: cells that an ACK may cover, 1 = one each
  // RDMA reads and FetchOps that are open at a time, 0 = none: as responder, as requester.
  std::uint16_t max_dest_rd_atomic = 0;
  std::uint16_t max_rd_atomic = 0;
};

// One bit per attribute.
using AttrMask = std::uint32_t;
enum QpAttrBit : AttrMask {
  kAttrRights = 1U << 0,
  kAttrSl = 1U << 1,
  kAttrRemoteLid = 1U << 2,
  kAttrRemoteQpn = 1U << 3,
  kAttrMcp = 1U << 4,
  kAttrReceivePsn = 1U << 5,
  kAttrReceiveLcn = 1U << 6,
  kAttrMinRnrTimer = 1U << 7,
  kAttrSelectiveRepeat = 1U << 8,
  kAttrSendPsn = 1U << 9,
  kAttrSendLcn = 1U << 10,
  kAttrRetryCount = 1U << 11,
  kAttrRnrRetry = 1U << 12,
  kAttrAckInterval = 1U << 13,
  kAttrMaxDestRdAtomic = 1U << 14,
  kAttrMaxRdAtomic = 1U << 15,
};
inline constexpr std::size_t kQpAttrs = 16;
inline constexpr AttrMask kAllAttrs = (AttrMask{1} << kQpAttrs) - 1;

inline constexpr std::array<std::string_view, kQpAttrs> kQpAttrNames = {
    "rights",       "sl",          "remote_lid",    "remote_qpn",       "mcp",
    "receive_psn",  "receive_lcn", "min_rnr_timer", "selective_repeat", "send_psn",
    "send_lcn",     "retry_count", "rnr_retry",     "ack_interval",     "max_dest_rd_atomic",
    "max_rd_atomic"};
static_assert(kAttrMaxRdAtomic == AttrMask{1} << (kQpAttrs - 1), "every attribute has a name");

// The services whose queue pairs change state by modify; every other one is refused.
constexpr bool has_modify(Service service) {
  return service == Service::kRc || service == Service::kUc || service == Service::kRd ||
         service == Service::kUd || service == Service::kRaw;
}

// The attributes that a change must and may carry. Both are 0 where the change is illegal or
// carries none.
AttrMask required_attributes(Service service, QpState from, QpState to);
AttrMask optional_attributes(Service service, QpState from, QpState to);

// Checks a modify: the edge, then the attributes given, then their values. Values whose bit is not
// given are ignored. The error names the wrong attribute and has errno_value EINVAL.
base::Status check_modify(Service service, QpState from, QpState to, AttrMask given,
                          const QpAttr& values);

// Copies the given attributes from `values` to `attr` and no others. REQUIRES: check_modify()
// passed.
void apply_attributes(QpAttr& attr, AttrMask given, const QpAttr& values);

}  // namespace splitnic::fabric
