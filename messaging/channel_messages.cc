// Channel 0: what is sent when, and what each message means. Updates and flushes go first and may
// take the reserved send slots; indications, replies and requests follow.
#include <algorithm>

#include "messaging/channel_impl.h"

namespace splitnic::messaging {

void ChannelPair::Impl::send_due(base::Time now) {
  for (;;) {
    const base::MutableBytes room = control->room(true);
    if (room.empty()) return;
    const std::size_t length = pool_control.next_message(now, room);
    if (length == 0) break;
    counters.add(PairCounter::kControlTx);
    if (auto sent = control->send(length); !sent) return fail(sent.error().text());
  }
  while (send_indications() || send_replies() || send_transactions(now)) {
  }
  while (const auto failed = transactions.next_failed(now)) {
    CfgReply none;
    none.replied = false;
    finish(*failed, none);
  }
}

bool ChannelPair::Impl::send_indications() {
  if (data == nullptr) return false;
  const base::MutableBytes room = control->room(false);
  if (room.empty()) return false;
  RecordWriter<BufferRdmaIndicate> writer(room);
  while (!writer.full()) {
    const auto record = data->next_indication();
    if (!record) break;
    writer.add(*record);
  }
  const std::size_t length = writer.finish(contexts.next());
  if (length == 0) return false;
  counters.add(PairCounter::kControlTx);
  return control->send(length, MessageChannel::Kind::kIndication).has_value();
}

bool ChannelPair::Impl::send_replies() {
  if (replies_due.empty()) return false;
  const base::MutableBytes room = control->room(false);
  if (room.empty()) return false;
  std::ranges::copy(replies_due.front(), room.begin());
  const std::size_t length = replies_due.front().size();
  replies_due.pop_front();
  counters.add(PairCounter::kControlTx);
  return control->send(length).has_value();
}

bool ChannelPair::Impl::send_transactions(base::Time now) {
  const base::MutableBytes room = control->room(false);
  if (room.empty()) return false;
  const base::Bytes message = transactions.next_message(now);
  if (message.empty()) return false;
  std::ranges::copy(message, room.begin());
  counters.add(PairCounter::kControlTx);
  return control->send(message.size()).has_value();
}

base::Status ChannelPair::Impl::request(CfgCode code, const std::string& body, base::Time,
                                        CfgDone done) {
  if (state != ChannelState::kUp) return base::Error("not connected");
  if (transactions.full()) return base::Error("too many requests are open");
  CfgUtilRequest message{contexts.next(), code, base::as_bytes(body)};
  if (CfgUtilRequest::bytes(body.size()) > control_max) {
    return base::Error("the request is too long");
  }
  std::vector<std::byte> bytes(CfgUtilRequest::bytes(body.size()));
  message.emit(bytes);
  waiting[message.context] = std::move(done);
  transactions.open(message.context, std::move(bytes));
  return {};
}

void ChannelPair::Impl::finish(TransactionContext context, const CfgReply& reply) {
  const auto at = waiting.find(context);
  if (at == waiting.end()) return;
  const CfgDone done = std::move(at->second);
  waiting.erase(at);
  if (done) done(reply);
}

void ChannelPair::Impl::fail_requests() {
  CfgReply none;
  none.replied = false;
  while (!waiting.empty()) finish(waiting.begin()->first, none);
  transactions.clear();
}

// The send mode has no pools: what names one is a `role` error.
Verdict ChannelPair::Impl::on_buffer_recv_pool(const BufferRecvPool& message, base::Time) {
  if (data == nullptr) return DropReason::kRole;
  return pool_control.on_buffer_recv_pool(message);
}
Verdict ChannelPair::Impl::on_buffer_recv_pool_get(const BufferRecvPoolGet& message, base::Time) {
  if (data == nullptr) return DropReason::kRole;
  return pool_control.on_buffer_recv_pool_get(message);
}
Verdict ChannelPair::Impl::on_buffer_recv_pool_update(const BufferRecvPoolUpdate& message,
                                                      base::Time) {
  if (data == nullptr) return DropReason::kRole;
  return pool_control.on_buffer_recv_pool_update(message);
}
Verdict ChannelPair::Impl::on_buffer_pool_flush_request(const BufferPoolFlushRequest& message,
                                                        base::Time) {
  if (data == nullptr) return DropReason::kRole;
  return pool_control.on_buffer_pool_flush_request(message);
}
Verdict ChannelPair::Impl::on_buffer_pool_flush_reply(const BufferPoolFlushReply& message,
                                                      base::Time) {
  if (data == nullptr) return DropReason::kRole;
  return pool_control.on_buffer_pool_flush_reply(message);
}
Verdict ChannelPair::Impl::on_buffer_rdma_indicate(const BufferRdmaIndicate& message,
                                                   base::Time now) {
  if (data == nullptr) return DropReason::kRole;
  return pool_control.on_buffer_rdma_indicate(message, now);
}

void ChannelPair::Impl::send_reply(const CfgUtilReply& message) {
  std::vector<std::byte> bytes(CfgUtilReply::bytes(message.data.size()));
  message.emit(bytes);
  replies.store(message.context, bytes);
  replies_due.push_back(std::move(bytes));
}

// A peer that asks and does not take the answers is not remembered for ever: what it asked is asked
// again [S001-24].
Verdict ChannelPair::Impl::on_cfg_util_request(const CfgUtilRequest& message, base::Time) {
  if (replies_due.size() >= kRepliesDueMax) {
    counters.add(PairCounter::kDropReplies);
    return {};
  }
  switch (replies.begin(message.context)) {
    case ReplyCache::Seen::kWorking:
      return {};
    case ReplyCache::Seen::kReplied: {
      const base::Bytes again = replies.reply(message.context);
      replies_due.emplace_back(again.begin(), again.end());
      return {};
    }
    case ReplyCache::Seen::kBusy:
      send_reply({message.context, message.code, CfgStatus::kBusy, {}});
      return {};
    case ReplyCache::Seen::kNew:
      break;
  }
  CfgReply reply = owner.on_cfg_request(self, {message.code, message.data});
  if (CfgUtilReply::bytes(reply.data.size()) > control_max) {
    reply = {CfgStatus::kDeviceError, {}};
  }
  send_reply({message.context, message.code, reply.status, base::as_bytes(reply.data)});
  return {};
}

void ChannelPair::Impl::on_cfg_util_refused(const CfgUtilRefusal& refusal, base::Time) {
  if (replies_due.size() >= kRepliesDueMax) return counters.add(PairCounter::kDropReplies);
  send_reply({refusal.context, refusal.code, refusal.status, {}});
}

Verdict ChannelPair::Impl::on_cfg_util_reply(const CfgUtilReply& message, base::Time) {
  if (!transactions.close(message.context)) return DropReason::kContext;
  finish(message.context, {message.status, std::string(base::as_text(message.data))});
  return {};
}

}  // namespace splitnic::messaging
