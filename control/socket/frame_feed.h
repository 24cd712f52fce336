// Passes the frames of a capture to one client, a message at a time: the next one is made when the
// client has taken the one before, from what is there then. A client that is slow costs frames of
// its capture, which are counted, and delays nobody. While there is none, the feed looks every few
// milliseconds, so that the thread of the frames wakes nobody. The capture ends with the feed.
// Thread: that of the io_context.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "lan_bridge/frame/frame_capture.h"

namespace splitnic::control {

class FrameFeed : public std::enable_shared_from_this<FrameFeed> {
 public:
  static constexpr std::chrono::milliseconds kLookEvery{5};

  // Gets a message with its length in front; called by next() only.
  using Send = std::function<void(std::string message, bool is_last)>;

  FrameFeed(const boost::asio::any_io_executor& executor,
            std::shared_ptr<lan::FrameCapture> capture, Send send);
  FrameFeed(const FrameFeed&) = delete;
  FrameFeed& operator=(const FrameFeed&) = delete;

  // The client is ready: sends the next frames, now or once there are some. REQUIRES that it has
  // taken what was sent before.
  void next();
  // No frame that comes now is sent any more. The message after those that are there is the last.
  void end();

 private:
  bool is_empty() const;

  std::shared_ptr<lan::FrameCapture> capture_;
  lan::FrameCapture::Copies copies_;  // of the queues that have begun
  const std::size_t interfaces_;
  const Send send_;
  boost::asio::steady_timer timer_;
  bool is_waiting_ = false;
  bool has_ended_ = false;
};

}  // namespace splitnic::control
