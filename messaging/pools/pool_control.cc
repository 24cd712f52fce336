#include "messaging/pools/pool_control.h"

namespace splitnic::messaging {
namespace {

// Returns true if the message names a pool that only the other role knows.
template <typename Message, typename Expected, typename Other>
bool is_of_other_role(const Message& message, const Expected& expected, const Other& other) {
  for (std::size_t i = 0; i < message.size(); ++i) {
    const PoolRef ref = message[i].pool;
    if (!expected.knows(ref) && other.knows(ref)) return true;
  }
  return false;
}

}  // namespace

Verdict PoolControl::on_buffer_recv_pool_update(const BufferRecvPoolUpdate& message) {
  const Verdict verdict = user_.on_update(message);
  if (verdict) return verdict;
  const DropReason reason = verdict.error();
  if (reason == DropReason::kPool && is_of_other_role(message, user_, owner_)) {
    return DropReason::kRole;
  }
  if (reason == DropReason::kState || reason == DropReason::kRange) is_broken_ = true;
  return verdict;
}

Verdict PoolControl::on_buffer_pool_flush_request(const BufferPoolFlushRequest& message) {
  return names_receivers_pools(message.context()) ? owner_.on_flush_request(message)
                                                  : user_.on_flush_request(message);
}

Verdict PoolControl::on_buffer_pool_flush_reply(const BufferPoolFlushReply& message) {
  if (owner_.on_flush_reply(message.context) || user_.on_flush_reply(message.context)) return {};
  return DropReason::kContext;
}

Verdict PoolControl::on_buffer_rdma_indicate(const BufferRdmaIndicate& message, base::Time now) {
  const Verdict verdict = owner_.on_indicate(message, sink_, now);
  if (!verdict && verdict.error() == DropReason::kPool &&
      is_of_other_role(message, owner_, user_)) {
    return DropReason::kRole;
  }
  return verdict;
}

std::size_t PoolControl::next_message(base::Time now, base::MutableBytes out) {
  const std::size_t length = owner_.next_message(now, out);
  return length != 0 ? length : user_.next_message(now, out);
}

void PoolControl::on_time(base::Time now) {
  owner_.on_time(now);
  user_.on_time(now);
}

void PoolControl::close_all() {
  owner_.close_all();
  user_.close_all();
  is_broken_ = false;
}

}  // namespace splitnic::messaging
