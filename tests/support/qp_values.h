// One legal value of each attribute of a queue pair, and which attributes of two differ.
#pragma once

#include "fabric_emul/transport/qp_attr.h"

namespace splitnic::fabric::testing {

// Legal values, each different from the default.
inline QpAttr other_values() {
  QpAttr v;
  v.rights = kRemoteRead;
  v.sl = 3;
  v.remote_lid = Lid(2);
  v.remote_qpn = Qpn(0x11);
  v.mcp = 1364;
  v.receive_psn = Psn(0x100);
  v.receive_lcn = Lcn(0x200);
  v.min_rnr_timer = 77;
  v.selective_repeat = false;
  v.send_psn = Psn(0x300);
  v.send_lcn = Lcn(0x400);
  v.max_outstanding = 4;
  v.retry_count = 2;
  v.rnr_retry = 3;
  v.ack_interval = 8;
  v.max_dest_rd_atomic = 5;
  v.max_rd_atomic = 6;
  return v;
}

// Of max_outstanding, which no change may carry [S000-16].
inline constexpr AttrMask kNeverGiven = 1U << 31;

// One bit for each attribute that differs.
inline AttrMask difference(const QpAttr& a, const QpAttr& b) {
  AttrMask mask = 0;
  const auto compare = [&](AttrMask bit, auto member) {
    if (!(a.*member == b.*member)) mask |= bit;
  };
  compare(kAttrRights, &QpAttr::rights);
  compare(kAttrSl, &QpAttr::sl);
  compare(kAttrRemoteLid, &QpAttr::remote_lid);
  compare(kAttrRemoteQpn, &QpAttr::remote_qpn);
  compare(kAttrMcp, &QpAttr::mcp);
  compare(kAttrReceivePsn, &QpAttr::receive_psn);
  compare(kAttrReceiveLcn, &QpAttr::receive_lcn);
  compare(kAttrMinRnrTimer, &QpAttr::min_rnr_timer);
  compare(kAttrSelectiveRepeat, &QpAttr::selective_repeat);
  compare(kAttrSendPsn, &QpAttr::send_psn);
  compare(kAttrSendLcn, &QpAttr::send_lcn);
  compare(kNeverGiven, &QpAttr::max_outstanding);
  compare(kAttrRetryCount, &QpAttr::retry_count);
  compare(kAttrRnrRetry, &QpAttr::rnr_retry);
  compare(kAttrAckInterval, &QpAttr::ack_interval);
  compare(kAttrMaxDestRdAtomic, &QpAttr::max_dest_rd_atomic);
  compare(kAttrMaxRdAtomic, &QpAttr::max_rd_atomic);
  return mask;
}

}  // namespace splitnic::fabric::testing
