// Every message of the peer passes through here: the header is checked in a fixed order, then the
// message goes to the handler of its function. A message that is refused, here or by the handler,
// is counted by its reason and has no effect. Thread: the data thread.
// docs/protocol/message.md#errors
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

#include "base/clock.h"
#include "messaging/wire/buffer_pool_flush.h"
#include "messaging/wire/buffer_rdma_indicate.h"
#include "messaging/wire/buffer_recv_pool.h"
#include "messaging/wire/buffer_recv_pool_get.h"
#include "messaging/wire/buffer_recv_pool_update.h"
#include "messaging/wire/cfg_util.h"
#include "messaging/wire/send_data.h"

namespace splitnic::messaging {

// Executes the messages of the peer. The views are valid only during the call.
class MessageHandler {
 public:
  virtual ~MessageHandler() = default;
  virtual Verdict on_buffer_recv_pool(const BufferRecvPool& message) = 0;
  virtual Verdict on_buffer_recv_pool_get(const BufferRecvPoolGet& message) = 0;
  virtual Verdict on_buffer_recv_pool_update(const BufferRecvPoolUpdate& message) = 0;
  virtual Verdict on_buffer_pool_flush_request(const BufferPoolFlushRequest& message) = 0;
  virtual Verdict on_buffer_pool_flush_reply(const BufferPoolFlushReply& message) = 0;
  virtual Verdict on_send_data(const SendData& message) = 0;
  virtual Verdict on_buffer_rdma_indicate(const BufferRdmaIndicate& message, base::Time now) = 0;
  virtual Verdict on_cfg_util_request(const CfgUtilRequest& message) = 0;
  // A request that could not be parsed. It is counted already, and still gets its one reply.
  virtual void on_cfg_util_refused(const CfgUtilRefusal& refusal) = 0;
  virtual Verdict on_cfg_util_reply(const CfgUtilReply& message) = 0;
};

// Detects eight errors of one peer within a minute.
class ErrorWindow {
 public:
  static constexpr std::size_t kErrors = 8;
  static constexpr base::Duration kWithin = std::chrono::seconds(60);

  void note(base::Time now) {
    times_[errors_++ % kErrors] = now;
    if (errors_ >= kErrors) is_exceeded_ = now - times_[errors_ % kErrors] <= kWithin;
  }
  // Returns true once kErrors errors came within kWithin; the pair is then to end.
  bool is_exceeded() const { return is_exceeded_; }

 private:
  std::array<base::Time, kErrors> times_{};
  std::size_t errors_ = 0;
  bool is_exceeded_ = false;
};

class MessageDispatch {
 public:
  enum class Channel : std::uint8_t {
    kControl,  // every function
    kData,     // channel 1 of the send mode: SendData; everything else is a `role` error
  };

  MessageDispatch(Channel channel, std::size_t msg_max, MessageHandler& handler,
                  DropCounters& drops)
      : channel_(channel), msg_max_(msg_max), handler_(handler), drops_(drops) {}

  // Checks and executes one received Send. Returns its verdict, which is counted already.
  Verdict dispatch(base::Bytes message, base::Time now);
  // The longest message that both sides accept.
  void set_message_max(std::size_t bytes) { msg_max_ = bytes; }
  // Notes an error of the peer that was found elsewhere, for example in an indication, and is
  // counted already.
  void note_error(DropReason reason, base::Time now) {
    // A late reply to a repeated request is not an error of the peer.
    if (reason != DropReason::kContext) errors_.note(now);
  }
  const ErrorWindow& errors() const { return errors_; }

 private:
  Verdict check_and_execute(base::Bytes message, base::Time now);
  Verdict execute(Function function, base::Bytes message, base::Time now);
  Verdict on_buffer_rdma_indicate(base::Bytes message, base::Time now);
  Verdict on_cfg_util_request(base::Bytes message);

  Channel channel_;
  std::size_t msg_max_;
  MessageHandler& handler_;
  DropCounters& drops_;
  ErrorWindow errors_;
};

}  // namespace splitnic::messaging
