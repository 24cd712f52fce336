// The inside of ChannelPair: one object that the files channel_pair.cc (life), channel_setup.cc
// (CONNECT), channel_frames.cc (frames) and channel_messages.cc (channel 0) share. See
// channel_pair.h for the contract.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ring.h"
#include "messaging/cfgutil/reply_cache.h"
#include "messaging/cfgutil/transaction_table.h"
#include "messaging/channel_pair.h"
#include "messaging/connect.pb.h"
#include "messaging/data_channel.h"
#include "messaging/message_channel.h"
#include "messaging/message_dispatch.h"
#include "messaging/pair_counters.h"
#include "messaging/pools/pool_control.h"
#include "messaging/wire/context_source.h"

namespace splitnic::messaging {

// IDLE -> CONNECTING -> CONNECTED -> UP -> CLOSING; any -> DOWN. UP begins when the peer's pools
// are known (send mode: at once). In CLOSING pools are being flushed: nothing is pushed, what
// arrived can still be received.
enum class ChannelState : std::uint8_t { kIdle, kConnecting, kConnected, kUp, kClosing, kDown };

class ChannelPair::Impl final : public MessageHandler, public FilledSink {
 public:
  Impl(ChannelPair& self, fabric::Adapter& adapter, const PairConfig& config, base::Random& random,
       PairOwner& owner);
  ~Impl() override;

  // channel_setup.cc
  base::Status register_frames(base::MutableBytes arena);
  base::Status make_channels(base::Time now);
  base::Status make_data_channel(base::Time now);
  base::Status connect(fabric::Link& link, base::Time now);
  bool on_connected(fabric::Link& link, const fabric::Mgmt& reply);
  fabric::MgmtReject accept(fabric::ConnectionId id, fabric::Link& link,
                            const fabric::Mgmt& request, fabric::Mgmt& reply, base::Time now);
  std::string capabilities() const;
  bool take_capabilities(base::Bytes private_data, bool may_follow, std::string& why);
  void agree(const connect::Capabilities& theirs);
  void apply_limits();
  bool join(fabric::Link& link, const fabric::Mgmt& theirs);
  std::array<fabric::MgmtPair, 2> describe();

  // channel_pair.cc
  void fail(const std::string& why);
  void begin_close();
  bool is_drained() const;
  void close(base::Time now);
  bool is_alive() const {
    return state == ChannelState::kConnected || state == ChannelState::kUp ||
           state == ChannelState::kClosing;
  }
  bool poll(base::Time now);
  void end_closed_pools();
  base::Time deadline() const;
  void flush(std::span<const std::uint32_t> refs, bool ours);

  // channel_frames.cc
  bool push(base::Bytes frame, base::Time now);
  bool push_by_message(MessageChannel& channel, const fabric::Sge& frame);
  bool push_by_write(const fabric::Sge& frame, base::Time now);
  std::size_t frame_bytes_max() const;
  std::size_t take_completed();
  std::size_t pushes_in_flight() const;
  bool poll_sends(bool& made_progress);
  bool poll_receives(base::Time now);
  void take_message(MessageChannel& channel, MessageDispatch& by, const fabric::Wc& wc,
                    base::Time now);
  void take_write(const fabric::Wc& wc, base::Time now);
  std::size_t receive(std::span<ReceivedFrame> out);
  base::Status release(const ReceivedFrame& frame, base::Time now);
  void grant_buffer_requests();
  bool is_reader_slow() const;
  void ask_for_more(std::uint32_t frame_bytes, base::Time now);

  // channel_messages.cc
  void send_due(base::Time now);
  bool send_transactions(base::Time now);
  bool send_indications();
  bool send_replies();
  base::Status request(CfgCode code, const std::string& data, base::Time now, CfgDone done);
  void send_reply(const CfgUtilReply& reply);
  void finish(TransactionContext context, const CfgReply& reply);
  void fail_requests();
  Verdict on_buffer_recv_pool(const BufferRecvPool& message, base::Time now) override;
  Verdict on_buffer_recv_pool_get(const BufferRecvPoolGet& message, base::Time now) override;
  Verdict on_buffer_recv_pool_update(const BufferRecvPoolUpdate& message, base::Time now) override;
  Verdict on_buffer_pool_flush_request(const BufferPoolFlushRequest& message,
                                       base::Time now) override;
  Verdict on_buffer_pool_flush_reply(const BufferPoolFlushReply& message, base::Time now) override;
  Verdict on_send_data(const SendData& message, base::Time now) override;
  Verdict on_buffer_rdma_indicate(const BufferRdmaIndicate& message, base::Time now) override;
  Verdict on_cfg_util_request(const CfgUtilRequest& message, base::Time now) override;
  void on_cfg_util_refused(const CfgUtilRefusal& refusal, base::Time now) override;
  Verdict on_cfg_util_reply(const CfgUtilReply& message, base::Time now) override;
  void on_filled(const FilledElement& filled) override;

  ChannelPair& self;
  fabric::Adapter& adapter;
  const PairConfig config;
  PairOwner& owner;
  ChannelState state = ChannelState::kIdle;
  Mode mode;  // the passive side may follow the active one
  fabric::PdId pd;
  fabric::ConnectionId id;
  std::string private_data;  // of our CONNECT cell; must outlive the call of the manager
  std::string peer_name = "unknown";
  std::uint32_t peer_queues = 1;
  std::size_t control_max = 0, data_max = 0;  // MSG_MAX of the channels: the smaller of both sides
  base::MutableBytes frames;                  // registered by register_frames()
  fabric::MemoryHandle frames_handle;
  fabric::VirtualAddress frames_start;

  ContextSource contexts;
  DropCounters drops;
  base::Counters<PairCounter> counters;
  PoolOwner pool_owner;
  PoolUser pool_user;
  PoolControl pool_control;
  MessageDispatch dispatch;       // channel 0
  MessageDispatch data_dispatch;  // channel 1 of the send mode
  TransactionTable transactions;
  std::map<TransactionContext, CfgDone> waiting;  // CfgUtil requests of ours
  ReplyCache replies;
  static constexpr std::size_t kRepliesDueMax = ReplyCache::kReplies;
  std::deque<std::vector<std::byte>> replies_due;  // no send slot was free

  // One queue for the receives of both channels: their order is the order of arrival, which frames
  // on different channels and a flush behind a write rely on.
  std::optional<fabric::CqId> recv_cq;
  std::unique_ptr<MessageChannel> control;
  std::unique_ptr<DataChannel> data;        // rdma mode
  std::unique_ptr<MessageChannel> by_send;  // send mode
  base::Ring<ReceivedFrame> arrived;
  struct AtHand {  // the message that is being handled
    MessageChannel* channel = nullptr;
    base::MutableBytes bytes;
    std::uint32_t slot = 0;
    bool is_kept = false;
  } at_hand;

  base::Time waiting_since = base::kNever;  // no element for the frame that is to be pushed
  base::Time wait_span_start{};
  base::Duration waited{0};  // since then, without the present wait
  base::Time ask_again{};
  std::size_t granted_pools = 0, granted_elements = 0, granted_bytes = 0;
};

}  // namespace splitnic::messaging
