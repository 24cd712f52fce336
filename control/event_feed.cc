#include "control/event_feed.h"

#include <algorithm>
#include <utility>

#include "control/event_stream.h"

namespace splitnic::control {

// Events that are not kept any more are in the past, and no loss.
EventFeed::EventFeed(base::EventLog& log, std::shared_ptr<Mailbox> mailbox, std::uint64_t past,
                     Send send)
    : log_(log), mailbox_(std::move(mailbox)), send_(std::move(send)), next_(log.next()) {
  next_ -= std::min(past, next_ - 1);
  next_ += log_.since(next_, 0).lost;
}

EventFeed::~EventFeed() { log_.forget(waiting_); }

void EventFeed::next() {
  log_.forget(std::exchange(waiting_, 0));
  const auto part = log_.since(next_, kEventsPerMessage);
  next_ = part.next;
  if (!part.events.empty()) return send_(encode(part));
  waiting_ = log_.wait_for(next_, [mailbox = mailbox_, weak = weak_from_this()] {
    mailbox->post([weak] {
      if (const auto feed = weak.lock()) feed->next();
    });
  });
}

}  // namespace splitnic::control
