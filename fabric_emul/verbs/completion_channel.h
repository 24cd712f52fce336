// A descriptor on which the owner of completion queues may sleep: readable when one of the queues
// that were armed has fired. Several queues of one adapter may share a channel, which lists those
// that fired.
//
//   auto channel = CompletionChannel::open();                       // or an error
//   const auto cq = adapter.create_cq(depth, nullptr, channel->get());
//   adapter.arm_cq(*cq, CqEvents::kSolicited);                      // then poll_cq() once more
//   ... poll(2) until (*channel)->fd() is readable, while the adapter iterates ...
//   for (const CqId fired : (*channel)->clear()) ...                // poll_cq() and arm_cq() each
//
// Outlives the queues. Thread: the data thread; another one may wait for fd().
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "fabric_emul/transport/completion_notifier.h"

namespace splitnic::fabric {

class CompletionChannel final : public CompletionNotifier {
 public:
  // Refused when the process may have no more descriptors.
  static base::Result<std::unique_ptr<CompletionChannel>> open();
  CompletionChannel(const CompletionChannel&) = delete;
  CompletionChannel& operator=(const CompletionChannel&) = delete;

  // Readable from the first queue that fires until clear(). Never read from it.
  int fd() const { return event_.get(); }
  // Returns the queues that have fired since the last call, each once, the first to fire first;
  // then fd() is not readable until the next one fires. A queue that was destroyed since is among
  // them. The result is valid until the next call.
  std::span<const CqId> clear();

  void on_completion(CqId cq) override;

 private:
  explicit CompletionChannel(base::UniqueFd event);

  base::UniqueFd event_;
  std::vector<CqId> fired_;
  std::vector<CqId> cleared_;
};

}  // namespace splitnic::fabric
