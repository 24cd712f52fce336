// The consumer's side of its quiescable regions: it counts its I/O in their current-I/O words,
// starts none while a region that it touches is to be quiescent but queues new requests, reports
// when the last I/O of a region ended, and continues when it is woken [S004-11 to S004-13]. An I/O
// that touches several regions counts in each, once per operation on it; such a request
// needs all of them in memory at a time. One thread owns it, the arbitrator's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

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

// The I/Os of a request against one region.
struct RegionIo {
  MemoryHandle region;
  IoCount ios;
};

class IoConsumer final : public SwapConsumer {
 public:
  // All given must outlive this.
  IoConsumer(SwapArbitrator& arbitrator, IoIssuer& issuer, std::size_t queued_max)
      : arbitrator_(arbitrator), issuer_(issuer), queued_max_(queued_max) {}

  // `word` is the one the region is registered with, and outlives this.
  void add_region(MemoryHandle region, std::atomic<std::uint32_t>& word) { words_[region] = &word; }

  // Issues the request if every region admits its I/Os; else counts none of them, queues the
  // request in order and asks for the regions that are to be quiescent. Refused, and not queued: a
  // region that was not added; the queue is full; a region of this request, or of one in front of
  // it, that is to be quiescent and no longer in the care of the arbitrator.
  base::Status submit(std::span<const RegionIo> regions, std::uint64_t id);
  base::Status submit(MemoryHandle region, std::uint64_t id, IoCount ios);
  // One I/O of an issued request against this region has completed.
  base::Status finish(MemoryHandle region);
  void on_awake(MemoryHandle region) override;

  // The I/Os against all regions.
  std::uint32_t outstanding() const;
  std::size_t queued() const { return queue_.size(); }

 private:
  struct Request {
    std::uint64_t id;
    std::vector<RegionIo> regions;
    std::uint64_t number;  // of submit()
  };
  CurrentIo word_of(MemoryHandle region) { return CurrentIo(*words_.at(region)); }
  bool begin(std::span<const RegionIo> regions);
  base::Status issue_queued();
  base::Result<bool> ask_for(std::span<const RegionIo> regions);

  SwapArbitrator& arbitrator_;
  IoIssuer& issuer_;
  std::map<MemoryHandle, std::atomic<std::uint32_t>*> words_;
  std::deque<Request> queue_;
  std::size_t queued_max_;
  std::uint64_t submitted_ = 0;
  bool is_issuing_ = false;  // inside of issue_queued(), which a region that comes in calls again
};

}  // namespace splitnic::fabric
