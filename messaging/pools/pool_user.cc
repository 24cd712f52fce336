// Advertisement, flush and messages of the initiator side; pool_user_datapath.cc has what runs per
// frame.
#include "messaging/pools/pool_user.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace splitnic::messaging {
PoolUser::Pool::Pool(const PoolRecord& r, std::uint64_t since)
    : record(r), born(since), elements(r.elements), available(r.elements) {
  for (std::uint32_t i = 0; i < r.elements; ++i) available.push(i);
}

PoolUser::PoolUser(const PoolUserConfig& config, ContextSource& contexts, DropCounters& drops)
    : config_(config),
      contexts_(contexts),
      drops_(drops),
      charge_(config.memory),
      flushes_(config.flush_timeout) {}

// All records are checked before the first is applied: a refused message leaves no pool and uses no
// memory. [P-42]
Verdict PoolUser::on_advertised(const BufferRecvPool& message) {
  if (const Verdict verdict = check(message); !verdict) return verdict;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < message.size(); ++i) bytes += table_bytes(message[i].elements);
  if (!charge_.add(bytes)) return DropReason::kMemory;
  for (std::size_t i = 0; i < message.size(); ++i) add(message[i]);
  is_waiting_ = false;
  return {};
}

// A peer can repeat this as often as it likes, so the work grows with the message, and hardly with
// the pools in use. [M-2]
Verdict PoolUser::check(const BufferRecvPool& message) const {
  if (pools_.size() + message.size() > config_.pools_max) return DropReason::kRange;
  std::uint64_t elements = elements_;
  for (std::size_t i = 0; i < message.size(); ++i) elements += message[i].elements;
  if (elements > config_.elements_max || has_too_many_sizes(message) ||
      has_too_many_contexts(message)) {
    return DropReason::kRange;
  }
  if (const Verdict verdict = check_references(message); !verdict) return verdict;
  return check_extents(message);
}

bool PoolUser::has_too_many_sizes(const BufferRecvPool& message) const {
  std::vector<std::uint32_t> sizes;
  const auto note = [&](const SizeClass& c) {
    if (std::ranges::find(sizes, c.element_bytes) == sizes.end()) sizes.push_back(c.element_bytes);
  };
  std::ranges::for_each(classes_, note);
  for (const Selecting& s : selecting_) std::ranges::for_each(s.classes, note);
  for (std::size_t i = 0; i < message.size() && sizes.size() <= config_.sizes_max; ++i) {
    const std::uint32_t size = message[i].element_bytes;
    if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
  }
  return sizes.size() > config_.sizes_max;
}

bool PoolUser::has_too_many_contexts(const BufferRecvPool& message) const {
  if (!contexts_select_) return false;
  std::vector<std::uint64_t> contexts;
  for (const Selecting& s : selecting_) contexts.push_back(s.context);
  for (std::size_t i = 0; i < message.size() && contexts.size() <= config_.contexts_max; ++i) {
    const std::uint64_t context = message[i].pool_context;
    if (context != 0 && std::ranges::find(contexts, context) == contexts.end()) {
      contexts.push_back(context);
    }
  }
  return contexts.size() > config_.contexts_max;
}

// Each names a pool that is not in use, and no other names it.
Verdict PoolUser::check_references(const BufferRecvPool& message) const {
  std::vector<std::uint32_t> references;
  for (std::size_t i = 0; i < message.size(); ++i) {
    if (knows(message[i].pool)) return DropReason::kState;
    references.push_back(message[i].pool.value);
  }
  std::ranges::sort(references);
  const bool is_twice = std::ranges::adjacent_find(references) != references.end();
  return is_twice ? Verdict(DropReason::kState) : Verdict();
}

// No two have memory in common.
Verdict PoolUser::check_extents(const BufferRecvPool& message) const {
  std::vector<std::pair<Start, std::uint64_t>> fresh;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const Start start = start_of(message[i]);
    fresh.emplace_back(start, start.address + message[i].total_bytes());
  }
  std::ranges::sort(fresh);
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    const Start& start = fresh[i].first;
    const std::uint64_t end = fresh[i].second;
    const auto is_cut_by = [&](const Start& next) {
      return next.handle == start.handle && next.address < end;
    };
    if (i + 1 < fresh.size() && is_cut_by(fresh[i + 1].first)) return DropReason::kRange;
    const auto behind = extents_.lower_bound(start);
    if (behind != extents_.end() && is_cut_by(behind->first)) return DropReason::kRange;
    if (behind == extents_.begin()) continue;
    const auto before = std::prev(behind);
    if (before->first.handle == start.handle && before->second > start.address) {
      return DropReason::kRange;
    }
  }
  return {};
}

// Null: no pool of its context is in use.
std::vector<PoolUser::SizeClass>* PoolUser::classes_of(const PoolRecord& record) {
  if (!contexts_select_ || record.pool_context == 0) return &classes_;
  const auto at = std::ranges::find(selecting_, record.pool_context, &Selecting::context);
  return at == selecting_.end() ? nullptr : &at->classes;
}

std::vector<PoolUser::SizeClass>& PoolUser::make_classes_of(const PoolRecord& record) {
  if (auto* const classes = classes_of(record); classes != nullptr) return *classes;
  const auto at = std::ranges::find_if(selecting_, [&](const Selecting& s) {
    return fields_selected(s.context) < fields_selected(record.pool_context);
  });
  return selecting_.insert(at, Selecting{record.pool_context, {}})->classes;
}

void PoolUser::add(const PoolRecord& record) {
  Pool& pool = pools_.insert(record.pool, std::make_unique<Pool>(record, stamp_));
  elements_ += record.elements;
  extents_.emplace(start_of(record), record.address.value + record.total_bytes());
  std::vector<SizeClass>& classes = make_classes_of(record);
  const auto at = std::lower_bound(
      classes.begin(), classes.end(), record.element_bytes,
      [](const SizeClass& c, std::uint32_t bytes) { return c.element_bytes < bytes; });
  const bool is_new = at == classes.end() || at->element_bytes != record.element_bytes;
  SizeClass& sizes =
      is_new ? *classes.insert(at, SizeClass{record.element_bytes, {}, 0, 0, 0}) : *at;
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
  if (!sizes->pools.empty()) return;
  std::vector<SizeClass>& classes = *classes_of(pool.record);
  classes.erase(classes.begin() + (sizes - classes.data()));
  std::erase_if(selecting_, [](const Selecting& s) { return s.classes.empty(); });
}

// Of a pool that is erased.
void PoolUser::forget(const PoolRecord& record) {
  elements_ -= record.elements;
  extents_.erase(start_of(record));
  charge_.give(table_bytes(record.elements));
}

void PoolUser::erase(PoolRef ref) {
  forget(pools_.find(ref)->record);
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
    if (is_done) forget(pool.record);
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
  selecting_.clear();
  pools_.erase_if([](const Pool&) { return true; });
  elements_ = 0;
  extents_.clear();
  charge_.reset();
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
