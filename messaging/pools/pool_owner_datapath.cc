// Per frame at the target:
//   1. on_idata / on_indicate   an element POSTED (or RETURNED) becomes FILLED
//   2. release                  the reader has copied the data out: FILLED becomes RELEASED
//   3. review_update            decides whether an Update is due now, in 100 us, or not yet
//   4. emit_update              returns ranges of all pools whose Update is due
#include <algorithm>

#include "base/check.h"
#include "messaging/pools/pool_owner.h"

namespace splitnic::messaging {

Parsed<FilledElement> PoolOwner::on_idata(std::uint32_t idata, std::uint32_t byte_count,
                                          fabric::VirtualAddress written_at, base::Time now) {
  const auto found = locate(idata);
  if (!found) return found.error();
  Pool& pool = *pools_.find(found->pool);
  if (found->bytes > pool.record.element_bytes) return DropReason::kRange;
  if (found->bytes != byte_count) return DropReason::kRange;
  if (found->address != written_at) return DropReason::kRange;
  if (!next(pool.elements[found->element].state, OwnerEvent::kIndicated)) return DropReason::kState;
  fill(pool, found->element, 1, now);
  ++indicated_;
  return found;
}

Parsed<FilledElement> PoolOwner::locate(std::uint32_t idata) {
  if (config_.form == IdataForm::kOffsetLength) {
    return locate_by_offset(OffsetLengthIdata::decode(idata));
  }
  if (config_.form != IdataForm::kPoolElement) return DropReason::kRole;
  const PoolElementIdata at = PoolElementIdata::decode(idata);
  const Pool* pool = pools_.find(PoolRef(at.pool));
  if (pool == nullptr || !pool->is_live()) return DropReason::kPool;
  if (at.element >= pool->record.elements) return DropReason::kRange;
  return FilledElement{PoolRef(at.pool), at.element, 1, at.bytes,
                       pool->record.element_address(at.element)};
}

Parsed<FilledElement> PoolOwner::locate_by_offset(OffsetLengthIdata at) {
  const Pool* only = nullptr;
  pools_.visit([&](const Pool& pool) { only = pool.is_live() ? &pool : only; });
  if (only == nullptr) return DropReason::kPool;
  const PoolRecord& record = only->record;
  const std::uint32_t element = at.offset / record.element_bytes;
  if (at.offset % record.element_bytes != 0 || element >= record.elements) {
    return DropReason::kRange;
  }
  return FilledElement{record.pool, element, 1, at.bytes, record.element_address(element)};
}

Verdict PoolOwner::check(const ConsumedRecord& record) {
  Pool* pool = pools_.find(record.pool);
  if (pool == nullptr || !pool->is_live()) return DropReason::kPool;
  const std::uint64_t end = std::uint64_t{record.first} + record.count;
  if (end > pool->record.elements || !record.fits(pool->record.element_bytes)) {
    return DropReason::kRange;
  }
  for (std::uint32_t i = record.first; i < end; ++i) {
    Element& element = pool->elements[i];
    if (!next(element.state, OwnerEvent::kIndicated)) return DropReason::kState;
    if (element.checked == check_) return DropReason::kState;  // named twice in this message
    element.checked = check_;
  }
  return {};
}

Verdict PoolOwner::on_indicate(const BufferRdmaIndicate& message, FilledSink& sink,
                               base::Time now) {
  ++check_;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const Verdict verdict = check(message[i]);
    if (!verdict) return verdict;
  }
  for (std::size_t i = 0; i < message.size(); ++i) {
    const ConsumedRecord record = message[i];
    Pool& pool = *pools_.find(record.pool);
    fill(pool, record.first, record.count, now);
    ++indicated_;
    sink.on_filled({record.pool, record.first, record.count, record.bytes,
                    pool.record.element_address(record.first)});
  }
  return {};
}

void PoolOwner::fill(Pool& pool, std::uint32_t first, std::uint32_t count, base::Time now) {
  for (std::uint32_t i = first; i < first + count; ++i) {
    pool.elements[i].state = *next(pool.elements[i].state, OwnerEvent::kIndicated);
  }
  pool.posted -= count;
  pool.filled += count;
  ++pool.indicated;
  SizeClass& sizes = classes_[pool.size_class];
  sizes.posted -= count;
  if (sizes.posted != 0) {
    review_update(pool, now);
    return;
  }
  // The peer has no element of this size left: all released ones are returned immediately.
  pools_.visit([&](Pool& other) {
    if (other.size_class == pool.size_class) review_update(other, now);
  });
}

bool PoolOwner::may_write(PoolRef ref, std::uint32_t first, std::uint32_t count) const {
  const Pool* pool = pools_.find(ref);
  if (pool == nullptr || std::uint64_t{first} + count > pool->record.elements) return false;
  for (std::uint32_t i = first; i < first + count; ++i) {
    if (!next(pool->elements[i].state, OwnerEvent::kIndicated)) return false;
  }
  return true;
}

bool PoolOwner::is_filled(PoolRef ref, std::uint32_t element) const {
  const Pool* pool = pools_.find(ref);
  return pool != nullptr && element < pool->record.elements &&
         pool->elements[element].state == OwnerElement::kFilled;
}

void PoolOwner::release(PoolRef ref, std::uint32_t first, std::uint32_t count, base::Time now) {
  Pool* pool = pools_.find(ref);
  CHECK(pool != nullptr && std::uint64_t{first} + count <= pool->record.elements);
  for (std::uint32_t i = first; i < first + count; ++i) {
    const auto to = next(pool->elements[i].state, OwnerEvent::kReleased);
    CHECK(to);
    pool->elements[i].state = *to;
    pool->released.push(i);
  }
  pool->filled -= count;
  if (pool->state == PoolState::kFree && pool->filled == 0) {
    pools_.erase(ref);
    return;
  }
  review_update(*pool, now);
}

void PoolOwner::review_update(Pool& pool, base::Time now) {
  const std::uint64_t elements = pool.record.elements;
  if (pool.state != PoolState::kAdvertised || pool.released.empty() ||
      std::uint64_t{pool.posted} * 2 >= elements) {
    pool.update_due = base::kNever;
    return;
  }
  const bool is_due = pool.released.size() * 2 >= elements || classes_[pool.size_class].posted == 0;
  const base::Time by_timer =
      now + std::chrono::duration_cast<base::Time::duration>(config_.update_delay);
  pool.update_due = std::min(pool.update_due, is_due ? now : by_timer);
  update_due_ = std::min(update_due_, pool.update_due);
}

std::size_t PoolOwner::emit_update(base::Time now, base::MutableBytes out) {
  if (update_due_ > now) return 0;
  recompute_update_due();
  if (update_due_ > now) return 0;
  RecordWriter<BufferRecvPoolUpdate> writer(out);
  pools_.visit([&](Pool& pool) {
    if (pool.update_due == base::kNever || writer.full()) return;
    put_ranges(pool, writer);
    if (pool.released.empty()) pool.update_due = base::kNever;
  });
  recompute_update_due();
  return writer.finish(kUnsolicited);
}

void PoolOwner::put_ranges(Pool& pool, RecordWriter<BufferRecvPoolUpdate>& writer) {
  while (!pool.released.empty() && !writer.full()) {
    ElementRange range{pool.record.pool, pool.released.front(), 0};
    while (!pool.released.empty() && pool.released.front() == range.first + range.count) {
      Element& element = pool.elements[pool.released.front()];
      element.state = *next(element.state, OwnerEvent::kUpdateSent);
      pool.released.pop();
      ++range.count;
    }
    writer.add(range);
    pool.posted += range.count;
    classes_[pool.size_class].posted += range.count;
  }
}

void PoolOwner::recompute_update_due() {
  update_due_ = base::kNever;
  pools_.visit([&](const Pool& pool) { update_due_ = std::min(update_due_, pool.update_due); });
}

}  // namespace splitnic::messaging
