// The target side: our pools, into which the peer writes. Pure: messages, indications and time come
// in; messages and deadlines come out. One object per connection, on one thread.
//
// Invariants. Per pool, posted + filled + released = elements. `posted` is an upper bound of the
// elements that the peer may use. No element that a reader holds is named by an Update [S001-14].
// A message of the peer is applied completely or not at all. docs/protocol/message.md
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/ring.h"
#include "messaging/pools/element_state.h"
#include "messaging/pools/flush_exchange.h"
#include "messaging/pools/pool_spec.h"
#include "messaging/pools/pool_table.h"
#include "messaging/wire/buffer_pool_flush.h"
#include "messaging/wire/buffer_rdma_indicate.h"
#include "messaging/wire/buffer_recv_pool.h"
#include "messaging/wire/buffer_recv_pool_get.h"
#include "messaging/wire/buffer_recv_pool_update.h"
#include "messaging/wire/context_source.h"

namespace splitnic::messaging {

// Registered memory of one pool. Pools are deregistered separately, so each needs its own handle.
struct PoolMemory {
  std::uint32_t elements = 0;
  std::uint32_t element_bytes = 0;
  fabric::MemoryHandle handle;
  fabric::VirtualAddress address;
  std::uint64_t pool_context = 0;
};

// Data that the peer stored: `bytes` from `address` on, in `count` elements.
struct FilledElement {
  PoolRef pool;
  std::uint32_t element = 0;
  std::uint32_t count = 1;
  std::uint32_t bytes = 0;
  fabric::VirtualAddress address;
  friend bool operator==(const FilledElement&, const FilledElement&) = default;
};
class FilledSink {
 public:
  virtual ~FilledSink() = default;
  virtual void on_filled(const FilledElement& filled) = 0;
};

// The peer can no longer use this pool: deregister its memory now, and free it once in_use()
// returns false.
struct ClosedPool {
  PoolRef pool;
  fabric::MemoryHandle handle;
  bool is_timed_out = false;  // the peer did not reply to the flush
};

struct PoolOwnerConfig {
  std::optional<IdataForm> form = IdataForm::kPoolElement;
  base::Duration update_delay = std::chrono::microseconds(100);
  base::Duration flush_timeout = std::chrono::seconds(1);
};

struct OwnerPoolView {  // for `show`
  PoolRecord record;
  PoolState state{};
  std::uint32_t posted = 0, filled = 0, released = 0;
  std::uint64_t indicated = 0;  // writes into the pool since it was made
};

class PoolOwner {
 public:
  PoolOwner(const PoolOwnerConfig& config, ContextSource& contexts, DropCounters& drops);
  // The bytes that it keeps of a pool of this number of elements.
  static std::size_t table_bytes(std::size_t elements) {
    return sizeof(Pool) + elements * sizeof(Element) +
           base::Ring<std::uint32_t>::bytes_of(elements);
  }

  // Sets the form in which the peer indicates its writes, once it is agreed. REQUIRES at most one
  // pool with form B.
  void set_form(std::optional<IdataForm> form) {
    CHECK(form != IdataForm::kOffsetLength || pools_.size() <= 1);
    config_.form = form;
  }
  // Adds a pool; the next messages advertise it. `context` is that of the Get which requested it.
  // REQUIRES that one zero-length receive per element is posted on channel 1, a legal record, and
  // with idata form B that there is no other pool.
  PoolRef add(const PoolMemory& memory, TransactionContext context = kUnsolicited);
  // The same with a reference that the caller chooses. REQUIRES that it is not in use.
  void add_as(PoolRef ref, const PoolMemory& memory, TransactionContext context = kUnsolicited);

  // -- data path --
  // An RDMA write with immediate data completed. Its idata must agree with our table, with the byte
  // count of the write and with the address at which it began.
  Parsed<FilledElement> on_idata(std::uint32_t idata, std::uint32_t byte_count,
                                 fabric::VirtualAddress written_at, base::Time now);
  Verdict on_indicate(const BufferRdmaIndicate& message, FilledSink& sink, base::Time now);
  // Returns the number of writes that were indicated, by idata or by message.
  std::uint64_t indicated() const { return indicated_; }
  // Returns true if the peer may write to each of these elements now: posted, or returned
  // [S001-14].
  bool may_write(PoolRef ref, std::uint32_t first, std::uint32_t count) const;
  // Returns true if the element holds a frame that our reader has not released.
  bool is_filled(PoolRef ref, std::uint32_t element) const;
  // The reader has copied the data out. REQUIRES that the elements are filled and that a receive
  // descriptor was posted for each (not for indications by message). [S001-14]
  void release(PoolRef ref, std::uint32_t first, std::uint32_t count, base::Time now);

  // -- control --
  Verdict on_get(const BufferRecvPoolGet& message);
  // The peer requests the end of these pools (bit 63 of the context is set).
  Verdict on_flush_request(const BufferPoolFlushRequest& message);
  // Returns false if the reply belongs to no request of this object.
  bool on_flush_reply(TransactionContext context);
  // Requests that the peer stops using these pools; unknown ones are skipped.
  void request_flush(std::span<const PoolRef> refs);
  void request_flush_all();
  // The connection is gone: all pools end immediately, without messages.
  void close_all();

  // Writes the next message that is due and returns its length, or 0 if there is none. The message
  // counts as sent: call this only with a free send slot, and with `out` as long as MSG_MAX.
  std::size_t next_message(base::Time now, base::MutableBytes out);
  // Ends flushes without a reply whose time is up. Call it at deadline().
  void on_time(base::Time now);
  base::Time deadline() const;

  std::optional<BufferRecvPoolGet> next_buffer_request();
  std::optional<ClosedPool> next_closed();
  // Returns true if there is no pool that the peer may name.
  bool is_closed() const;
  // Returns true while a reader holds elements of this memory.
  bool in_use(fabric::MemoryHandle handle) const;
  // Returns true if the peer may name this pool.
  bool knows(PoolRef ref) const;
  void visit(const std::function<void(const OwnerPoolView&)>& visitor) const;

 private:
  struct Element {
    OwnerElement state = OwnerElement::kPosted;
    std::uint64_t checked = 0;  // the last message that named it
  };
  struct SizeClass {
    std::uint32_t element_bytes = 0;
    std::uint64_t posted = 0;
  };
  struct Pool {
    explicit Pool(const PoolRecord& r) : record(r), elements(r.elements), released(r.elements) {}
    bool is_live() const { return state != PoolState::kFree; }

    PoolRecord record;
    PoolState state = PoolState::kFree;
    bool is_unannounced = true;  // kFree, and its BufferRecvPool is to be sent
    TransactionContext context;  // of the Get that requested it
    FlushMark flush;             // of our request to end it
    std::vector<Element> elements;
    base::Ring<std::uint32_t> released;  // in the order of release
    std::uint32_t posted = 0;
    std::uint32_t filled = 0;
    std::uint64_t indicated = 0;
    std::size_t size_class = 0;
    base::Time update_due = base::kNever;
  };

  // pool_owner_datapath.cc
  Parsed<FilledElement> locate(std::uint32_t idata);
  Parsed<FilledElement> locate_by_offset(OffsetLengthIdata idata);
  Verdict check(const ConsumedRecord& record);
  void fill(Pool& pool, std::uint32_t first, std::uint32_t count, base::Time now);
  void review_update(Pool& pool, base::Time now);
  std::size_t emit_update(base::Time now, base::MutableBytes out);
  void put_ranges(Pool& pool, RecordWriter<BufferRecvPoolUpdate>& writer);
  void recompute_update_due();

  // pool_owner.cc
  void move(Pool& pool, PoolEvent event);
  void end(Pool& pool, bool is_timed_out);
  void end_flushed(TransactionContext request, bool is_timed_out);
  void erase_drained();
  PoolRef choose_ref(const PoolMemory& memory);
  std::size_t class_of(std::uint32_t element_bytes);
  std::size_t emit_flush_reply(base::MutableBytes out);
  std::size_t emit_flush_request(base::Time now, base::MutableBytes out);
  std::size_t emit_advertisement(base::MutableBytes out);

  PoolOwnerConfig config_;
  ContextSource& contexts_;
  DropCounters& drops_;
  PoolTable<Pool> pools_;
  std::vector<SizeClass> classes_;
  base::Time update_due_ = base::kNever;  // at most the earliest of the pools'
  std::uint64_t check_ = 0;
  bool has_unannounced_ = false;
  FlushExchange flushes_;
  std::vector<BufferRecvPoolGet> buffer_requests_;
  std::vector<ClosedPool> closed_;
  std::uint32_t next_small_ = 0;
  std::uint32_t next_large_ = kIdataPools;
  std::uint64_t indicated_ = 0;
};

}  // namespace splitnic::messaging
