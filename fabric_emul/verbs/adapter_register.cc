// The verbs that register memory through the send queue [S002-29 to S002-34].
#include "fabric_emul/verbs/adapter.h"

namespace splitnic::fabric {

base::Result<MemoryHandle> Adapter::post_register(Qpn qpn, const SendWr& wr,
                                                  const NewRegion& region) {
  Qp* qp = qps_.find(qpn);
  if (qp == nullptr) return base::Error("no such queue pair");
  auto key = qp->post_register(wr, region);
  if (key) activate(*qp);
  return key;
}

base::Status Adapter::resume_sq(Qpn qpn) {
  Qp* qp = qps_.find(qpn);
  if (qp == nullptr) return base::Error("no such queue pair");
  return qp->resume_sq();
}

}  // namespace splitnic::fabric
