// A request to a program over its control socket, whose reply is followed by messages until one
// side closes. Thread: that of the io_context, which outlives it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "control/socket/requests.h"

namespace splitnic::control {

class StreamClient {
 public:
  struct Handlers {
    // The program accepts the request; messages follow.
    std::function<void(std::string text)> on_begin;
    // The bytes after the length. False: they are malformed; on_end follows.
    std::function<bool(const std::string& bytes)> on_message;
    // No call follows. The program ended, refused or is another version.
    std::function<void(base::Error)> on_end;
  };

  // An error: nobody listens at `path`.
  static base::Result<std::unique_ptr<StreamClient>> open(boost::asio::io_context& io,
                                                          const std::string& path,
                                                          const Request& request,
                                                          Handlers handlers);
  // Closes. No handler is called any more. Not inside a handler.
  ~StreamClient();
  StreamClient(const StreamClient&) = delete;
  StreamClient& operator=(const StreamClient&) = delete;

 private:
  class Impl;
  explicit StreamClient(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace splitnic::control
