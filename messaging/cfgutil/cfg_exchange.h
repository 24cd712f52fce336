// CfgUtil of one pair, in both roles. As client it keeps each of our requests until its reply or
// its last timeout; as server it sends one reply per request of the peer, and replies to a repeated
// request from a cache instead of executing it twice. Pure: messages and time come in, messages and
// deadlines come out. One thread. docs/protocol/cfgutil.md#cfgutil [S001-24]
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "messaging/cfgutil/reply_cache.h"
#include "messaging/cfgutil/transaction_table.h"
#include "messaging/wire/cfg_util.h"
#include "messaging/wire/context_source.h"

namespace splitnic::messaging {

// A request as the modules see it: a code and the serialised message of
// messaging/cfgutil/cfgutil.proto.
struct CfgRequest {
  CfgCode code{};
  base::Bytes data;
};
struct CfgReply {
  CfgStatus status = CfgStatus::kOk;
  std::string data;
  bool replied = true;  // false: no reply after three tries, or the pair went down
};
using CfgDone = std::function<void(const CfgReply&)>;

class CfgExchange {
 public:
  // Executes a request of the peer.
  using Execute = std::function<CfgReply(const CfgRequest&)>;
  static constexpr std::size_t kRepliesDueMax = ReplyCache::kReplies;

  CfgExchange(ContextSource& contexts, std::size_t message_max)
      : contexts_(contexts), message_max_(message_max) {}
  // The longest message that both sides accept.
  void set_message_max(std::size_t bytes) { message_max_ = bytes; }

  // -- client --
  // Opens a request; `done` is called once. Fails if eight requests are open or the request is
  // longer than a message.
  base::Status request(CfgCode code, const std::string& data, CfgDone done);
  Verdict on_reply(const CfgUtilReply& message);
  // Ends the requests whose last try has timed out. Call it at deadline().
  void on_time(base::Time now);
  base::Time deadline() const { return transactions_.deadline(); }
  // Ends all requests without a reply.
  void fail_requests();

  // -- server --
  // Returns false, without executing the request, if kRepliesDueMax replies wait to be sent: the
  // peer does not receive them, and repeats its requests.
  bool on_request(const CfgUtilRequest& message, const Execute& execute);
  bool on_refused(const CfgUtilRefusal& refusal);

  // Writes the next message that is due and returns its length, or 0 if there is none. The message
  // counts as sent. `out` is as long as the longest message.
  std::size_t next_message(base::Time now, base::MutableBytes out);

 private:
  bool is_full() const { return replies_due_.size() >= kRepliesDueMax; }
  void finish(TransactionContext context, const CfgReply& reply);
  void queue_reply(const CfgUtilReply& message);

  ContextSource& contexts_;
  std::size_t message_max_;
  TransactionTable transactions_;
  std::map<TransactionContext, CfgDone> waiting_;  // for the reply to our request
  ReplyCache replies_;
  std::deque<std::vector<std::byte>> replies_due_;
};

}  // namespace splitnic::messaging
