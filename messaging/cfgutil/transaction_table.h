// Open requests by Transaction Context: a request is repeated with the same context until its reply
// arrives, and fails after the last try. Pure: time comes in, messages and deadlines come out.
// docs/protocol/cfgutil.md#cfgutil [S001-10] [S001-24]
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "messaging/wire/message_header.h"

namespace splitnic::messaging {

class TransactionTable {
 public:
  struct Config {
    base::Duration timeout = std::chrono::milliseconds(500);
    int tries = 3;
    std::size_t open_max = 8;  // per direction
  };

  TransactionTable() : TransactionTable(Config{}) {}
  explicit TransactionTable(const Config& config) : config_(config) {}

  bool full() const { return open_.size() >= config_.open_max; }
  std::size_t size() const { return open_.size(); }
  // REQUIRES !full() and that `message` is a whole request with this context, which no open one
  // has.
  void open(TransactionContext context, std::vector<std::byte> message) {
    CHECK(!full() && find(context) == open_.end());
    open_.push_back({context, std::move(message), 0, base::Time{}});
  }
  // The reply to `context` arrived: closes the request. Returns false if it is not open (the reply
  // is late or invented).
  bool close(TransactionContext context) {
    const auto at = find(context);
    if (at == open_.end()) return false;
    open_.erase(at);
    return true;
  }
  // Returns the next message to send or to repeat; empty if there is none now. It counts as sent
  // and is valid until the next call of any member.
  base::Bytes next_message(base::Time now) {
    for (Request& request : open_) {
      if (request.due > now || request.tries == config_.tries) continue;
      ++request.tries;
      request.due = now + std::chrono::duration_cast<base::Time::duration>(config_.timeout);
      return request.message;
    }
    return {};
  }
  // Closes and returns a request whose last try has timed out.
  std::optional<TransactionContext> next_failed(base::Time now) {
    for (auto at = open_.begin(); at != open_.end(); ++at) {
      if (at->tries < config_.tries || at->due > now) continue;
      const TransactionContext context = at->context;
      open_.erase(at);
      return context;
    }
    return std::nullopt;
  }
  // Returns the time at which to call next_message() and next_failed().
  base::Time deadline() const {
    base::Time at = base::kNever;
    for (const Request& request : open_) at = std::min(at, request.due);
    return at;
  }
  void clear() { open_.clear(); }

 private:
  struct Request {
    TransactionContext context;
    std::vector<std::byte> message;
    int tries;
    base::Time due;
  };
  std::vector<Request>::iterator find(TransactionContext context) {
    auto at = open_.begin();
    while (at != open_.end() && at->context != context) ++at;
    return at;
  }

  Config config_;
  std::vector<Request> open_;
};

}  // namespace splitnic::messaging
