// The initiator side: the peer's pools that we write into. Pure: messages and time come in,
// messages and deadlines come out. One object a connection, on one thread.
//
// Invariants. No element is given out twice without an Update between. Elements of a pool are given
// out in the order in which they became AVAILABLE. No lease is given out for a pool that is being
// flushed, and the reply to a flush leaves only after the last write into its pools has completed
// [S001-17]. docs/wire/message.md
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/ring.h"
#include "messaging/pools/element_state.h"
#include "messaging/pools/pool_table.h"
#include "messaging/wire/buffer_pool_flush.h"
#include "messaging/wire/buffer_recv_pool.h"
#include "messaging/wire/buffer_recv_pool_get.h"
#include "messaging/wire/buffer_recv_pool_update.h"
#include "messaging/wire/context_source.h"

namespace splitnic::messaging {

enum class PoolCounter : std::uint8_t {
  kWait,          // a frame found no element and had to wait
  kFlushTimeout,  // the owner did not answer our flush
  kCount_
};

}  // namespace splitnic::messaging

template <>
struct splitnic::base::CounterNames<splitnic::messaging::PoolCounter> {
  static constexpr auto kNames =
      std::to_array<std::string_view>({"pool.wait", "pool.flush_timeout"});
};

namespace splitnic::messaging {

// One element to write into. Hand it back to on_written() or cancel(), exactly once, also when the
// write failed or the pool is gone.
struct ElementLease {
  PoolRef pool;
  std::uint32_t element = 0;
  std::uint32_t element_bytes = 0;
  fabric::MemoryHandle handle;
  fabric::VirtualAddress address;
  std::optional<std::uint32_t> idata;  // none: indicate by BufferRDMAIndicate after completion
  std::uint64_t stamp = 0;             // which use of the element this is
};

struct PoolUserConfig {
  std::optional<IdataForm> form = IdataForm::kPoolElement;
  base::Duration flush_timeout = std::chrono::seconds(1);
  // State kept for one peer: an advertisement beyond it is refused as `range`. [P-42]
  std::size_t pools_max = 1024;
  std::size_t sizes_max = 16;  // different element sizes: what take() looks through
  std::uint64_t elements_max = std::uint64_t{1} << 18;
};

struct UserPoolView {  // for `show`
  PoolRecord record;
  bool is_flushing = false;
  std::uint32_t available = 0, writing = 0, consumed = 0;
};

class PoolUser {
 public:
  PoolUser(const PoolUserConfig& config, ContextSource& contexts, DropCounters& drops);

  // How our writes are indicated, once it is agreed.
  void set_form(std::optional<IdataForm> form) { config_.form = form; }

  // -- data path --
  // The smallest element that takes `bytes` (>= 1), of a size of which one is free; the last
  // quarter of a size is kept for frames that no smaller size takes. Nothing: wait for the next
  // Update.
  std::optional<ElementLease> take(std::uint32_t bytes);
  // The write of this lease has completed, well or badly; by message, when its indication was
  // handed to channel 0. The element may have been returned before by an Update that overtook the
  // ACK.
  void on_written(const ElementLease& lease);
  // Nothing was posted for this lease.
  void cancel(const ElementLease& lease);
  // `state` and `range` close an acknowledged connection. [P-40]
  Verdict on_update(const BufferRecvPoolUpdate& message);
  // The size of the largest element in use, 0 if none: a longer frame is to be split.
  std::uint32_t largest_element() const;

  // -- control --
  Verdict on_advertised(const BufferRecvPool& message);
  // The owner wants these pools (its own) to end.
  Verdict on_flush_request(const BufferPoolFlushRequest& message);
  // False if the reply answers no request of this object.
  bool on_flush_reply(TransactionContext context);
  // Asks the owner for more; nothing is owed. False if 8 such wishes wait already.
  bool request_more(std::uint32_t packet_bytes, std::uint32_t packets);
  // Asks the owner to end pools; the request leaves when our writes into them have completed.
  void request_flush(std::span<const PoolRef> refs);
  void request_flush_all();
  bool empty() const { return pools_.size() == 0; }
  // The connection is gone: leases still out are void.
  void close_all();

  // Writes the next message due and returns its length; 0: nothing to send now. A message that is
  // given out counts as sent: call it only with a send slot at hand, `out` as long as MSG_MAX.
  std::size_t next_message(base::Time now, base::MutableBytes out);
  // Call it at deadline().
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
    std::uint64_t born;  // leases up to this stamp are of an earlier pool
    std::vector<Element> elements;
    base::Ring<std::uint32_t> available;
    std::uint32_t writing = 0;
    std::uint32_t outstanding = 0;  // leases that are out, also of elements returned meanwhile
    bool is_flushed_by_owner = false;
    bool is_flushed_by_us = false;
    bool is_flush_unsent = false;
    TransactionContext flush;  // our open request
  };
  struct SizeClass {
    std::uint32_t element_bytes = 0;
    std::vector<Pool*> pools;
    std::size_t current = 0;  // in use until it is empty, then the next one
    std::uint64_t available = 0;
    std::uint64_t total = 0;
  };
  struct OpenFlush {
    TransactionContext context;
    base::Time deadline;
  };
  struct FlushReply {
    TransactionContext context;
    std::vector<PoolRef> refs;
  };

  // pool_user_datapath.cc
  ElementLease lease_from(SizeClass& sizes, std::uint32_t bytes);
  std::optional<std::uint32_t> idata_for(const Pool& pool, std::uint32_t element,
                                         std::uint32_t bytes) const;
  Pool* leased_pool(const ElementLease& lease);
  void give_back(Pool& pool, std::uint32_t element, UserEvent event);
  Verdict check(const ElementRange& range);
  SizeClass* class_of(const Pool& pool);

  // pool_user.cc
  Verdict check(const PoolRecord& record, const BufferRecvPool& message, std::size_t before) const;
  std::size_t new_sizes(const BufferRecvPool& message) const;
  void add(const PoolRecord& record);
  void leave_class(Pool& pool);
  void erase(PoolRef ref);
  void erase_flushed(TransactionContext context);
  bool is_quiet(const FlushReply& reply) const;
  std::size_t emit_flush_reply(base::MutableBytes out);
  std::size_t emit_flush_request(base::Time now, base::MutableBytes out);

  PoolUserConfig config_;
  ContextSource& contexts_;
  DropCounters& drops_;
  base::Counters<PoolCounter> counters_;
  PoolTable<Pool> pools_;
  std::vector<SizeClass> classes_;  // by element size, only pools that may be used
  std::uint64_t elements_ = 0;      // of all pools
  std::uint64_t stamp_ = 0;
  std::uint64_t check_ = 0;
  bool is_waiting_ = false;
  bool has_flush_unsent_ = false;
  std::vector<OpenFlush> open_flushes_;
  std::vector<FlushReply> replies_;
  std::vector<BufferRecvPoolGet> buffer_requests_;
};

}  // namespace splitnic::messaging
