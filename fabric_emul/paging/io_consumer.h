// The consumer's side of a quiescable region: it counts its I/O in the current-I/O word, starts
// none while the region is to be quiescent but queues new requests, reports when its last I/O
// ended, and continues when it is woken [S004-11 to S004-13]. One thread owns it, the arbitrator's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/status.h"
#include "fabric_emul/paging/quiesce.h"
#include "fabric_emul/paging/swap_arbitrator.h"

namespace splitnic::fabric {

// Starts what the consumer may start.
class IoIssuer {
 public:
  virtual ~IoIssuer() = default;
  virtual void issue(std::uint64_t id) = 0;
};

class IoConsumer final : public SwapConsumer {
 public:
  // `word` is the one the region is registered with. All given must outlive this.
  IoConsumer(std::atomic<std::uint32_t>& word, SwapArbitrator& arbitrator, IoIssuer& issuer,
             std::size_t queued_max)
      : word_(word), arbitrator_(arbitrator), issuer_(issuer), queued_max_(queued_max) {}

  // Issues the request, which has `count` I/Os, or queues it in order and asks for the region.
  // Refused: the queue is full.
  base::Status submit(MemoryHandle region, std::uint64_t id, IoCount ios);
  // One I/O of an issued request has completed.
  base::Status finish(MemoryHandle region);
  void on_awake(MemoryHandle region) override;

  std::uint32_t outstanding() const { return word_.count(); }
  std::size_t queued() const { return queue_.size(); }

 private:
  struct Request {
    std::uint64_t id;
    std::uint32_t ios;
  };

  CurrentIo word_;
  SwapArbitrator& arbitrator_;
  IoIssuer& issuer_;
  std::deque<Request> queue_;
  std::size_t queued_max_;
};

}  // namespace splitnic::fabric
