// One client of --metrics: reads one request, sends one response, closes. It serves the files of
// the page and refuses what is refused on its own; what needs a snapshot it requests from its
// owner. The length of a request and the time for each step are bounded. Thread: that of the
// io_context.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <memory>
#include <string>

#include "control/metrics/metrics_resource.h"

namespace splitnic::control {

class MetricsClient {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Text = std::shared_ptr<const std::string>;
  using Pointer = std::shared_ptr<MetricsClient>;

  // The server, as its clients see it.
  class Owner {
   public:
    virtual ~Owner() = default;
    // Calls client->send() once, now or later. `what` is not kFile.
    virtual void want(MetricsResource::Kind what, const Pointer& client) = 0;
    virtual void on_closed(const Pointer& client) = 0;
  };

  // Begins to read. With `is_loopback` a request has to name a host of this machine.
  static Pointer start(Socket socket, std::weak_ptr<Owner> owner, bool is_loopback);

  virtual ~MetricsClient() = default;
  // Null: no snapshot is possible now.
  virtual void send(const Text& text) = 0;
  // Nothing has been requested yet.
  virtual bool is_idle() const = 0;
  virtual void close() = 0;
};

}  // namespace splitnic::control
