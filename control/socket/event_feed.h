// Passes events to one watcher, a message at a time: the next one is made when the watcher has
// taken the one before, from what is kept then. So a watcher that is slow costs no memory and
// delays nobody; it loses the oldest events, and the next message has their number. Thread: that of
// the io_context behind the mailbox.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/event_log.h"
#include "control/socket/mailbox.h"

namespace splitnic::control {

class EventFeed : public std::enable_shared_from_this<EventFeed> {
 public:
  using Send = std::function<void(std::string message)>;

  // Begins with the newest `past` events. `log` outlives the feed. `send` is called by next() only,
  // and gets a message with its length in front.
  EventFeed(base::EventLog& log, std::shared_ptr<Mailbox> mailbox, std::uint64_t past, Send send);
  ~EventFeed();
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  // The watcher is ready: sends the next events, now or once there are some. REQUIRES that it has
  // taken what was sent before.
  void next();

 private:
  base::EventLog& log_;
  const std::shared_ptr<Mailbox> mailbox_;
  const Send send_;
  std::uint64_t next_;
  std::uint64_t waiting_ = 0;  // id in the log; 0: none
};

}  // namespace splitnic::control
