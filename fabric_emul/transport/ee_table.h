// The end-to-end contexts of an adapter by number. Thread: the data thread.
#pragma once

#include <map>
#include <memory>

#include "fabric_emul/transport/ee_context.h"

namespace splitnic::fabric {

// The queue pairs of the adapter, as its contexts need them.
class RdQueuePairs {
 public:
  virtual ~RdQueuePairs() = default;
  // Null if there is none of service RD.
  virtual Qp* find_rd(Qpn qpn) = 0;
  // It may have something to send.
  virtual void wake(Qp& qp) = 0;
};

class EeTable {
 public:
  EeContext* find(EeId id) {
    const auto at = contexts_.find(id);
    return at == contexts_.end() ? nullptr : at->second.get();
  }
  void insert(std::unique_ptr<EeContext> context) { contexts_[context->id()] = std::move(context); }
  void erase(EeId id) { contexts_.erase(id); }
  bool empty() const { return contexts_.empty(); }
  std::size_t size() const { return contexts_.size(); }
  void abandon(const Qp& qp) {
    for (const auto& [id, context] : contexts_) context->abandon(qp);
  }
  template <class Fn>
  void for_each(Fn&& fn) {
    for (const auto& [id, context] : contexts_) fn(*context);
  }
  template <class Fn>
  void for_each(Fn&& fn) const {
    for (const auto& [id, context] : contexts_) fn(static_cast<const EeContext&>(*context));
  }

 private:
  std::map<EeId, std::unique_ptr<EeContext>> contexts_;
};

}  // namespace splitnic::fabric
