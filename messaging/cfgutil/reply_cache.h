// The server's last replies: a repeated request is answered from here and not done twice. A request
// whose work is still going on is not begun again either. Context 0 is never kept. [S001-24]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "messaging/wire/message_header.h"

namespace splitnic::messaging {

class ReplyCache {
 public:
  static constexpr std::size_t kReplies = 8;
  enum class Seen : std::uint8_t {
    kNew,      // do the work, then store()
    kWorking,  // repeated while it is being done: drop it, the reply will come
    kReplied,  // repeated: send reply() again
    kBusy,     // kReplies requests are being worked on: answer status busy, do not store()
  };

  // Looks up a request and notes it as being worked on if it is new.
  Seen begin(TransactionContext context) {
    if (context == kUnsolicited) return Seen::kNew;
    for (const Entry& entry : entries_) {
      if (entry.context == context) return entry.is_working ? Seen::kWorking : Seen::kReplied;
    }
    Entry* oldest = nullptr;
    for (Entry& entry : entries_) {
      if (entry.is_working) continue;
      if (oldest == nullptr || entry.age < oldest->age) oldest = &entry;
    }
    if (oldest == nullptr) return Seen::kBusy;
    *oldest = Entry{context, true, ++age_, {}};
    return Seen::kNew;
  }
  // Keeps the reply of a request that begin() called new.
  void store(TransactionContext context, base::Bytes reply) {
    for (Entry& entry : entries_) {
      if (context == kUnsolicited || entry.context != context) continue;
      entry.is_working = false;
      entry.reply.assign(reply.begin(), reply.end());
    }
  }
  // The reply to a context that begin() called answered; empty if there is none.
  base::Bytes reply(TransactionContext context) const {
    for (const Entry& entry : entries_) {
      if (entry.context == context && !entry.is_working) return entry.reply;
    }
    return {};
  }
  // A new connection: contexts begin anew.
  void clear() { entries_ = {}; }

 private:
  struct Entry {
    TransactionContext context = kUnsolicited;
    bool is_working = false;
    std::uint64_t age = 0;
    std::vector<std::byte> reply;
  };
  std::array<Entry, kReplies> entries_{};
  std::uint64_t age_ = 0;
};

}  // namespace splitnic::messaging
