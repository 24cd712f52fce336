// Routes the buffer-management messages of one connection to the right one of our two roles. We own
// pools for one direction and use the peer's for the other, with separate reference numbers
// [S001-07]; a message that names a pool of the wrong side is a `role` error. Pure, one
// thread. docs/protocol/message.md#errors
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/clock.h"
#include "messaging/pools/pool_owner.h"
#include "messaging/pools/pool_user.h"

namespace splitnic::messaging {

class PoolControl {
 public:
  PoolControl(PoolOwner& owner, PoolUser& user, FilledSink& sink)
      : owner_(owner), user_(user), sink_(sink) {}

  Verdict on_buffer_recv_pool(const BufferRecvPool& message) {
    return user_.on_advertised(message);
  }
  Verdict on_buffer_recv_pool_get(const BufferRecvPoolGet& message) {
    return owner_.on_get(message);
  }
  Verdict on_buffer_recv_pool_update(const BufferRecvPoolUpdate& message);
  Verdict on_buffer_pool_flush_request(const BufferPoolFlushRequest& message);
  Verdict on_buffer_pool_flush_reply(const BufferPoolFlushReply& message);
  Verdict on_buffer_rdma_indicate(const BufferRdmaIndicate& message, base::Time now);

  // Returns true after an Update was dropped as `state` or `range`: elements are lost permanently,
  // so an acknowledged control channel has to be closed. [P-40]
  bool is_broken() const { return is_broken_; }

  std::size_t next_message(base::Time now, base::MutableBytes out);
  void on_time(base::Time now);
  base::Time deadline() const { return std::min(owner_.deadline(), user_.deadline()); }
  void close_all();

 private:
  PoolOwner& owner_;
  PoolUser& user_;
  FilledSink& sink_;
  bool is_broken_ = false;
};

}  // namespace splitnic::messaging
