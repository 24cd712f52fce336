// Channel 1 of the rdma mode: it writes frames from registered memory into the peer's pools by RDMA
// write, and receives the indications of the peer's writes into ours. It carries no messages
// [S001-27]. It owns the memory of our pools. Where a pair has one channel, it shares the queue
// pair of the messages, whose receives the indications then consume [S001-51].
//
// Invariant, with a queue pair for itself: one zero-length receive is posted for each element that
// the peer may write to, so the peer never receives an RNR NAK. docs/protocol/data.md#idata
// Thread: the data thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/memory_account.h"
#include "base/page_memory.h"
#include "base/ring.h"
#include "base/status.h"
#include "fabric_emul/verbs/adapter.h"
#include "messaging/channel_queue_pair.h"
#include "messaging/message_channel.h"
#include "messaging/pools/grant_budget.h"
#include "messaging/pools/pool_owner.h"
#include "messaging/pools/pool_spec.h"
#include "messaging/pools/pool_table.h"
#include "messaging/pools/pool_user.h"

namespace splitnic::messaging {

class DataChannel {
 public:
  // Returns the maximum number of receive completions that wait at one time, for pools of these
  // sizes and those that are granted later.
  static std::size_t receives_max(std::span<const PoolSpec> pools);

  struct Shape {
    std::span<const PoolSpec> pools;
    std::uint64_t window_bytes_max = 2 << 20;
    fabric::PartitionKey partition = fabric::kDefaultPartition;  // as in PairConfig
    std::uint8_t sl = 0;                                         // the same
    base::MemoryAccount* memory = nullptr;                       // the same
    ChannelQueuePair* shared = nullptr;  // of the messages, which outlives the channel; null: none
  };
  static constexpr std::size_t kPushesMax = 1280;
  // Creates the queue pair, the memory of the pools and one receive per element, and adds the pools
  // to `owner`. Receives complete to `recv_cq`. The arguments outlive the channel. An error,
  // ENOMEM: no memory is left.
  static base::Result<std::unique_ptr<DataChannel>> open(fabric::Adapter& adapter, fabric::PdId pd,
                                                         const Shape& shape, fabric::CqId recv_cq,
                                                         PoolOwner& owner, PoolUser& user,
                                                         base::Time now);
  ~DataChannel() = default;
  DataChannel(const DataChannel&) = delete;
  DataChannel& operator=(const DataChannel&) = delete;

  fabric::Qpn qpn() const { return qp_.qpn(); }

  // Posts one RDMA write of `frame` into an element of the peer. A write that idata indicates waits
  // for those that a message indicates (`indications_open`: some are sent and not acknowledged), so
  // that frames keep their order.
  enum class Push : std::uint8_t { kTaken, kNoElement, kNoRoom };
  // `flow_context`: of the frame, if the peer's pools have contexts.
  Push push(const fabric::Sge& frame, bool indications_open, std::uint64_t flow_context = 0);
  std::size_t take_completed() { return std::exchange(completed_, 0); }
  std::size_t in_flight() const { return leases_.size(); }
  // Returns true if no write is in flight and none waits to be indicated.
  bool is_quiet() const { return leases_.empty() && indications_.empty(); }
  // Returns the next write that needs a BufferRDMAIndicate; its data is in the peer's memory
  // [S001-18].
  std::optional<ConsumedRecord> next_indication();

  // Takes completions of writes. Returns true if there was one, or the error that broke the
  // channel. REQUIRES a queue pair for itself.
  base::Result<bool> poll_sends();
  // The oldest write has completed. A write that failed stays in flight, since nothing shows
  // whether it arrived.
  void on_written();
  // Takes a completed receive with an indication, or of this channel's queue pair. Returns the
  // element that it indicates, the reason why the indication is dropped, or the error that broke
  // the channel.
  base::Result<Parsed<FilledElement>> take(const fabric::Wc& wc, base::Time now);
  // Returns the bytes of a filled element. REQUIRES that the owner knows it.
  base::MutableBytes memory(const FilledElement& filled);
  std::vector<base::MutableBytes> TEST_pool_memory();
  // The reader has copied the data out of the element.
  base::Status release(const FilledElement& filled, base::Time now);

  // Adds a pool; `context` as in PoolOwner::add. An error: no memory or no key is left.
  base::Status add_pool(fabric::PdId pd, const PoolSpec& spec, TransactionContext context);
  // The peer can no longer use this pool.
  void end_pool(const ClosedPool& closed);
  // Returns the pages of elements that hold no frame to the operating system, except for the first
  // `keep` elements of each pool. Returns the number of bytes. Addresses and keys stay valid, and
  // the next write takes the pages again. Does nothing while a write is arriving or is not yet
  // indicated.
  std::size_t release_idle(std::uint32_t keep);
  // Destroys the queue pair; call it outside of the adapter's callbacks.
  void close(base::Time now) {
    if (own_) own_->close(now);
  }

 private:
  // Memory of one pool. Only elements that are posted may be written to [S001-14].
  struct Pool final : fabric::WriteGuard {
    Pool(const PoolOwner& owner_in, const PoolSpec& spec, base::PageMemory memory_in,
         base::MemoryCharge charge_in);
    std::size_t bytes() const { return std::size_t{shape.elements} * shape.element_bytes; }
    std::size_t release_idle(std::uint32_t keep);
    bool may_write(fabric::VirtualAddress address, std::uint64_t length) const noexcept override;

    const PoolOwner& owner;
    base::MemoryCharge charge;
    base::PageMemory memory;      // zeroed, so that nothing of its earlier content leaks
    fabric::MemoryHandle region;  // local; the peer uses the window that `shape` names
    PoolMemory shape;
    PoolRef ref;
    bool has_ended = false;  // its memory waits for the last reader
  };
  struct Write {
    ElementLease lease;
    std::uint32_t bytes = 0;
  };
  DataChannel(fabric::Adapter& adapter, PoolOwner& owner, PoolUser& user, const Shape& shape)
      : adapter_(adapter),
        owner_(owner),
        user_(user),
        account_(shape.memory),
        charge_(shape.memory),
        own_(shape.shared == nullptr ? std::make_unique<ChannelQueuePair>(adapter, 1) : nullptr),
        qp_(shape.shared == nullptr ? *own_ : *shape.shared),
        write_id_(shape.shared == nullptr ? 0 : MessageChannel::kWriteId),
        leases_(kPushesMax),
        indications_(kPushesMax) {}
  base::Status expose(fabric::PdId pd, Pool& pool);
  // The receives that this channel posts for a number of elements.
  std::size_t receives_for(std::size_t elements) const { return own_ ? elements : 0; }
  base::Status open_own(fabric::PdId pd, const Shape& shape, fabric::CqId recv_cq, base::Time now);
  base::Status top_up();
  void sweep();

  fabric::Adapter& adapter_;
  PoolOwner& owner_;
  PoolUser& user_;
  base::MemoryAccount* const account_;
  base::MemoryCharge charge_;                    // of the rings
  const std::unique_ptr<ChannelQueuePair> own_;  // null: it shares that of the messages
  ChannelQueuePair& qp_;
  const std::uint64_t write_id_;
  PoolTable<Pool> pools_;
  std::size_t receives_wanted_ = 0;  // elements of all pools that the peer may use
  std::size_t receives_posted_ = 0;
  std::size_t ended_ = 0;
  base::Ring<Write> leases_;       // in flight, oldest first
  base::Ring<Write> indications_;  // completed, to be indicated by message
  std::size_t unindicated_ = 0;    // of leases_, those without idata
  std::size_t completed_ = 0;
};

}  // namespace splitnic::messaging
