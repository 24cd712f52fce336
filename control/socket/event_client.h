// Follows the events of a program over its control socket. Thread: that of the io_context, which
// outlives it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "control/socket/event_stream.h"
#include "control/socket/stream_client.h"

namespace splitnic::control {

class EventClient {
 public:
  struct Handlers {
    std::function<void(SentEvents)> on_events;
    // No call follows. The program ended, refused or is another version.
    std::function<void(base::Error)> on_end;
  };

  // Requests the newest `past` events, and then all. An error: nobody listens at `path`.
  static base::Result<std::unique_ptr<EventClient>> open(boost::asio::io_context& io,
                                                         const std::string& path,
                                                         std::uint32_t past, Handlers handlers);
  // Closes. No handler is called any more. Not inside a handler.
  ~EventClient();
  EventClient(const EventClient&) = delete;
  EventClient& operator=(const EventClient&) = delete;

 private:
  explicit EventClient(std::unique_ptr<StreamClient> stream);
  std::unique_ptr<StreamClient> stream_;
};

}  // namespace splitnic::control
