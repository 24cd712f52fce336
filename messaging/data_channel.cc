#include "messaging/data_channel.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace splitnic::messaging {

std::size_t DataChannel::receives_max(std::span<const PoolSpec> pools) {
  std::size_t elements = GrantBudget::kElementsMax;
  for (const PoolSpec& spec : pools) elements += spec.count;
  return elements;
}

base::Result<std::unique_ptr<DataChannel>> DataChannel::open(fabric::Adapter& adapter,
                                                             fabric::PdId pd, const Shape& shape,
                                                             fabric::CqId recv_cq, PoolOwner& owner,
                                                             PoolUser& user, base::Time now) {
  std::unique_ptr<DataChannel> channel(new DataChannel(adapter, owner, user, shape));
  if (!channel->charge_.add(2 * base::Ring<Write>::bytes_of(kPushesMax))) {
    return base::account_error();
  }
  auto made = channel->open_own(pd, shape, recv_cq, now);
  for (std::size_t i = 0; made && i < shape.pools.size(); ++i) {
    made = channel->add_pool(pd, shape.pools[i], kUnsolicited);
  }
  if (!made) {
    channel->close(now);
    return made.error();
  }
  return channel;
}

base::Status DataChannel::open_own(fabric::PdId pd, const Shape& shape, fabric::CqId recv_cq,
                                   base::Time now) {
  if (own_ == nullptr) return {};
  fabric::QpInit init;
  init.common.pd = pd;
  init.common.partition = shape.partition;
  init.common.sl = shape.sl;
  init.common.recv_cq = recv_cq;
  init.common.send_depth = kPushesMax;
  init.common.receive_depth = receives_max(shape.pools);
  init.common.memory = shape.memory;
  init.window_bytes_max = shape.window_bytes_max;
  return own_->open(init, now);
}

DataChannel::Pool::Pool(const PoolOwner& owner_in, const PoolSpec& spec, base::PageMemory memory_in,
                        base::MemoryCharge charge_in)
    : owner(owner_in), charge(std::move(charge_in)), memory(std::move(memory_in)) {
  shape.elements = spec.count;
  shape.element_bytes = spec.size;
  shape.pool_context = spec.context;
}

// A write to several elements needs all of them posted; a write of zero bytes needs the one that it
// names.
bool DataChannel::Pool::may_write(fabric::VirtualAddress address,
                                  std::uint64_t length) const noexcept {
  const std::uint64_t begin = address.value - shape.address.value;
  const std::uint64_t last = length == 0 ? begin : begin + length - 1;
  const std::uint64_t first = begin / shape.element_bytes;
  return owner.may_write(ref, static_cast<std::uint32_t>(first),
                         static_cast<std::uint32_t>(last / shape.element_bytes - first + 1));
}

// Releases runs of elements that are not filled: no write has begun there and no reader has them.
std::size_t DataChannel::Pool::release_idle(std::uint32_t keep) {
  if (has_ended) return 0;
  std::size_t given = 0;
  for (std::uint32_t begin = 0; begin < shape.elements;) {
    std::uint32_t end = begin;
    while (end < shape.elements && !owner.is_filled(ref, end)) ++end;
    const std::uint32_t kept = std::min(keep, end - begin);
    keep -= kept;
    const std::size_t from = std::size_t{begin + kept} * shape.element_bytes;
    given += memory.release(from, std::size_t{end} * shape.element_bytes - from);
    begin = end + 1;
  }
  return given;
}

std::size_t DataChannel::release_idle(std::uint32_t keep) {
  const fabric::Qp* qp = adapter_.find_qp(qp_.qpn());
  if (!qp_.is_open() || qp == nullptr || qp->responder().is_receiving()) return 0;
  // Some elements are written and the owner does not know it yet.
  if (qp->responder().writes_completed() != owner_.indicated()) return 0;
  std::size_t given = 0;
  pools_.visit([&](Pool& pool) { given += pool.release_idle(keep); });
  return given;
}

base::Status DataChannel::add_pool(fabric::PdId pd, const PoolSpec& spec,
                                   TransactionContext context) {
  const std::size_t bytes = std::size_t{spec.count} * spec.size;
  base::MemoryCharge charge(account_);
  if (!charge.add(bytes + PoolOwner::table_bytes(spec.count))) return base::account_error();
  auto memory = base::PageMemory::make(bytes, base::PageMemory::Pages::kHuge);
  if (!memory) return memory.error().within("memory of a pool");
  auto pool = std::make_unique<Pool>(owner_, spec, *std::move(memory), std::move(charge));
  receives_wanted_ += receives_for(spec.count);
  auto made = top_up();
  if (made) made = expose(pd, *pool);
  if (!made) {
    receives_wanted_ -= receives_for(spec.count);
    return made.error().within("memory of a pool");
  }
  const PoolRef ref = owner_.add(pool->shape, context);
  pool->ref = ref;
  pools_.insert(ref, std::move(pool));
  return {};
}

// The region is for local access only; the peer gets a window on it that serves this peer's queue
// pair and no other [S002-11].
base::Status DataChannel::expose(fabric::PdId pd, Pool& pool) {
  fabric::Mrwt& memory = adapter_.memory();
  const auto region = memory.regions().register_region(pd, {pool.memory.get(), pool.bytes()},
                                                       fabric::kLocalRead | fabric::kWindowBind);
  if (!region) return region.error();
  const fabric::VirtualAddress start = memory.start_of(*region);
  const auto window = memory.windows().bind_window(pd, *region, start, pool.bytes(),
                                                   fabric::kRemoteWrite, qp_.qpn());
  if (!window) {
    CHECK(memory.regions().deregister(*region).has_value());
    return window.error();
  }
  memory.regions().set_guard(*region, pool);
  pool.region = *region;
  pool.shape.handle = *window;
  pool.shape.address = start;
  return {};
}

base::Status DataChannel::top_up() {
  for (; receives_posted_ < receives_wanted_; ++receives_posted_) {
    if (auto posted = adapter_.post_recv(qp_.qpn(), {}); !posted) return posted;
  }
  return {};
}

void DataChannel::end_pool(const ClosedPool& closed) {
  pools_.visit([&](Pool& pool) {
    if (pool.shape.handle != closed.handle || pool.has_ended) return;
    CHECK(adapter_.memory().windows().unbind(pool.shape.handle).has_value());
    CHECK(adapter_.memory().regions().deregister(pool.region).has_value());
    pool.has_ended = true;
    receives_wanted_ -= receives_for(pool.shape.elements);
    ++ended_;
  });
  sweep();
}

// Frees the memory of ended pools that no reader holds.
void DataChannel::sweep() {
  pools_.erase_if([&](const Pool& pool) {
    const bool is_done = pool.has_ended && !owner_.in_use(pool.shape.handle);
    if (is_done) --ended_;
    return is_done;
  });
}

DataChannel::Push DataChannel::push(const fabric::Sge& frame, bool indications_open,
                                    std::uint64_t flow_context) {
  if (leases_.full() || indications_.size() + leases_.size() >= kPushesMax) return Push::kNoRoom;
  const auto lease = user_.take(frame.length, flow_context);
  if (!lease) return Push::kNoElement;
  const bool must_wait = indications_open || unindicated_ > 0 || !indications_.empty();
  fabric::SendWr wr;
  wr.wr_id = write_id_;
  wr.op = fabric::WrOp::kRdmaWrite;
  wr.gather = {&frame, 1};
  wr.remote_address = lease->address;
  wr.remote_handle = lease->handle;
  wr.idata = lease->idata;
  if ((lease->idata && must_wait) || !adapter_.post_send(qp_.qpn(), wr)) {
    user_.cancel(*lease);
    return Push::kNoRoom;
  }
  if (!lease->idata) ++unindicated_;
  leases_.push({*lease, frame.length});
  return Push::kTaken;
}

base::Result<bool> DataChannel::poll_sends() {
  return qp_.poll_sends([this](const fabric::Wc&) { on_written(); });
}

void DataChannel::on_written() {
  const Write write = leases_.front();
  leases_.pop();
  ++completed_;
  if (write.lease.idata) {
    user_.on_written(write.lease);
  } else {
    --unindicated_;
    indications_.push(write);
  }
}

std::optional<ConsumedRecord> DataChannel::next_indication() {
  if (indications_.empty()) return std::nullopt;
  const Write write = indications_.front();
  indications_.pop();
  user_.on_written(write.lease);
  return ConsumedRecord{write.lease.pool, write.lease.element, 1, write.bytes};
}

base::Result<Parsed<FilledElement>> DataChannel::take(const fabric::Wc& wc, base::Time now) {
  if (wc.status != fabric::WcStatus::kSuccess) return qp_.error_of(wc.status);
  receives_posted_ -= receives_for(1);
  Parsed<FilledElement> filled = DropReason::kRole;  // a Send: not on this channel [S001-27]
  if (wc.has_idata) filled = owner_.on_idata(wc.idata, wc.bytes, wc.address, now);
  if (!filled) {
    // Its receive is posted again, so that no credit is lost.
    if (auto posted = top_up(); !posted) return posted.error();
  }
  return filled;
}

base::MutableBytes DataChannel::memory(const FilledElement& filled) {
  const Pool* pool = pools_.find(filled.pool);
  CHECK(pool != nullptr);
  const std::size_t offset = filled.address.value - pool->shape.address.value;
  return {pool->memory.get() + offset, filled.bytes};
}

std::vector<base::MutableBytes> DataChannel::TEST_pool_memory() {
  std::vector<base::MutableBytes> all;
  pools_.visit([&](Pool& pool) { all.push_back({pool.memory.get(), pool.bytes()}); });
  return all;
}

// The receive is posted before the Update that returns the element can leave.
base::Status DataChannel::release(const FilledElement& filled, base::Time now) {
  if (receives_posted_ < receives_wanted_) {
    if (auto posted = adapter_.post_recv(qp_.qpn(), {}); !posted) return posted;
    ++receives_posted_;
  }
  owner_.release(filled.pool, filled.element, filled.count, now);
  if (ended_ > 0) sweep();
  return {};
}

}  // namespace splitnic::messaging
