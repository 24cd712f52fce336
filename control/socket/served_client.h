// A client of the control socket: length, request, reply, and the next request; or, after the
// request monitor, events, and after capture, frames, until it closes. Thread: that of the
// io_context.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <memory>
#include <string>

#include "base/event_log.h"
#include "control/socket/event_feed.h"
#include "control/socket/frame_feed.h"
#include "control/socket/mailbox.h"
#include "control/socket/requests.h"

namespace splitnic::control {

class ServedClient;

// The server, as its clients see it.
class ClientOwner {
 public:
  virtual ~ClientOwner() = default;
  // The client waits for send(), watch() or capture().
  virtual void on_request(const std::shared_ptr<ServedClient>& client, Request request) = 0;
  virtual void on_closed(const std::shared_ptr<ServedClient>& client) = 0;
};

class ServedClient : public std::enable_shared_from_this<ServedClient> {
 public:
  using Socket = boost::asio::local::stream_protocol::socket;

  // A client that is not trusted only looks.
  ServedClient(Socket socket, bool is_trusted, std::weak_ptr<ClientOwner> owner);

  // Takes the first request.
  void start() { read_length(); }
  // Replies, and takes the next request or closes.
  void send(const Reply& reply, bool close_after);
  // Replies, and from now on sends events, first the newest `past`. `log` outlives this object.
  void watch(base::EventLog& log, std::shared_ptr<Mailbox> mailbox, std::uint64_t past);
  bool is_trusted() const { return is_trusted_; }
  bool is_watching() const { return feed_ != nullptr; }
  // Replies with the names of the interfaces, and from now on sends the frames of the capture.
  void capture(std::shared_ptr<lan::FrameCapture> frames);
  bool is_capturing() const { return frames_ != nullptr; }
  // Sends the frames that are there, and closes. REQUIRES is_capturing().
  void end_capture() { frames_->end(); }
  void close();

 private:
  void read_length();
  void on_length(std::size_t bytes);
  void on_body();
  void send_to_watcher(std::string message);
  void send_frames(std::string message, bool is_last);
  void close_at_next_byte();

  Socket socket_;
  const bool is_trusted_;
  std::weak_ptr<ClientOwner> owner_;
  std::string in_;
  std::string out_;
  std::shared_ptr<EventFeed> feed_;
  std::shared_ptr<FrameFeed> frames_;
};

}  // namespace splitnic::control
