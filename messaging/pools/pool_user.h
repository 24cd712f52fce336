// The initiator side: the peer's pools, into which we write. Pure: messages and time come in,
// messages and deadlines come out. One object per connection, on one thread.
//
// Invariants. No element is leased twice without an Update between. Elements of a pool are leased
// in the order in which they became AVAILABLE. No element is leased from a pool that is being
// flushed, and the reply to a flush leaves only after the last write into its pools has completed
// [S001-17]. docs/protocol/message.md
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/memory_account.h"
#include "base/ring.h"
#include "messaging/pools/element_state.h"
#include "messaging/pools/flush_exchange.h"
#include "messaging/pools/grant_budget.h"
#include "messaging/pools/pool_table.h"
#include "messaging/wire/buffer_pool_flush.h"
#include "messaging/wire/buffer_recv_pool.h"
#include "messaging/wire/buffer_recv_pool_get.h"
#include "messaging/wire/buffer_recv_pool_update.h"
#include "messaging/wire/context_source.h"
#include "messaging/wire/flow_context.h"

namespace splitnic::messaging {

enum class PoolCounter : std::uint8_t {
  kWait,          // a frame found no element and had to wait
  kFlushTimeout,  // the owner did not reply to our flush
  kCount_
};

}  // namespace splitnic::messaging

template <>
struct splitnic::base::CounterNames<splitnic::messaging::PoolCounter> {
  static constexpr auto kNames =
      std::to_array<std::string_view>({"pool.wait", "pool.flush_timeout"});
};

namespace splitnic::messaging {

// One element to write into. Pass it to on_written() or cancel() exactly once, even if the write
// failed or the pool is gone.
struct ElementLease {
  PoolRef pool;
  std::uint32_t element = 0;
  std::uint32_t element_bytes = 0;
  fabric::MemoryHandle handle;
  fabric::VirtualAddress address;
  std::optional<std::uint32_t> idata;  // none: indicate by BufferRDMAIndicate after completion
  std::uint64_t stamp = 0;             // number of this use of the element
};

struct PoolUserConfig {
  std::optional<IdataForm> form = IdataForm::kPoolElement;
  base::Duration flush_timeout = std::chrono::seconds(1);
  // Bounds of the state kept for one peer: an advertisement beyond them is refused as `range`. They
  // are what --pool and later grants of a peer come to. [P-42]
  std::size_t pools_max = kIdataPools + GrantBudget::kPoolsMax;
  std::size_t sizes_max = 16;  // different element sizes: take() searches them in order
  std::size_t contexts_max = kFlowContextsMax;  // the same, where contexts select flows
  std::uint64_t elements_max =
      std::uint64_t{kIdataPools} * kIdataElements + GrantBudget::kElementsMax;
  base::MemoryAccount* memory = nullptr;  // as in PairConfig; beyond it: refused as `memory`
};

struct UserPoolView {  // for `show`
  PoolRecord record;
  bool is_flushing = false;
  std::uint32_t available = 0, writing = 0, consumed = 0;
};

class PoolUser {
 public:
  PoolUser(const PoolUserConfig& config, ContextSource& contexts, DropCounters& drops);

  // Sets the form in which our writes are indicated, once it is agreed.
  void set_form(std::optional<IdataForm> form) { config_.form = form; }
  // The contexts of pools select flows, by agreement. REQUIRES that no pool is known. [S001-52]
  void set_contexts_select(bool they_do) { contexts_select_ = they_do; }

  // -- data path --
  // Leases the smallest free element that holds `bytes` (>= 1). The last quarter of a size is
  // reserved for frames that need this size. Returns nothing if the caller has to wait for the next
  // Update. Where contexts select flows, a frame of this context goes to a pool that selects it, if
  // one has a free element, or to one that selects every frame.
  std::optional<ElementLease> take(std::uint32_t bytes, std::uint64_t flow_context = 0);
  // Whether a pool selects some flows only, so that take() needs the context of a frame.
  bool has_selecting_pools() const { return !selecting_.empty(); }
  // The write of this lease has completed, successfully or not; if a message indicates it, the
  // message was passed to channel 0. An Update that overtook the ACK may have returned the element
  // before.
  void on_written(const ElementLease& lease);
  // Nothing was posted for this lease.
  void cancel(const ElementLease& lease);
  // The errors `state` and `range` close an acknowledged connection. [P-40]
  Verdict on_update(const BufferRecvPoolUpdate& message);
  // Returns the size of the largest element in use, or 0: a longer frame has to be split.
  std::uint32_t largest_element() const;

  // -- control --
  Verdict on_advertised(const BufferRecvPool& message);
  // The owner requests the end of these pools, which are its own.
  Verdict on_flush_request(const BufferPoolFlushRequest& message);
  // Returns false if the reply belongs to no request of this object.
  bool on_flush_reply(TransactionContext context);
  // Requests more elements; the owner may ignore it. Returns false if kBufferRequestsMax requests
  // wait to be sent.
  bool request_more(std::uint32_t packet_bytes, std::uint32_t packets);
  // Requests the end of these pools; the message leaves once our writes into them have completed.
  void request_flush(std::span<const PoolRef> refs);
  void request_flush_all();
  bool empty() const { return pools_.size() == 0; }
  // The connection is gone: outstanding leases are void.
  void close_all();

  // Writes the next message that is due and returns its length, or 0 if there is none. The message
  // counts as sent: call this only with a free send slot, and with `out` as long as MSG_MAX.
  std::size_t next_message(base::Time now, base::MutableBytes out);
  // Ends flushes without a reply whose time is up. Call it at deadline().
  void on_time(base::Time now);
  base::Time deadline() const;

  bool knows(PoolRef ref) const { return pools_.find(ref) != nullptr; }
  const base::Counters<PoolCounter>& counters() const { return counters_; }
  void visit(const std::function<void(const UserPoolView&)>& visitor) const;

 private:
  struct Element {
    UserElement state = UserElement::kAvailable;
    std::uint64_t stamp = 0;    // of its last use
    std::uint64_t checked = 0;  // the last message that named it
  };
  struct Pool {
    Pool(const PoolRecord& r, std::uint64_t since);
    bool is_flushing() const { return is_flushed_by_owner || is_flushed_by_us; }

    PoolRecord record;
    std::uint64_t born;  // leases up to this stamp belong to an earlier pool
    std::vector<Element> elements;
    base::Ring<std::uint32_t> available;
    std::uint32_t writing = 0;
    std::uint32_t outstanding = 0;  // leases, including those of elements returned meanwhile
    bool is_flushed_by_owner = false;
    bool is_flushed_by_us = false;
    FlushMark flush;  // of our request to end it
  };
  struct Start {
    std::uint32_t handle = 0;
    std::uint64_t address = 0;
    friend auto operator<=>(const Start&, const Start&) = default;
  };
  static Start start_of(const PoolRecord& r) { return {r.handle.value, r.address.value}; }
  static std::size_t table_bytes(std::uint32_t elements) {
    return sizeof(Pool) + elements * sizeof(Element) +
           base::Ring<std::uint32_t>::bytes_of(elements);
  }
  struct SizeClass {
    std::uint32_t element_bytes = 0;
    std::vector<Pool*> pools;
    std::size_t current = 0;  // in use until it is empty, then the next one
    std::uint64_t available = 0;
    std::uint64_t total = 0;
  };

  // The pools of one context, which selects some flows.
  struct Selecting {
    std::uint64_t context = 0;
    std::vector<SizeClass> classes;
  };

  // pool_user_datapath.cc
  std::optional<ElementLease> take_selected(std::uint32_t bytes, std::uint64_t flow_context);
  ElementLease lease_from(SizeClass& sizes, std::uint32_t bytes);
  std::optional<std::uint32_t> idata_for(const Pool& pool, std::uint32_t element,
                                         std::uint32_t bytes) const;
  Pool* leased_pool(const ElementLease& lease);
  void make_available(Pool& pool, std::uint32_t element, UserEvent event);
  Verdict check(const ElementRange& range);
  SizeClass* class_of(const Pool& pool);

  // pool_user.cc
  Verdict check(const BufferRecvPool& message) const;
  Verdict check_references(const BufferRecvPool& message) const;
  Verdict check_extents(const BufferRecvPool& message) const;
  bool has_too_many_sizes(const BufferRecvPool& message) const;
  bool has_too_many_contexts(const BufferRecvPool& message) const;
  std::vector<SizeClass>* classes_of(const PoolRecord& record);
  std::vector<SizeClass>& make_classes_of(const PoolRecord& record);
  void add(const PoolRecord& record);
  void leave_class(Pool& pool);
  void forget(const PoolRecord& record);
  void erase(PoolRef ref);
  void erase_flushed(TransactionContext request);
  std::size_t emit_flush_reply(base::MutableBytes out);
  std::size_t emit_flush_request(base::Time now, base::MutableBytes out);

  PoolUserConfig config_;
  ContextSource& contexts_;
  DropCounters& drops_;
  base::Counters<PoolCounter> counters_;
  PoolTable<Pool> pools_;
  std::map<Start, std::uint64_t>
      extents_;  // the memory of the pools: where each begins, and its end
  // By element size; without pools that are being flushed.
  std::vector<SizeClass> classes_;
  std::vector<Selecting> selecting_;  // the most selective first; such pools are not in classes_
  bool contexts_select_ = false;
  std::uint64_t elements_ = 0;  // of all pools
  base::MemoryCharge charge_;   // of all pools
  std::uint64_t stamp_ = 0;
  std::uint64_t check_ = 0;
  bool is_waiting_ = false;
  FlushExchange flushes_;
  std::vector<BufferRecvPoolGet> buffer_requests_;
};

}  // namespace splitnic::messaging
