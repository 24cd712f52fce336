#include "control/socket/event_client.h"

#include <utility>

namespace splitnic::control {

EventClient::EventClient(std::unique_ptr<StreamClient> stream) : stream_(std::move(stream)) {}
EventClient::~EventClient() = default;

base::Result<std::unique_ptr<EventClient>> EventClient::open(boost::asio::io_context& io,
                                                             const std::string& path,
                                                             std::uint32_t past,
                                                             Handlers handlers) {
  Request request;
  request.command = Command::kMonitor;
  request.count = past;
  auto stream = StreamClient::open(
      io, path, request,
      {.on_begin = {},
       .on_message =
           [on_events = std::move(handlers.on_events)](const std::string& bytes) {
             auto events = decode_events(bytes);
             if (!events) return false;
             on_events(*std::move(events));
             return true;
           },
       .on_end = std::move(handlers.on_end)});
  if (!stream) return stream.error();
  return std::unique_ptr<EventClient>(new EventClient(*std::move(stream)));
}

}  // namespace splitnic::control
