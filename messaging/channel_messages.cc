// Channel 0: the order in which messages are sent, and the handling of each message of the peer.
// Updates and flushes go first and may use the reserved send slots; indications, replies and
// requests follow.
#include <algorithm>

#include "messaging/channel_pair.h"

namespace splitnic::messaging {

void ChannelPair::send_due(base::Time now) {
  for (;;) {
    const base::MutableBytes room = control_->room(true);
    if (room.empty()) return;
    const std::size_t length = pool_control_.next_message(now, room);
    if (length == 0) break;
    counters_.add(PairCounter::kControlTx);
    if (const auto sent = control_->send(length); !sent) return fail(sent.error().text());
  }
  while (send_indications() || send_cfg(now)) {
  }
  cfg_.on_time(now);
}

bool ChannelPair::send_indications() {
  if (data_ == nullptr) return false;
  const base::MutableBytes room = control_->room(false);
  if (room.empty()) return false;
  RecordWriter<BufferRdmaIndicate> writer(room);
  while (!writer.full()) {
    const auto record = data_->next_indication();
    if (!record) break;
    writer.add(*record);
  }
  const std::size_t length = writer.finish(contexts_.next());
  if (length == 0) return false;
  counters_.add(PairCounter::kControlTx);
  return control_->send(length, MessageChannel::Kind::kIndication).has_value();
}

bool ChannelPair::send_cfg(base::Time now) {
  const base::MutableBytes room = control_->room(false);
  if (room.empty()) return false;
  const std::size_t length = cfg_.next_message(now, room);
  if (length == 0) return false;
  counters_.add(PairCounter::kControlTx);
  return control_->send(length).has_value();
}

// The send mode has no pools: a message that names one is a `role` error.
Verdict ChannelPair::on_buffer_recv_pool(const BufferRecvPool& message) {
  return data_ == nullptr ? DropReason::kRole : pool_control_.on_buffer_recv_pool(message);
}
Verdict ChannelPair::on_buffer_recv_pool_get(const BufferRecvPoolGet& message) {
  return data_ == nullptr ? DropReason::kRole : pool_control_.on_buffer_recv_pool_get(message);
}
Verdict ChannelPair::on_buffer_recv_pool_update(const BufferRecvPoolUpdate& message) {
  return data_ == nullptr ? DropReason::kRole : pool_control_.on_buffer_recv_pool_update(message);
}
Verdict ChannelPair::on_buffer_pool_flush_request(const BufferPoolFlushRequest& message) {
  return data_ == nullptr ? DropReason::kRole : pool_control_.on_buffer_pool_flush_request(message);
}
Verdict ChannelPair::on_buffer_pool_flush_reply(const BufferPoolFlushReply& message) {
  return data_ == nullptr ? DropReason::kRole : pool_control_.on_buffer_pool_flush_reply(message);
}
Verdict ChannelPair::on_buffer_rdma_indicate(const BufferRdmaIndicate& message, base::Time now) {
  return data_ == nullptr ? DropReason::kRole : pool_control_.on_buffer_rdma_indicate(message, now);
}

// A request that is dropped is repeated by the peer [S001-24].
Verdict ChannelPair::on_cfg_util_request(const CfgUtilRequest& message) {
  const auto execute = [this](const CfgRequest& request) {
    return owner_.on_cfg_request(*this, request);
  };
  if (!cfg_.on_request(message, execute)) counters_.add(PairCounter::kDropReplies);
  return {};
}

void ChannelPair::on_cfg_util_refused(const CfgUtilRefusal& refusal) {
  if (!cfg_.on_refused(refusal)) counters_.add(PairCounter::kDropReplies);
}

Verdict ChannelPair::on_cfg_util_reply(const CfgUtilReply& message) {
  return cfg_.on_reply(message);
}

}  // namespace splitnic::messaging
