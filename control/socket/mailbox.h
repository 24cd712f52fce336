// The way of other threads to an io_context that may be gone before them. Thread: any.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <mutex>
#include <utility>

namespace splitnic::control {

class Mailbox {
 public:
  // `io` outlives close().
  explicit Mailbox(boost::asio::io_context& io) : io_(&io) {}
  // Runs `function` on the thread of the io_context. After close() it is dropped.
  template <typename Function>
  void post(Function function) {
    const std::lock_guard lock(mutex_);
    if (io_ != nullptr) boost::asio::post(*io_, std::move(function));
  }
  void close() {
    const std::lock_guard lock(mutex_);
    io_ = nullptr;
  }

 private:
  std::mutex mutex_;
  boost::asio::io_context* io_;  // guarded by mutex_
};

}  // namespace splitnic::control
