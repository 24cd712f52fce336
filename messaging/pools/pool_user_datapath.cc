// Per frame at the initiator:
//   1. take        an AVAILABLE element becomes WRITING; its address, handle and idata go into the
//                  RDMA write
//   2. on_written  WRITING becomes CONSUMED
//   3. on_update   WRITING or CONSUMED becomes AVAILABLE, at the end of its pool's queue
#include <algorithm>

#include "base/check.h"
#include "messaging/pools/pool_user.h"

namespace splitnic::messaging {

std::optional<ElementLease> PoolUser::take(std::uint32_t bytes, std::uint64_t flow_context) {
  CHECK(bytes != 0);
  if (!selecting_.empty()) {
    if (auto lease = take_selected(bytes, flow_context)) return lease;
  }
  bool is_smallest = true;
  for (SizeClass& sizes : classes_) {
    if (sizes.element_bytes < bytes) continue;
    const std::uint64_t kept = is_smallest ? 0 : sizes.total / 4;
    if (sizes.available > kept) {
      is_waiting_ = false;
      return lease_from(sizes, bytes);
    }
    is_smallest = false;
  }
  if (!is_waiting_) counters_.add(PoolCounter::kWait);
  is_waiting_ = true;
  return std::nullopt;
}

std::optional<ElementLease> PoolUser::take_selected(std::uint32_t bytes,
                                                    std::uint64_t flow_context) {
  for (Selecting& selecting : selecting_) {
    if (!selects(selecting.context, flow_context)) continue;
    for (SizeClass& sizes : selecting.classes) {
      if (sizes.element_bytes < bytes || sizes.available == 0) continue;
      is_waiting_ = false;
      return lease_from(sizes, bytes);
    }
  }
  return std::nullopt;
}

ElementLease PoolUser::lease_from(SizeClass& sizes, std::uint32_t bytes) {
  while (sizes.pools[sizes.current]->available.empty()) {
    sizes.current = (sizes.current + 1) % sizes.pools.size();
  }
  Pool& pool = *sizes.pools[sizes.current];
  const std::uint32_t index = pool.available.front();
  pool.available.pop();
  --sizes.available;
  Element& element = pool.elements[index];
  const auto to = next(element.state, UserEvent::kTaken);
  CHECK(to);
  element.state = *to;
  element.stamp = ++stamp_;
  ++pool.writing;
  ++pool.outstanding;
  return {pool.record.pool,
          index,
          sizes.element_bytes,
          pool.record.handle,
          pool.record.element_address(index),
          idata_for(pool, index, bytes),
          element.stamp};
}

std::optional<std::uint32_t> PoolUser::idata_for(const Pool& pool, std::uint32_t element,
                                                 std::uint32_t bytes) const {
  const PoolRecord& record = pool.record;
  if (config_.form == IdataForm::kPoolElement &&
      PoolElementIdata::suits(record.pool, record.elements, record.element_bytes)) {
    return PoolElementIdata::encode(record.pool, element, bytes);
  }
  if (config_.form == IdataForm::kOffsetLength && pools_.size() == 1 &&
      OffsetLengthIdata::suits(record.total_bytes(), record.element_bytes)) {
    return OffsetLengthIdata::encode(std::uint64_t{element} * record.element_bytes, bytes);
  }
  return std::nullopt;
}

// Returns null if the pool of this lease is gone, even if another one has its reference.
PoolUser::Pool* PoolUser::leased_pool(const ElementLease& lease) {
  Pool* pool = pools_.find(lease.pool);
  return pool != nullptr && lease.stamp > pool->born ? pool : nullptr;
}

void PoolUser::on_written(const ElementLease& lease) {
  Pool* pool = leased_pool(lease);
  if (pool == nullptr) return;
  CHECK(pool->outstanding != 0);
  --pool->outstanding;
  Element& element = pool->elements[lease.element];
  if (element.stamp != lease.stamp) return;  // returned by an Update and leased again meanwhile
  const auto to = next(element.state, UserEvent::kWritten);
  if (!to) return;  // returned by an Update meanwhile
  element.state = *to;
  --pool->writing;
}

void PoolUser::cancel(const ElementLease& lease) {
  Pool* pool = leased_pool(lease);
  if (pool == nullptr) return;
  CHECK(pool->outstanding != 0);
  --pool->outstanding;
  Element& element = pool->elements[lease.element];
  // After an Update of an element that was never written, which is an error of the peer, the
  // element is AVAILABLE already.
  if (element.stamp != lease.stamp || !next(element.state, UserEvent::kCancelled)) return;
  make_available(*pool, lease.element, UserEvent::kCancelled);
}

void PoolUser::make_available(Pool& pool, std::uint32_t index, UserEvent event) {
  Element& element = pool.elements[index];
  if (element.state == UserElement::kWriting) --pool.writing;
  element.state = *next(element.state, event);
  pool.available.push(index);
  if (!pool.is_flushing()) ++class_of(pool)->available;
  is_waiting_ = false;
}

PoolUser::SizeClass* PoolUser::class_of(const Pool& pool) {
  std::vector<SizeClass>* const classes = classes_of(pool.record);
  if (classes == nullptr) return nullptr;
  for (SizeClass& sizes : *classes) {
    if (sizes.element_bytes == pool.record.element_bytes) return &sizes;
  }
  return nullptr;
}

Verdict PoolUser::check(const ElementRange& range) {
  Pool* pool = pools_.find(range.pool);
  if (pool == nullptr) return DropReason::kPool;
  if (pool->is_flushed_by_owner) return DropReason::kState;
  const std::uint64_t elements = pool->record.elements;
  const std::uint64_t end = range.count == 0 ? elements : std::uint64_t{range.first} + range.count;
  if (range.first >= elements || end > elements) return DropReason::kRange;
  for (std::uint64_t i = range.first; i < end; ++i) {
    Element& element = pool->elements[i];
    if (element.checked == check_) return DropReason::kRange;  // ranges overlap
    element.checked = check_;
    if (!next(element.state, UserEvent::kUpdated)) return DropReason::kState;
  }
  return {};
}

Verdict PoolUser::on_update(const BufferRecvPoolUpdate& message) {
  ++check_;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const Verdict verdict = check(message[i]);
    if (!verdict) return verdict;
  }
  for (std::size_t i = 0; i < message.size(); ++i) {
    const ElementRange range = message[i];
    Pool& pool = *pools_.find(range.pool);
    if (pool.is_flushed_by_us) {
      drops_.add(DropReason::kState);  // crossed our request; the other records count
      continue;
    }
    const std::uint32_t end = range.count == 0 ? pool.record.elements : range.first + range.count;
    for (std::uint32_t e = range.first; e < end; ++e) make_available(pool, e, UserEvent::kUpdated);
  }
  return {};
}

std::uint32_t PoolUser::largest_element() const {
  return classes_.empty() ? 0 : classes_.back().element_bytes;
}

}  // namespace splitnic::messaging
