// Channel 0 (control) and channel 1 (data) between a host and an I/O unit: pools in both
// directions, pushes, messages and CfgUtil. Both sides use the same class; each is initiator for
// one direction and target for the other [S001-07].
//
//   rdma mode: RC on both channels; only Sends on channel 0, only RDMA writes on channel 1
//   [S001-27], with idata where it fits [S001-21]. Frames up to the threshold go as SendData on
//   channel 0 [S001-05]. A frame waits until earlier ones on another way have completed, so each
//   direction keeps its order.
//
//   send mode: UC on both channels; SendData on channel 1, no pools [S001-26]. Loss is tolerated: a
//   frame that finds no slot is dropped and counted.
//
// Other arrangements of the channels are chosen by the active side [S001-51]: one channel for
// messages and writes in rdma mode, a connection for each channel in send mode.
//
// Thread: the data thread. Nothing here sleeps or does I/O; the owner calls poll() once per loop
// iteration, after Adapter::receive and before Adapter::transmit. A failed completion, a protocol
// error that loses elements, eight errors of the peer within a minute, or the peer's DISC takes the
// pair DOWN; the owner then closes it and makes another. Frames that were pushed and have not
// completed are then lost.
//
// Files: channel_pair.cc (life and views), channel_setup.cc (CONNECT), channel_frames.cc (frames),
// channel_messages.cc (channel 0).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "base/ring.h"
#include "base/status.h"
#include "fabric_emul/verbs/adapter.h"
#include "messaging/capabilities.h"
#include "messaging/cfgutil/cfg_exchange.h"
#include "messaging/counter_sums.h"
#include "messaging/data_channel.h"
#include "messaging/message_channel.h"
#include "messaging/message_dispatch.h"
#include "messaging/pair_config.h"
#include "messaging/pair_counters.h"
#include "messaging/pools/element_shortage.h"
#include "messaging/pools/grant_budget.h"
#include "messaging/pools/pool_control.h"

namespace splitnic::messaging {

// A frame in a pool element or in the slot of a SendData: [virtio-net header][Ethernet frame].
// It is valid until release(). No peer can write to it meanwhile: the memory table refuses writes
// to an element that its reader has [P-MEM-8], and the slot of a SendData is in no window.
struct ReceivedFrame {
  enum class Where : std::uint8_t { kElement, kControlSlot, kDataSlot };
  base::MutableBytes bytes;
  std::uint32_t pool = 0;
  std::uint32_t element = 0;  // or the slot
  std::uint32_t elements = 1;
  Where where = Where::kElement;
  std::uint8_t queue = 0;  // number of the pair that received it
};

class ChannelPair;

class PairOwner {
 public:
  virtual ~PairOwner() = default;
  // The peer's pools are known: push() may begin.
  virtual void on_pair_up(ChannelPair& pair) = 0;
  // Called once; do not destroy the pair inside.
  virtual void on_pair_down(ChannelPair& pair, const std::string& why) = 0;
  virtual CfgReply on_cfg_request(ChannelPair& pair, const CfgRequest& request) = 0;
};

struct PoolView {  // for `splitnic show`
  std::uint32_t ref = 0, elements = 0, size = 0, available = 0;
  bool ours = false;  // true: our receive pool (available = posted); false: the peer's (available
                      // to push into)
  std::uint32_t in_use = 0;  // ours: held by the reader; the peer's: being written
  fabric::MemoryHandle handle;
  fabric::VirtualAddress address;
  std::uint32_t queue = 0;
  std::uint64_t context = 0;
  std::uint64_t frames = 0;  // ours: writes into it since it was made
  bool is_ending = false;    // it is being flushed
};

struct ChannelView {  // for `splitnic show`
  std::uint8_t number = 0;
  fabric::Qpn qpn, peer_qpn;
  std::string_view service, state;  // "RC", "RTS"
  std::uint32_t queue = 0;
  base::Duration round_trip{};  // from a cell to its acknowledgement, smoothed; 0: not known
};

class ChannelPair final : private MessageHandler, private FilledSink {
 public:
  ChannelPair(fabric::Adapter& adapter, const PairConfig& config, base::Random& random,
              PairOwner& owner);
  // REQUIRES that the pair is closed, or was never connected.
  ~ChannelPair() override;
  ChannelPair(const ChannelPair&) = delete;
  ChannelPair& operator=(const ChannelPair&) = delete;

  // -- set-up and end --
  // Registers the memory that holds the frames of push(), for local read in this pair's protection
  // domain. Call it before connect() or accept(); the arena must outlive the pair.
  base::Status register_frames(base::MutableBytes arena);
  // Active side: creates the queue pairs and sends CONNECT_REQ over a link that is up.
  base::Status connect(fabric::Link& link, base::Time now);
  // Active side: the outcomes, forwarded by the module's ConnectionHandler.
  bool on_connected(fabric::Link& link, const fabric::Mgmt& reply);
  void on_rejected(fabric::ConnectionId id, fabric::MgmtReject code, base::Bytes private_data);
  void on_disconnected(fabric::ConnectionId id, std::string_view why);
  // Passive side: fills in the reply, or returns the code with which to refuse, with the reason as
  // its private data (kRefused: a mode or version that we do not support; kNoResources: memory or
  // tables are used up).
  fabric::MgmtReject accept(fabric::ConnectionId id, fabric::Link& link,
                            const fabric::Mgmt& request, fabric::Mgmt& reply, base::Time now);
  // Passive side, separate connections: the one of channel 1, after accept() of channel 0.
  fabric::MgmtReject accept_data(fabric::ConnectionId id, fabric::Link& link,
                                 const fabric::Mgmt& request, fabric::Mgmt& reply);
  fabric::ConnectionId connection() const { return id_; }
  bool has(fabric::ConnectionId id) const { return id.value != 0 && (id == id_ || id == data_id_); }
  bool up() const { return state_ == State::kUp; }
  // Begins an orderly end: nothing more is pushed, and the pools of both sides are flushed
  // [S001-16]. Continue to call poll() until is_drained(), for at most about 200 ms; then close().
  void begin_close();
  bool is_drained() const;
  // Disconnects and releases everything immediately. on_pair_down is not called.
  void close(base::Time now);
  // Ends pools while the connection continues: ours, or the peer's [S001-16] [S001-17]. Unknown
  // ones are skipped.
  void flush(std::span<const std::uint32_t> pool_refs, bool ours);
  // The same for one pool. Refused: an unknown one, one that is ending, and the last one that takes
  // any frame.
  base::Status flush(std::uint32_t pool, bool ours);

  // -- frames --
  // Pushes one frame in registered memory. Returns false if there is no element, receive credit or
  // room in the send queue now, or an earlier frame has to complete first; nothing was taken, and
  // pool.wait counts each such wait once. A frame longer than frame_bytes_max() is never taken.
  bool push(base::Bytes frame, base::Time now);
  std::size_t frame_bytes_max() const;
  // Returns the number of pushes that completed since the last call, in the order of push(): their
  // memory may be reused.
  std::size_t take_completed();
  std::size_t pushes_in_flight() const;
  // For the account of a connection that ends: frames that the peer has written, and knows to be
  // here, may wait for poll(), and count as arrived from now on. Those that need a message, of the
  // threshold or of BufferRDMAIndicate, do so only once that was polled.
  void collect_arrived(base::Time now);
  // Returns the number of frames that arrived and were not received yet.
  std::size_t unreceived() const { return arrived_.size(); }
  // Copies descriptors of frames that arrived to `out`, oldest first, and returns their number.
  // Call release() for each.
  std::size_t receive(std::span<ReceivedFrame> out);
  // The frame was copied out of its element or slot.
  void release(const ReceivedFrame& frame, base::Time now);

  // -- CfgUtil --
  // Sends a request to the peer; `done` is called once, from poll(). Fails if eight requests are
  // open or the pair is not up.
  base::Status request(CfgCode code, const std::string& data, CfgDone done);

  // -- event loop --
  // Takes completions, executes messages, returns elements in batches, and repeats requests
  // without a reply. Returns true if any work was done.
  bool poll(base::Time now);
  base::Time deadline() const;
  // The connection is idle: returns the memory of our pools, except for `keep` elements per pool,
  // to the operating system. The peer does not notice; its next write takes the memory again.
  // Returns the number of bytes.
  std::size_t release_idle(std::uint32_t keep);

  // -- views --
  const std::string& peer_name() const { return agreed_.peer_name; }  // node name from CONNECT
  const std::string& peer_program() const { return agreed_.peer_program; }  // with its version
  std::uint32_t peer_queues() const { return agreed_.peer_queues; }  // active side: pairs granted
  Mode mode() const { return agreed_.mode; }
  fabric::Qpn qpn(unsigned channel) const;
  // Returns the cell payload of channel 1 in bytes, or 0 before it is connected.
  std::uint16_t cell_payload_max() const;
  // Returns true if the peer accessed memory that it was not given, which ended the pair.
  bool has_refused_access() const;
  std::vector<PoolView> pools() const;
  std::vector<ChannelView> channels() const;
  void add_to(CounterSums& sums) const;
  void visit_counters(const base::CounterVisitor& visitor) const;
  // The terms of the connection; until they are agreed, our own mode and channels.
  const Agreement& agreement() const { return agreed_; }
  // The memory of our pools, for checks of what the peer writes.
  std::vector<base::MutableBytes> TEST_pool_memory();
  // Sends these bytes unchanged on channel 0, as a faulty peer would.
  void TEST_send(base::Bytes message);

 private:
  // IDLE -> CONNECTING -> CONNECTED -> UP -> CLOSING; any -> DOWN. UP begins when the peer's pools
  // are known (send mode: immediately). In CLOSING the pools are being flushed: nothing is pushed,
  // frames that arrived can still be received.
  enum class State : std::uint8_t { kIdle, kConnecting, kConnected, kUp, kClosing, kDown };
  // The message that is being handled.
  struct Current {
    MessageChannel* channel = nullptr;
    base::MutableBytes bytes;
    std::uint32_t slot = 0;
    bool is_kept = false;
  };

  // channel_setup.cc
  base::Status make_channels(base::Time now);
  base::Status make_data_channel(std::span<const PoolSpec> pools, base::Time now);
  void adopt(Agreement agreed);
  void apply_limits();
  // The channels of a connection, as bits.
  enum : unsigned { kChannel0 = 1, kChannel1 = 2 };
  unsigned channels_of_first() const;
  bool join(fabric::Link& link, const fabric::Mgmt& theirs, unsigned channels);
  std::vector<fabric::MgmtPair> describe(unsigned channels);
  void fill(fabric::Mgmt& reply, const fabric::Mgmt& request, unsigned channels);
  void connect_data(base::Time now);

  // channel_pair.cc
  bool has_one_channel() const { return agreed_.channels == Channels::kOne; }
  bool is_alive() const {
    return state_ == State::kConnected || state_ == State::kUp || state_ == State::kClosing;
  }
  void fail(const std::string& why);
  void end_closed_pools();

  // channel_frames.cc
  base::Result<bool> poll_sends();
  bool poll_receives(base::Time now);
  void take_message(MessageChannel& channel, MessageDispatch& dispatch, const fabric::Wc& wc,
                    base::Time now);
  void take_write(const fabric::Wc& wc, base::Time now);
  void take_single(const fabric::Wc& wc, base::Time now);
  bool push_by_message(MessageChannel& channel, const fabric::Sge& frame);
  bool push_by_write(base::Bytes frame, const fabric::Sge& piece, base::Time now);
  void on_filled(const FilledElement& filled) override;
  bool is_reader_slow() const;
  void grant_buffer_requests();

  // channel_messages.cc
  void send_due(base::Time now);
  bool send_indications();
  bool send_cfg(base::Time now);
  Verdict on_buffer_recv_pool(const BufferRecvPool& message) override;
  Verdict on_buffer_recv_pool_get(const BufferRecvPoolGet& message) override;
  Verdict on_buffer_recv_pool_update(const BufferRecvPoolUpdate& message) override;
  Verdict on_buffer_pool_flush_request(const BufferPoolFlushRequest& message) override;
  Verdict on_buffer_pool_flush_reply(const BufferPoolFlushReply& message) override;
  Verdict on_send_data(const SendData& message) override;
  Verdict on_buffer_rdma_indicate(const BufferRdmaIndicate& message, base::Time now) override;
  Verdict on_cfg_util_request(const CfgUtilRequest& message) override;
  void on_cfg_util_refused(const CfgUtilRefusal& refusal) override;
  Verdict on_cfg_util_reply(const CfgUtilReply& message) override;

  fabric::Adapter& adapter_;
  const PairConfig config_;
  PairOwner& owner_;
  State state_ = State::kIdle;
  Agreement agreed_;  // until CONNECT: our own mode
  fabric::PdId pd_;
  fabric::ConnectionId id_;
  fabric::ConnectionId data_id_;  // separate connections: that of channel 1
  bool awaits_data_ = false;      // separate connections: channel 1 is not connected yet
  fabric::Link* link_ = nullptr;  // active side: channel 1 is to be connected over it
  std::string private_data_;   // of our CONNECT cell; outlives the call of the connection manager
  base::MutableBytes frames_;  // registered by register_frames()
  fabric::MemoryHandle frames_handle_;
  fabric::VirtualAddress frames_start_;

  ContextSource contexts_;
  DropCounters drops_;
  base::Counters<PairCounter> counters_;
  PoolOwner pool_owner_;
  PoolUser pool_user_;
  PoolControl pool_control_;
  CfgExchange cfg_;
  MessageDispatch dispatch_;       // channel 0
  MessageDispatch data_dispatch_;  // channel 1 of the send mode

  // One completion queue for the receives of both channels. It keeps them in the order of arrival,
  // on which frames on different channels, and a flush behind a write, rely.
  std::optional<fabric::CqId> recv_cq_;
  std::unique_ptr<MessageChannel> control_;
  std::unique_ptr<DataChannel> data_;        // rdma mode
  std::unique_ptr<MessageChannel> by_send_;  // send mode
  base::Ring<ReceivedFrame> arrived_;
  Current current_;
  ElementShortage shortage_;
  GrantBudget grants_;
  base::MemoryCharge charge_;
};

}  // namespace splitnic::messaging
