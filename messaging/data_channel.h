// Channel 1 of the rdma mode: RDMA writes out of registered frame memory into the peer's pools, and
// the indications of the peer's writes into ours. No message ever travels on it [S001-27]. It owns
// the memory of our pools.
//
// Invariant: as many zero-length receives are posted as the peer has elements that it may write to,
// so RNR does not occur [requirements 2.1]. Thread: the data thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/page_memory.h"
#include "base/ring.h"
#include "base/status.h"
#include "fabric_emul/verbs/adapter.h"
#include "messaging/pools/pool_owner.h"
#include "messaging/pools/pool_spec.h"
#include "messaging/pools/pool_table.h"
#include "messaging/pools/pool_user.h"

namespace splitnic::messaging {

class DataChannel {
 public:
  // Elements that pools made on the peer's wish may have, in all.
  static constexpr std::size_t kGrantElementsMax = 512;
  static constexpr std::size_t kGrantPoolsMax = 16;  // each is two entries of the adapter's table
  // Receive completions that can wait at once.
  static std::size_t receives_max(std::span<const PoolSpec> pools);

  // Makes the queue pair, the pools' memory and one receive an element, and adds the pools to
  // `owner`. Completions of receives go to `recv_cq`.
  static base::Result<std::unique_ptr<DataChannel>> open(fabric::Adapter& adapter, fabric::PdId pd,
                                                         std::span<const PoolSpec> pools,
                                                         std::uint64_t window_bytes_max,
                                                         fabric::CqId recv_cq, PoolOwner& owner,
                                                         PoolUser& user, base::Time now);
  ~DataChannel();
  DataChannel(const DataChannel&) = delete;
  DataChannel& operator=(const DataChannel&) = delete;

  fabric::Qpn qpn() const { return qpn_; }

  // One RDMA write of `frame` into an element of the peer. A write that idata indicates waits for
  // those that a message indicates (`indications_open`: sent and not acknowledged), so that frames
  // keep their order.
  enum class Push : std::uint8_t { kTaken, kNoElement, kNoRoom };
  Push push(const fabric::Sge& frame, bool indications_open);
  std::size_t take_completed() { return std::exchange(completed_, 0); }
  std::size_t in_flight() const { return leases_.size(); }
  // Nothing is being written and nothing waits to be indicated.
  bool is_quiet() const { return leases_.empty() && indications_.empty(); }
  // The next write that needs a BufferRDMAIndicate, its data being visible to the peer [S001-18].
  std::optional<ConsumedRecord> next_indication();

  // Takes completions of writes. Gives why the channel is broken, if it is.
  std::optional<std::string> poll_sends(bool& made_progress);
  // A completed receive of this queue pair: the element it says, or why that is not believed. The
  // error of the pair, if the completion is one, comes in `broken`.
  Parsed<FilledElement> take(const fabric::Wc& wc, base::Time now,
                             std::optional<std::string>& broken);
  // Where a filled element lies. REQUIRES that the owner knows it.
  base::MutableBytes memory(const FilledElement& filled);
  std::vector<base::MutableBytes> TEST_pool_memory();
  // The reader has moved the data out.
  base::Status release(const FilledElement& filled, base::Time now);

  // A further pool; `answers` as in PoolOwner::add.
  base::Status add_pool(fabric::PdId pd, const PoolSpec& spec, TransactionContext replies);
  // The peer can no longer use this pool.
  void end_pool(const ClosedPool& closed);
  // Gives the pages of elements that hold no frame back to the machine, but for the first `keep`
  // elements of each pool; says how many bytes. Addresses and keys stay, and the next write there
  // takes the pages again. Nothing while a write is arriving or was not indicated yet.
  std::size_t give_back_idle(std::uint32_t keep);
  // Frees the queue pair; call it outside of the adapter's callbacks.
  void close(base::Time now);

 private:
  // Memory of one pool. Only elements that are posted may be written to [S001-14].
  struct Pool final : fabric::WriteGuard {
    Pool(const PoolOwner& owner_in, const PoolSpec& spec);
    std::size_t bytes() const { return std::size_t{shape.elements} * shape.element_bytes; }
    std::size_t give_back_idle(std::uint32_t keep);
    bool may_write(fabric::VirtualAddress address, std::uint64_t length) const noexcept override;

    const PoolOwner& owner;
    base::PageMemory memory;      // zero: what was there before is nobody's business
    fabric::MemoryHandle region;  // of ours; the peer has the window that `shape` names
    PoolMemory shape;
    PoolRef ref;
    bool has_ended = false;  // its memory waits for the last reader
  };
  struct Write {
    ElementLease lease;
    std::uint32_t bytes = 0;
  };
  DataChannel(fabric::Adapter& adapter, fabric::CqId recv_cq, PoolOwner& owner, PoolUser& user)
      : adapter_(adapter),
        owner_(owner),
        user_(user),
        recv_cq_(recv_cq),
        leases_(kPushesMax),
        indications_(kPushesMax) {}
  base::Status make_queue_pair(fabric::PdId pd, std::size_t receives, std::uint64_t window,
                               base::Time now);
  base::Status expose(fabric::PdId pd, Pool& pool);
  base::Status top_up();
  void sweep();

  static constexpr std::size_t kPushesMax = 1280;

  fabric::Adapter& adapter_;
  PoolOwner& owner_;
  PoolUser& user_;
  fabric::CqId recv_cq_;
  PoolTable<Pool> pools_;
  std::size_t receives_wanted_ = 0;  // elements of all pools that the peer may use
  std::size_t receives_posted_ = 0;
  std::size_t ended_ = 0;
  fabric::CqId send_cq_;
  fabric::Qpn qpn_;
  bool open_ = false;
  base::Ring<Write> leases_;       // in flight, oldest first
  base::Ring<Write> indications_;  // completed, to be told by message
  std::size_t unindicated_ = 0;    // of leases_, those without idata
  std::size_t completed_ = 0;
};

}  // namespace splitnic::messaging
