// A server to which the system refuses a descriptor or memory for a client lets the client wait in
// the backlog, and accepts again after a while. That is one line of the log until a client was
// accepted. Thread: the control thread. [F-52]
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "base/log.h"

namespace splitnic::control {

class AcceptRetry {
 public:
  // `server` is for the log.
  AcceptRetry(boost::asio::io_context& io, std::string server)
      : server_(std::move(server)), timer_(io) {}

  void accepted() { is_reported_ = false; }
  // Calls `accept` later, unless cancelled.
  void accept_later(const boost::system::error_code& why, std::function<void()> accept) {
    if (!is_reported_) {
      base::log_warn(server_ + ": accepting a client: " + why.message() +
                     "; it waits until that has changed");
    }
    is_reported_ = true;
    timer_.expires_after(kWait);
    timer_.async_wait([accept = std::move(accept)](const boost::system::error_code& cancelled) {
      if (!cancelled) accept();
    });
  }
  void cancel() { timer_.cancel(); }

 private:
  static constexpr std::chrono::milliseconds kWait{100};

  const std::string server_;
  boost::asio::steady_timer timer_;
  bool is_reported_ = false;
};

}  // namespace splitnic::control
