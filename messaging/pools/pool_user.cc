// Advertisement, flush and messages of the initiator side; pool_user_datapath.cc has what runs per
// frame.
#include "messaging/pools/pool_user.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace splitnic::messaging {
namespace {

bool overlap(const PoolRecord& a, const PoolRecord& b) {
  return a.handle == b.handle && a.address.value < b.address.value + b.total_bytes() &&
         b.address.value < a.address.value + a.total_bytes();
}

}  // namespace

PoolUser::Pool::Pool(const PoolRecord& r, std::uint64_t since)
    : record(r), born(since), elements(r.elements), available(r.elements) {
  for (std::uint32_t i = 0; i < r.elements; ++i) available.push(i);
}

PoolUser::PoolUser(const PoolUserConfig& config, ContextSource& contexts, DropCounters& drops)
    : config_(config), contexts_(contexts), drops_(drops), flushes_(config.flush_timeout) {}

// All records are checked before the first is applied: a refused message leaves no pool and uses no
// memory. [P-42]
Verdict PoolUser::on_advertised(const BufferRecvPool& message) {
  if (pools_.size() + message.size() > config_.pools_max) return DropReason::kRange;
  if (classes_.size() + new_sizes(message) > config_.sizes_max) return DropReason::kRange;
  std::uint64_t elements = elements_;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const PoolRecord record = message[i];
    elements += record.elements;
    if (elements > config_.elements_max) return DropReason::kRange;
    const Verdict verdict = check(record, message, i);
    if (!verdict) return verdict;
  }
  for (std::size_t i = 0; i < message.size(); ++i) add(message[i]);
  is_waiting_ = false;
  return {};
}

// Returns the number of element sizes in the message that no pool in use has.
std::size_t PoolUser::new_sizes(const BufferRecvPool& message) const {
  std::size_t sizes = 0;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const std::uint32_t size = message[i].element_bytes;
    bool is_new = std::none_of(classes_.begin(), classes_.end(),
                               [&](const SizeClass& c) { return c.element_bytes == size; });
    for (std::size_t j = 0; j < i && is_new; ++j) is_new = message[j].element_bytes != size;
    if (is_new) ++sizes;
  }
  return sizes;
}

Verdict PoolUser::check(const PoolRecord& record, const BufferRecvPool& message,
                        std::size_t before) const {
  if (knows(record.pool)) return DropReason::kState;
  for (std::size_t j = 0; j < before; ++j) {
    if (message[j].pool == record.pool) return DropReason::kState;
    if (overlap(message[j], record)) return DropReason::kRange;
  }
  bool is_free = true;
  pools_.visit([&](const Pool& pool) { is_free = is_free && !overlap(pool.record, record); });
  if (!is_free) return DropReason::kRange;
  return {};
}

void PoolUser::add(const PoolRecord& record) {
  Pool& pool = pools_.insert(record.pool, std::make_unique<Pool>(record, stamp_));
  elements_ += record.elements;
  const auto at = std::lower_bound(
      classes_.begin(), classes_.end(), record.element_bytes,
      [](const SizeClass& c, std::uint32_t bytes) { return c.element_bytes < bytes; });
  const bool is_new = at == classes_.end() || at->element_bytes != record.element_bytes;
  SizeClass& sizes =
      is_new ? *classes_.insert(at, SizeClass{record.element_bytes, {}, 0, 0, 0}) : *at;
  sizes.pools.push_back(&pool);
  sizes.available += record.elements;
  sizes.total += record.elements;
}

// From now on no element of the pool is leased.
void PoolUser::leave_class(Pool& pool) {
  SizeClass* sizes = class_of(pool);
  CHECK(sizes != nullptr);
  std::erase(sizes->pools, &pool);
  sizes->current = 0;
  sizes->available -= pool.available.size();
  sizes->total -= pool.record.elements;
  if (sizes->pools.empty()) {
    classes_.erase(classes_.begin() + (sizes - classes_.data()));
  }
}

void PoolUser::erase(PoolRef ref) {
  elements_ -= pools_.find(ref)->record.elements;
  pools_.erase(ref);
}

Verdict PoolUser::on_flush_request(const BufferPoolFlushRequest& message) {
  return flushes_.on_request(message, drops_, [this](PoolRef ref) {
    Pool* pool = pools_.find(ref);
    if (pool == nullptr) return false;
    if (!pool->is_flushing()) leave_class(*pool);
    pool->is_flushed_by_owner = true;
    return true;
  });
}

bool PoolUser::on_flush_reply(TransactionContext context) {
  if (!flushes_.on_reply(context)) return false;
  erase_flushed(context);
  return true;
}

void PoolUser::erase_flushed(TransactionContext request) {
  pools_.erase_if([&](const Pool& pool) {
    const bool is_done = pool.is_flushed_by_us && pool.flush.is_of(request);
    if (is_done) elements_ -= pool.record.elements;
    return is_done;
  });
}

bool PoolUser::request_more(std::uint32_t packet_bytes, std::uint32_t packets) {
  CHECK(packet_bytes != 0 && packets != 0);
  if (buffer_requests_.size() == kBufferRequestsMax) return false;
  buffer_requests_.push_back({contexts_.next(), packet_bytes, packets});
  return true;
}

void PoolUser::request_flush(std::span<const PoolRef> refs) {
  for (const PoolRef ref : refs) {
    Pool* pool = pools_.find(ref);
    if (pool == nullptr || pool->is_flushing()) continue;
    leave_class(*pool);
    pool->is_flushed_by_us = true;
    flushes_.add(pool->flush);
  }
}

void PoolUser::request_flush_all() {
  std::vector<PoolRef> refs;
  pools_.visit([&](const Pool& pool) { refs.push_back(pool.record.pool); });
  request_flush(refs);
}

void PoolUser::close_all() {
  classes_.clear();
  pools_.erase_if([](const Pool&) { return true; });
  elements_ = 0;
  flushes_.clear();
  buffer_requests_.clear();
  is_waiting_ = false;
}

std::size_t PoolUser::next_message(base::Time now, base::MutableBytes out) {
  std::size_t length = emit_flush_reply(out);
  if (length == 0) length = emit_flush_request(now, out);
  if (length == 0 && !buffer_requests_.empty()) {
    length = buffer_requests_.front().emit(out);
    buffer_requests_.erase(buffer_requests_.begin());
  }
  return length;
}

// The reply waits until our writes into the pools have completed [S001-17].
std::size_t PoolUser::emit_flush_reply(base::MutableBytes out) {
  const auto is_ready = [this](PoolRef ref) {
    const Pool* pool = pools_.find(ref);
    return pool == nullptr || !pool->is_flushed_by_owner || pool->outstanding == 0;
  };
  const auto end_it = [this](PoolRef ref) {
    const Pool* pool = pools_.find(ref);
    if (pool != nullptr && pool->is_flushed_by_owner) erase(ref);
  };
  return flushes_.emit_reply(is_ready, end_it, out);
}

std::size_t PoolUser::emit_flush_request(base::Time now, base::MutableBytes out) {
  return flushes_.emit_request(
      pools_, [this] { return for_receivers_pools(contexts_.next()); },
      [](const Pool& pool) { return pool.outstanding == 0; }, now, out);
}

void PoolUser::on_time(base::Time now) {
  while (const auto request = flushes_.next_expired(now)) {
    counters_.add(PoolCounter::kFlushTimeout);
    erase_flushed(*request);
  }
}

base::Time PoolUser::deadline() const { return flushes_.deadline(); }

void PoolUser::visit(const std::function<void(const UserPoolView&)>& visitor) const {
  pools_.visit([&](const Pool& pool) {
    const auto available = static_cast<std::uint32_t>(pool.available.size());
    visitor({pool.record, pool.is_flushing(), available, pool.writing,
             pool.record.elements - available - pool.writing});
  });
}

}  // namespace splitnic::messaging
