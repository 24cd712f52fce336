#include "control/socket/frame_feed.h"

#include <algorithm>
#include <utility>

#include "control/socket/frame_stream.h"

namespace splitnic::control {

FrameFeed::FrameFeed(const boost::asio::any_io_executor& executor,
                     std::shared_ptr<lan::FrameCapture> capture, Send send)
    : capture_(std::move(capture)),
      interfaces_(capture_->interfaces().size()),
      send_(std::move(send)),
      timer_(executor) {}

bool FrameFeed::is_empty() const {
  return std::ranges::all_of(copies_, [](const auto& one) { return one->empty(); });
}

void FrameFeed::next() {
  copies_ = capture_->copies();
  is_waiting_ = is_empty() && !has_ended_;
  if (!is_waiting_) {
    const bool is_last = has_ended_ && is_empty();
    return send_(take_frames(copies_, interfaces_, is_last), is_last);
  }
  timer_.expires_after(kLookEvery);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code) {
    if (const auto feed = weak.lock(); feed && feed->is_waiting_) feed->next();
  });
}

void FrameFeed::end() {
  has_ended_ = true;
  capture_->end();
}

}  // namespace splitnic::control
