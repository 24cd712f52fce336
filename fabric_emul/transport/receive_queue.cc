#include "fabric_emul/transport/receive_queue.h"

#include <cerrno>

namespace splitnic::fabric {

base::Status ReceiveQueue::post(const RecvWr& wr) {
  if (ring_.full()) return base::Error("the receive queue is full", ENOMEM);
  RecvWqe w{.wr_id = wr.wr_id, .scatter = {}};
  if (!w.scatter.assign(wr.scatter)) {
    return base::Error("too many pieces in the scatter list", EINVAL);
  }
  ring_.push(w);
  return {};
}

}  // namespace splitnic::fabric
