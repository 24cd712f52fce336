// The messages of one RD queue pair: one at a time is in flight, on an end-to-end context, which
// numbers it and its cells, repeats them and gets its reply. This decides what is in flight and
// what its reply means; the requester has the send queue and makes the cells [S000-12].
//
// The flow: next_context() -> emit(), as often as the context wants -> take_response() or nothing
// -> on_result(), or on_rnr() and from the start. Thread: the data thread. docs/protocol/rd.md
#pragma once

#include <optional>

#include "fabric_emul/transport/requester.h"

namespace splitnic::fabric {

class RdRequester {
 public:
  // Of the same queue pair; they outlive it.
  RdRequester(Requester& requester, QpContext& context)
      : requester_(requester), context_(context) {}

  // Returns the context that the next message needs; none while one is in flight, or must wait, or
  // there is none. Runs what sends nothing and comes first.
  std::optional<EeId> next_context(base::Time now);
  // Sends the cell that `place` describes of the message in flight, or the first one of the next
  // message. Returns its bytes, or 0 when the link has no room now or the local memory failed its
  // checks.
  std::size_t emit(Link& link, const EePlace& place);
  // The result of the message in flight. An error ends the send queue.
  void on_result(WcStatus status);
  // Its receiver has no receive posted: it goes back to the queue for `wait` at least.
  void on_rnr(base::Duration wait, base::Time now);
  // Takes its response. Returns the result.
  WcStatus take_response(const CellView& cell);
  // The send queue was flushed.
  void on_flush() { is_in_flight_ = false; }

 private:
  Requester& requester_;
  QpContext& context_;
  bool is_in_flight_ = false;  // the oldest of the send queue is
};

}  // namespace splitnic::fabric
