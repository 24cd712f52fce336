// The inbox of an end has the events that wait for the case, the bytes that their spans point
// into, and counts of what is no event. A target that floods it fails the case. Thread: its owner.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "conformance/event.h"
#include "conformance/outcome.h"

namespace splitnic::conformance {

class Inbox {
 public:
  // `outcome` outlives this.
  explicit Inbox(Outcome& outcome) : outcome_(outcome) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // Those that wait, in the order of arrival.
  const std::deque<Event>& events() const { return events_; }
  // The number of events of a kind that wait.
  std::size_t waiting(EventKind kind) const;
  // Whether a message with this Transaction Context waits.
  bool has_message(messaging::TransactionContext context) const;
  // The LCNs of cells of channel 0 that came once more, since forget().
  const std::vector<fabric::Lcn>& retransmitted() const { return retransmitted_; }
  std::size_t idles() const { return idles_; }
  // Text about what was received or taken last; "nothing" before that.
  const std::string& last() const { return last_; }

  // Removes the first event that suits: from now on it is the last one that was received.
  std::optional<Event> take(const std::function<bool(const Event&)>& suits);
  // Forgets events and retransmissions.
  void forget();
  void forget_if(const std::function<bool(const Event&)>& suits);
  // Those that came before this link was up: the target sent them on the link before.
  void forget_cells();

  void add(const Event& event);
  void add_retransmission(unsigned channel, fabric::Lcn lcn);
  void add_idle() { ++idles_; }
  // Returns the same bytes, which stay where they are as long as this.
  base::Bytes keep(ByteVector bytes);
  // Hands a datagram to `take`, and keeps it afterwards if an event may point into it.
  void keep_while(ByteVector datagram, const std::function<void(base::Bytes)>& take);

 private:
  Outcome& outcome_;
  std::deque<Event> events_;
  std::vector<fabric::Lcn> retransmitted_;
  std::size_t idles_ = 0;
  std::string last_ = "nothing";
  std::deque<ByteVector> kept_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace splitnic::conformance
