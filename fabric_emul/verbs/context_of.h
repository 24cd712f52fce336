// The fields that the context of every queue pair has from its creation, whatever the service.
#pragma once

#include "fabric_emul/verbs/qp_init.h"

namespace splitnic::fabric {

// `Context` is QpContext or StreamContext. The references outlive the queue pair.
template <class Context, class Counters>
Context context_of(const CommonInit& common, Qpn qpn, Mrwt& memory, Counters& counters,
                   CompletionQueue& send_cq, CompletionQueue& recv_cq) {
  Context context{.mrwt = memory, .counters = counters, .send_cq = send_cq, .recv_cq = recv_cq};
  context.qpn = qpn;
  context.pd = common.pd;
  context.partition = common.partition;
  context.takes_dereg = common.takes_dereg;
  return context;
}

}  // namespace splitnic::fabric
