// The completion of a send that was posted after its queue pair had left its working state.
// Pure. docs/protocol/transport.md
#pragma once

#include "fabric_emul/transport/wc.h"
#include "fabric_emul/transport/work_request.h"

namespace splitnic::fabric {

inline Wc flushed_send(const SendWr& wr) {
  Wc wc;
  wc.wr_id = wr.wr_id;
  wc.status = WcStatus::kFlushed;
  wc.op = wc_op(wr.op);
  return wc;
}

}  // namespace splitnic::fabric
