// The exchange of BufferPoolFlushRequest and BufferPoolFlushReply, which is the same for the owner
// and for the user of pools: our open requests with their deadlines, and the replies that the
// peer's requests wait for. A repeated request gets one reply. The pools themselves, and what it
// means to end one, belong to the caller. One thread. docs/protocol/pools.md#bufferpoolflush
// [S001-16] [S001-17]
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "messaging/drop_reason.h"
#include "messaging/pools/pool_table.h"
#include "messaging/wire/buffer_pool_flush.h"

namespace splitnic::messaging {

// The part of a pool's state that concerns our request to flush it.
struct FlushMark {
  bool is_unsent = false;
  TransactionContext context;  // of our request, once it is sent

  // Returns true if the request with this context named the pool.
  bool is_of(TransactionContext request) const { return !is_unsent && context == request; }
};

class FlushExchange {
 public:
  static constexpr std::size_t kRepliesMax = 16;

  explicit FlushExchange(base::Duration timeout) : timeout_(timeout) {}

  // -- our requests --
  // Marks a pool: the next request names it.
  void add(FlushMark& mark) {
    mark.is_unsent = true;
    has_unsent_ = true;
  }
  // Writes a request that names the marked pools for which is_ready(pool) holds, and returns its
  // length, or 0 if there is none. `next_context` is called once if any pool is marked. A pool has
  // the members `record` and `flush`.
  template <class Pool, class NextContext, class IsReady>
  std::size_t emit_request(PoolTable<Pool>& pools, NextContext next_context, IsReady is_ready,
                           base::Time now, base::MutableBytes out);
  // A reply arrived. Returns false if it belongs to no open request.
  bool on_reply(TransactionContext context);
  // Returns a request without a reply whose time is up; it is no longer open.
  std::optional<TransactionContext> next_expired(base::Time now);
  base::Time deadline() const;

  // -- requests of the peer --
  // Calls begin(PoolRef) for each pool that a new request names; it returns false if there is no
  // such pool, which is counted and does not prevent the reply. kState: too many replies are due.
  template <class Begin>
  Verdict on_request(const BufferPoolFlushRequest& message, DropCounters& drops, Begin begin);
  // Writes the reply to the oldest request of whose pools is_ready(PoolRef) holds, and returns its
  // length, or 0 if there is none. Calls end(PoolRef) for each of the pools before.
  template <class IsReady, class End>
  std::size_t emit_reply(IsReady is_ready, End end, base::MutableBytes out);

  // The connection is gone.
  void clear();

 private:
  struct OpenRequest {
    TransactionContext context;
    base::Time deadline;
  };
  struct DueReply {
    TransactionContext context;
    std::vector<PoolRef> pools;
  };

  base::Duration timeout_;
  bool has_unsent_ = false;
  std::vector<OpenRequest> open_;
  std::vector<DueReply> due_;
};

template <class Pool, class NextContext, class IsReady>
std::size_t FlushExchange::emit_request(PoolTable<Pool>& pools, NextContext next_context,
                                        IsReady is_ready, base::Time now, base::MutableBytes out) {
  if (!has_unsent_) return 0;
  has_unsent_ = false;
  const TransactionContext context = next_context();
  RecordWriter<BufferPoolFlushRequest> writer(out);
  pools.visit([&](Pool& pool) {
    if (!pool.flush.is_unsent) return;
    if (writer.full() || !is_ready(pool)) {
      has_unsent_ = true;
      return;
    }
    writer.add({pool.record.pool});
    pool.flush = {false, context};
  });
  if (!writer.empty()) open_.push_back({context, now + timeout_});
  return writer.finish(context);
}

template <class Begin>
Verdict FlushExchange::on_request(const BufferPoolFlushRequest& message, DropCounters& drops,
                                  Begin begin) {
  for (const DueReply& due : due_) {
    if (due.context == message.context()) return {};  // repeated
  }
  if (due_.size() == kRepliesMax) return DropReason::kState;
  DueReply reply{message.context(), {}};
  for (std::size_t i = 0; i < message.size(); ++i) {
    const PoolRef ref = message[i].pool;
    if (begin(ref))
      reply.pools.push_back(ref);
    else
      drops.add(DropReason::kPool);
  }
  due_.push_back(std::move(reply));
  return {};
}

template <class IsReady, class End>
std::size_t FlushExchange::emit_reply(IsReady is_ready, End end, base::MutableBytes out) {
  const auto at = std::ranges::find_if(
      due_, [&](const DueReply& due) { return std::ranges::all_of(due.pools, is_ready); });
  if (at == due_.end()) return 0;
  const DueReply reply = std::move(*at);
  due_.erase(at);
  std::ranges::for_each(reply.pools, end);
  return BufferPoolFlushReply{reply.context}.emit(out);
}

}  // namespace splitnic::messaging
