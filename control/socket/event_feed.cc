#include "control/socket/event_feed.h"

#include <utility>

#include "control/socket/event_stream.h"

namespace splitnic::control {

// Events that are not kept any more are in the past, and no loss but between those that are.
EventFeed::EventFeed(base::EventLog& log, std::shared_ptr<Mailbox> mailbox, std::uint64_t past,
                     Send send)
    : log_(log), mailbox_(std::move(mailbox)), send_(std::move(send)), next_(log.newest(past)) {}

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
