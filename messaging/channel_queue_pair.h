// The queue pair of one channel and its send completion queue. Receives of both channels of a
// channel pair have one completion queue, which the channel pair owns. Thread: the data thread.
#pragma once

#include "base/clock.h"
#include "base/status.h"
#include "fabric_emul/verbs/adapter.h"

namespace splitnic::messaging {

class ChannelQueuePair {
 public:
  // `channel` names it in errors. The adapter outlives this object.
  ChannelQueuePair(fabric::Adapter& adapter, unsigned channel)
      : adapter_(adapter), channel_(channel) {}
  ~ChannelQueuePair();
  ChannelQueuePair(const ChannelQueuePair&) = delete;
  ChannelQueuePair& operator=(const ChannelQueuePair&) = delete;

  // Creates the queue pair, ready for receives to be posted, and a send completion queue that holds
  // all sends. `init` names everything but the latter.
  base::Status open(fabric::QpInit init, base::Time now);
  // Destroys both; call it outside of the adapter's callbacks.
  void close(base::Time now);
  bool is_open() const { return is_open_; }
  fabric::Qpn qpn() const { return qpn_; }

  // Calls on_completed(const fabric::Wc&) for each send that completed, in order. Returns true if
  // there was one, or the error that broke the channel.
  template <class OnCompleted>
  base::Result<bool> poll_sends(OnCompleted&& on_completed);
  // Describes a completion that breaks the channel.
  base::Error error_of(fabric::WcStatus status) const;

 private:
  fabric::Adapter& adapter_;
  const unsigned channel_;
  fabric::CqId send_cq_;
  fabric::Qpn qpn_;
  bool is_open_ = false;
};

template <class OnCompleted>
base::Result<bool> ChannelQueuePair::poll_sends(OnCompleted&& on_completed) {
  fabric::WcBatch wcs;
  bool made_progress = false;
  for (std::size_t n; (n = adapter_.poll_cq(send_cq_, wcs)) > 0;) {
    made_progress = true;
    for (std::size_t i = 0; i < n; ++i) {
      if (wcs[i].status != fabric::WcStatus::kSuccess) return error_of(wcs[i].status);
      on_completed(wcs[i]);
    }
  }
  return made_progress;
}

}  // namespace splitnic::messaging
