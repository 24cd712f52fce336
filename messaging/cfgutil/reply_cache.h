// The server's last replies: a repeated request gets its reply from here and is not executed twice.
// A request that is still being executed is not started a second time. Context 0 is never kept.
// Thread: the data thread. docs/protocol/cfgutil.md#cfgutil [S001-24]
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
    kNew,      // execute it, then store() the reply
    kWorking,  // repeated while it is being executed: drop it, the reply will follow
    kReplied,  // repeated: send reply()
    kBusy,     // kReplies requests are being executed: reply with status busy, do not store()
  };

  // Looks up a request, and notes it as being executed if it is new.
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
  // Keeps the reply of a request for which begin() returned kNew.
  void store(TransactionContext context, base::Bytes reply) {
    for (Entry& entry : entries_) {
      if (context == kUnsolicited || entry.context != context) continue;
      entry.is_working = false;
      entry.reply.assign(reply.begin(), reply.end());
    }
  }
  // Returns the reply to a request for which begin() returned kReplied; empty if there is none.
  base::Bytes reply(TransactionContext context) const {
    for (const Entry& entry : entries_) {
      if (entry.context == context && !entry.is_working) return entry.reply;
    }
    return {};
  }
  // Forgets all, for a new connection with new contexts.
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
