#include "fabric_emul/transport/receive_queue.h"

#include <cerrno>

namespace splitnic::fabric {

base::Status ReceiveQueue::post(const RecvWr& wr) {
  if (ring_.size() + claimed_ >= ring_.capacity())
    return base::Error("the receive queue is full", ENOMEM);
  RecvWqe& w = ring_.push_slot();
  w.wr_id = wr.wr_id;
  if (w.scatter.assign(wr.scatter)) return {};
  ring_.pop_back();
  return base::Error("too many pieces in the scatter list", EINVAL);
}

}  // namespace splitnic::fabric
