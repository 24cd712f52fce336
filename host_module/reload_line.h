// The reloads of a host, one after the other in the order in which they came: what one of them
// finds depends on how those before it have ended. Thread: the control thread.
#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "control/daemon/config_reload.h"

namespace splitnic::host {

class ReloadLine {
 public:
  // Begins a reload. Returns true if end() follows; if not, it has replied.
  using Begin = std::function<bool(const control::ReplyFunction& reply)>;

  explicit ReloadLine(Begin begin) : begin_(std::move(begin)) {}

  void add(control::ReplyFunction reply) {
    waiting_.push_back(std::move(reply));
    begin_next();
  }
  // The reload that was begun has ended.
  void end() {
    is_running_ = false;
    begin_next();
  }

 private:
  // A reload that fails at once is followed by the next one.
  void begin_next() {
    while (!is_running_ && !waiting_.empty()) {
      const control::ReplyFunction reply = std::move(waiting_.front());
      waiting_.pop_front();
      is_running_ = begin_(reply);
    }
  }

  const Begin begin_;
  std::deque<control::ReplyFunction> waiting_;
  bool is_running_ = false;
};

}  // namespace splitnic::host
