// Set-up, flush and messages of the target side; pool_owner_datapath.cc has what runs per frame.
#include "messaging/pools/pool_owner.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"

namespace splitnic::messaging {

PoolOwner::PoolOwner(const PoolOwnerConfig& config, ContextSource& contexts, DropCounters& drops)
    : config_(config), contexts_(contexts), drops_(drops), flushes_(config.flush_timeout) {}

PoolRef PoolOwner::choose_ref(const PoolMemory& memory) {
  // References rotate, so that one is not reused soon after its flush.
  if (PoolElementIdata::suits(PoolRef(0), memory.elements, memory.element_bytes)) {
    for (std::uint32_t i = 0; i < kIdataPools; ++i) {
      const PoolRef ref(next_small_++ % kIdataPools);
      if (pools_.find(ref) == nullptr) return ref;
    }
  }
  while (pools_.find(PoolRef(next_large_)) != nullptr || next_large_ < kIdataPools) ++next_large_;
  return PoolRef(next_large_++);
}

PoolRef PoolOwner::add(const PoolMemory& memory, TransactionContext context) {
  const PoolRef ref = choose_ref(memory);
  add_as(ref, memory, context);
  return ref;
}

void PoolOwner::add_as(PoolRef ref, const PoolMemory& memory, TransactionContext context) {
  const PoolRecord record{ref,           memory.elements, memory.element_bytes,
                          memory.handle, memory.address,  memory.pool_context};
  CHECK(record.is_legal());
  CHECK(config_.form != IdataForm::kOffsetLength || pools_.size() == 0);
  Pool& pool = pools_.insert(ref, std::make_unique<Pool>(record));
  pool.context = context;
  pool.posted = record.elements;
  pool.size_class = class_of(record.element_bytes);
  has_unannounced_ = true;
}

std::size_t PoolOwner::class_of(std::uint32_t element_bytes) {
  std::size_t i = 0;
  while (i < classes_.size() && classes_[i].element_bytes != element_bytes) ++i;
  if (i == classes_.size()) classes_.push_back({element_bytes, 0});
  return i;
}

void PoolOwner::move(Pool& pool, PoolEvent event) {
  const auto to = next(pool.state, event);
  CHECK(to);
  pool.state = *to;
}

// The peer no longer uses the pool, or its time to reply is up. Elements that a reader holds stay
// until release().
void PoolOwner::end(Pool& pool, bool is_timed_out) {
  if (pool.is_live()) {
    if (pool.state == PoolState::kAdvertised) move(pool, PoolEvent::kFlushBegun);
    move(pool, PoolEvent::kFlushEnded);
    classes_[pool.size_class].posted -= pool.posted;
  }
  pool.is_unannounced = false;
  pool.flush.is_unsent = false;
  pool.update_due = base::kNever;
  closed_.push_back({pool.record.pool, pool.record.handle, is_timed_out});
}

void PoolOwner::erase_drained() {
  pools_.erase_if([](const Pool& pool) {
    return pool.state == PoolState::kFree && !pool.is_unannounced && pool.filled == 0;
  });
}

Verdict PoolOwner::on_get(const BufferRecvPoolGet& message) {
  for (BufferRecvPoolGet& buffer_request : buffer_requests_) {
    if (buffer_request.context == message.context) {
      buffer_request = message;
      return {};
    }
  }
  if (buffer_requests_.size() == kBufferRequestsMax) return DropReason::kState;
  buffer_requests_.push_back(message);
  return {};
}

Verdict PoolOwner::on_flush_request(const BufferPoolFlushRequest& message) {
  return flushes_.on_request(message, drops_, [this](PoolRef ref) {
    Pool* pool = pools_.find(ref);
    if (pool == nullptr || !pool->is_live()) return false;
    if (pool->state == PoolState::kAdvertised) move(*pool, PoolEvent::kFlushBegun);
    pool->update_due = base::kNever;
    pool->flush.is_unsent = false;
    return true;
  });
}

bool PoolOwner::on_flush_reply(TransactionContext context) {
  if (!flushes_.on_reply(context)) return false;
  end_flushed(context, false);
  return true;
}

// A pool that crossing requests have ended already is not ended again.
void PoolOwner::end_flushed(TransactionContext request, bool is_timed_out) {
  pools_.visit([&](Pool& pool) {
    if (pool.state == PoolState::kFlushing && pool.flush.is_of(request)) end(pool, is_timed_out);
  });
  erase_drained();
}

void PoolOwner::request_flush(std::span<const PoolRef> refs) {
  for (const PoolRef ref : refs) {
    Pool* pool = pools_.find(ref);
    if (pool == nullptr) continue;
    if (pool->is_unannounced) end(*pool, false);
    if (pool->state != PoolState::kAdvertised) continue;
    move(*pool, PoolEvent::kFlushBegun);
    pool->update_due = base::kNever;
    flushes_.add(pool->flush);
  }
  erase_drained();
}

void PoolOwner::request_flush_all() {
  std::vector<PoolRef> refs;
  pools_.visit([&](const Pool& pool) { refs.push_back(pool.record.pool); });
  request_flush(refs);
}

void PoolOwner::close_all() {
  pools_.visit([&](Pool& pool) {
    if (pool.is_live() || pool.is_unannounced) end(pool, false);
  });
  erase_drained();
  flushes_.clear();
  buffer_requests_.clear();
  has_unannounced_ = false;
  update_due_ = base::kNever;
}

std::size_t PoolOwner::next_message(base::Time now, base::MutableBytes out) {
  std::size_t length = emit_flush_reply(out);
  if (length == 0) length = emit_update(now, out);
  if (length == 0) length = emit_flush_request(now, out);
  if (length == 0) length = emit_advertisement(out);
  return length;
}

std::size_t PoolOwner::emit_flush_reply(base::MutableBytes out) {
  const auto is_ready = [](PoolRef) { return true; };
  const auto end_it = [this](PoolRef ref) {
    Pool* pool = pools_.find(ref);
    if (pool != nullptr && pool->state == PoolState::kFlushing) end(*pool, false);
  };
  const std::size_t length = flushes_.emit_reply(is_ready, end_it, out);
  if (length != 0) erase_drained();
  return length;
}

std::size_t PoolOwner::emit_flush_request(base::Time now, base::MutableBytes out) {
  return flushes_.emit_request(
      pools_, [this] { return contexts_.next(); }, [](const Pool&) { return true; }, now, out);
}

std::size_t PoolOwner::emit_advertisement(base::MutableBytes out) {
  if (!has_unannounced_) return 0;
  has_unannounced_ = false;
  std::optional<TransactionContext> context;  // one message replies to one Get
  RecordWriter<BufferRecvPool> writer(out);
  pools_.visit([&](Pool& pool) {
    if (!pool.is_unannounced) return;
    if (!context) context = pool.context;
    if (writer.full() || pool.context != *context) {
      has_unannounced_ = true;
      return;
    }
    writer.add(pool.record);
    move(pool, PoolEvent::kAdvertised);
    pool.is_unannounced = false;
    classes_[pool.size_class].posted += pool.posted;
  });
  return writer.finish(context.value_or(kUnsolicited));
}

void PoolOwner::on_time(base::Time now) {
  while (const auto request = flushes_.next_expired(now)) end_flushed(*request, true);
}

base::Time PoolOwner::deadline() const { return std::min(update_due_, flushes_.deadline()); }

std::optional<BufferRecvPoolGet> PoolOwner::next_buffer_request() {
  if (buffer_requests_.empty()) return std::nullopt;
  const BufferRecvPoolGet buffer_request = buffer_requests_.front();
  buffer_requests_.erase(buffer_requests_.begin());
  return buffer_request;
}

std::optional<ClosedPool> PoolOwner::next_closed() {
  if (closed_.empty()) return std::nullopt;
  const ClosedPool closed = closed_.front();
  closed_.erase(closed_.begin());
  return closed;
}

bool PoolOwner::in_use(fabric::MemoryHandle handle) const {
  bool is_found = false;
  pools_.visit([&](const Pool& pool) { is_found |= pool.record.handle == handle; });
  return is_found;
}

bool PoolOwner::is_closed() const {
  bool is_live = false;
  pools_.visit([&](const Pool& pool) { is_live |= pool.is_live() || pool.is_unannounced; });
  return !is_live;
}

bool PoolOwner::knows(PoolRef ref) const {
  const Pool* pool = pools_.find(ref);
  return pool != nullptr && pool->is_live();
}

void PoolOwner::visit(const std::function<void(const OwnerPoolView&)>& visitor) const {
  pools_.visit([&](const Pool& pool) {
    visitor({pool.record, pool.state, pool.posted, pool.filled,
             static_cast<std::uint32_t>(pool.released.size()), pool.indicated});
  });
}

}  // namespace splitnic::messaging
