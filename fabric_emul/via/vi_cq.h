// A completion queue of VIs: which descriptor of which queue is done, oldest first [S001-41]. It
// cannot overflow: every queue that completes here has reserved as many entries as it holds
// descriptors, and a descriptor holds its place in its queue until done() has returned it.
// Thread: the data thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/ring.h"
#include "fabric_emul/verbs/adapter.h"
#include "fabric_emul/via/vi_descriptor.h"

namespace splitnic::fabric {

class Vi;

struct ViCompletion {
  Vi* vi = nullptr;
  ViQueue queue = ViQueue::kSend;
  ViDescriptorRef descriptor;
  std::uint32_t status = 0;  // as in the descriptor
};

class ViCq {
 public:
  // `cq` is for this alone and holds `depth` completions.
  ViCq(Adapter& adapter, CqId cq, std::size_t depth)
      : adapter_(adapter), cq_(cq), entries_(depth) {}
  ViCq(const ViCq&) = delete;
  ViCq& operator=(const ViCq&) = delete;

  // Writes what the adapter has completed into the descriptors. Called in each iteration, after
  // Adapter::poll.
  void poll();
  // The oldest that is done, and its place in the queue of its VI is free again.
  std::optional<ViCompletion> done();

  // -- for the VIs that complete here --
  // Completions of this queue pair are those of the VI, until detach().
  void attach(Qpn qpn, Vi& vi) { users_[qpn] = &vi; }
  void detach(Qpn qpn) { users_.erase(qpn); }
  // The next descriptor of a queue of the VI is done. REQUIRES that it has an entry reserved.
  void push(Vi& vi, ViQueue queue) {
    entries_.push(Entry{&vi, queue});
    if (notify_) std::exchange(notify_, nullptr)();
  }

  // -- for the kernel agent --
  CqId id() const { return cq_; }
  bool is_in_use() const { return reserved_ != 0; }
  bool has_room(std::size_t entries) const { return entries <= entries_.capacity() - reserved_; }
  // REQUIRES has_room().
  void reserve(std::size_t entries) { reserved_ += entries; }
  void release(std::size_t entries) { reserved_ -= entries; }
  // Calls the handler with the next entry, once.
  void notify(std::function<void()> handler) { notify_ = std::move(handler); }

 private:
  struct Entry {
    Vi* vi = nullptr;
    ViQueue queue = ViQueue::kSend;
  };

  Adapter& adapter_;
  const CqId cq_;
  base::Ring<Entry> entries_;
  std::size_t reserved_ = 0;
  std::map<Qpn, Vi*> users_;
  std::function<void()> notify_;  // for the next entry
};

}  // namespace splitnic::fabric
