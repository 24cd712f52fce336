// A channel of whole messages by Send: channel 0 always, and channel 1 of the send mode. Each
// message uses one receive descriptor and one slot of registered memory. A frame (SendData) is
// gathered from the 16 bytes of its slot, the frame in its own memory, and padding, without a copy.
//
// Receive slots: `receives` are posted. With spares, a spare is posted before a message is handled,
// so the peer's receive credit never waits for our handler; a frame may keep its slot until
// release() while a spare is left. Without spares, a kept slot is not posted until it is released,
// which suits an unacknowledged channel. docs/protocol/message.md#common-rules
// Thread: the data thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/status.h"
#include "fabric_emul/verbs/adapter.h"
#include "messaging/channel_queue_pair.h"
#include "messaging/wire/send_data.h"

namespace splitnic::messaging {

// The service level of channel 0: by default its lane goes before those of data. [S000-41]
inline constexpr std::uint8_t kControlSl = 3;

class MessageChannel {
 public:
  struct Shape {
    unsigned channel = 0;
    fabric::Service service = fabric::Service::kRc;
    std::size_t message_max = kMsgMaxControl;
    std::size_t receives = 64;
    std::size_t spares = 65;  // one is posted while 64 are kept
    std::size_t sends = 32;
    std::size_t reserved_sends = 8;  // for Update and Flush
    bool sends_frames_only = false;
    // RDMA writes that a data channel has in flight on this queue pair; 0: it has no writes, and
    // refuses those of the peer.
    std::size_t writes = 0;
    // Channel 0 carries short messages: a peer can have this much of it held back, three times
    // over, behind one that never comes.
    std::uint64_t window_bytes_max = 64 << 10;
    std::uint8_t sl = 0;
    fabric::PartitionKey partition = fabric::kDefaultPartition;  // as in PairConfig
    base::MemoryAccount* memory = nullptr;                       // the same
  };
  static constexpr Shape control(fabric::Service service, std::size_t message_max) {
    return {.service = service, .message_max = message_max, .sl = kControlSl};
  }
  // The only channel of a pair: a write with idata consumes a receive, so there are more of them.
  static constexpr Shape single(std::size_t message_max, std::size_t writes,
                                std::uint64_t window_bytes_max) {
    return {.message_max = message_max,
            .receives = 256,
            .writes = writes,
            .window_bytes_max = window_bytes_max};
  }
  // Channel 1 of the send mode.
  static constexpr Shape frames(std::size_t message_max, std::size_t receives) {
    return {.channel = 1,
            .service = fabric::Service::kUc,
            .message_max = message_max,
            .receives = receives,
            .spares = 0,
            .sends = 512,
            .reserved_sends = 0,
            .sends_frames_only = true};
  }
  // The content of a Send; completions are counted per kind.
  enum class Kind : std::uint8_t { kMessage, kIndication, kFrame };

  // Creates the queue pair and the slots, and posts the receives; these complete to `recv_cq`. The
  // adapter outlives the channel. An error, ENOMEM: no memory is left.
  static base::Result<std::unique_ptr<MessageChannel>> open(fabric::Adapter& adapter,
                                                            fabric::PdId pd, const Shape& shape,
                                                            fabric::CqId recv_cq, base::Time now);
  ~MessageChannel() = default;
  MessageChannel(const MessageChannel&) = delete;
  MessageChannel& operator=(const MessageChannel&) = delete;

  fabric::Qpn qpn() const { return qp_.qpn(); }
  // For the data channel that shares it.
  ChannelQueuePair& queue_pair() { return qp_; }
  const Shape& shape() const { return shape_; }
  // The longest message that both sides accept.
  std::size_t message_max() const { return message_max_; }
  // The peer accepts messages of at most this length.
  void limit(std::size_t peers_max) { message_max_ = std::min(message_max_, peers_max); }

  // Returns room for the next message, message_max() long, or nothing if no slot is free.
  // `reserved`: it may use the slots that are reserved for Update and Flush.
  base::MutableBytes room(bool reserved);
  // Sends the first `length` bytes of room(). REQUIRES length <= message_max().
  base::Status send(std::size_t length, Kind kind = Kind::kMessage);
  // Sends a frame in registered memory as SendData. Returns false if no slot is free now or the
  // frame is longer than frame_bytes_max().
  bool send_frame(const fabric::Sge& frame);
  std::size_t frame_bytes_max() const { return SendData::data_max(message_max_); }
  std::size_t open_sends(Kind kind) const { return open_by_kind_[static_cast<std::size_t>(kind)]; }
  std::size_t take_completed_frames() { return std::exchange(completed_frames_, 0); }

  // Takes completions of Sends. Returns true if there was one, or the error that broke the channel.
  base::Result<bool> poll_sends();
  // The same where a data channel shares the queue pair: calls on_written() for each completion of
  // a write, whose id is kWriteId.
  template <class OnWritten>
  base::Result<bool> poll_sends_and_writes(OnWritten&& on_written);
  static constexpr std::uint64_t kWriteId = ~std::uint64_t{0};
  // Takes a completed receive of this queue pair: calls handle(MutableBytes, slot) once, which
  // returns true to keep the slot until release(); it may do so only while may_keep(). Returns the
  // error that broke the channel, if there is one.
  template <class Handle>
  base::Status take(const fabric::Wc& wc, Handle&& handle);
  // Takes a completed receive whose message is lost, and posts its slot.
  base::Status drop(const fabric::Wc& wc) {
    --posted_;
    return release(static_cast<std::uint32_t>(wc.wr_id));
  }
  bool may_keep() const { return shape_.spares == 0 || !free_.empty(); }
  base::Status release(std::uint32_t slot);
  // Destroys the queue pair; call it outside of the adapter's callbacks.
  void close(base::Time now) { qp_.close(now); }

 private:
  MessageChannel(fabric::Adapter& adapter, const Shape& shape);
  base::Status open(fabric::PdId pd, fabric::CqId recv_cq, base::Time now);
  base::Status post_receive(std::size_t slot);
  std::byte* receive_slot(std::size_t slot) { return memory_.get() + slot * shape_.message_max; }
  std::size_t send_offset(std::size_t slot) const {
    return (shape_.receives + shape_.spares) * shape_.message_max + slot * send_stride_;
  }
  fabric::Sge sge(std::size_t offset, std::size_t length) const {
    return {fabric::VirtualAddress(start_.value + offset), static_cast<std::uint32_t>(length),
            handle_};
  }
  base::Status post_send(std::span<const fabric::Sge> gather, Kind kind);
  void on_sent();

  static constexpr std::size_t kKinds = 3;

  fabric::Adapter& adapter_;
  const Shape shape_;
  std::size_t message_max_;
  std::size_t send_stride_;
  base::MemoryCharge charge_;
  std::unique_ptr<std::byte[]> memory_;  // receive slots, then send slots
  fabric::MemoryHandle handle_;
  fabric::VirtualAddress start_;
  ChannelQueuePair qp_;
  std::vector<std::uint32_t> free_;  // receive slots that are neither posted nor kept
  std::size_t posted_ = 0;
  std::vector<Kind> kinds_;  // of the send slots
  std::size_t next_send_ = 0, oldest_send_ = 0, open_sends_ = 0;
  std::array<std::size_t, kKinds> open_by_kind_{};
  std::size_t completed_frames_ = 0;
};

template <class OnWritten>
base::Result<bool> MessageChannel::poll_sends_and_writes(OnWritten&& on_written) {
  return qp_.poll_sends([&](const fabric::Wc& wc) {
    if (wc.wr_id == kWriteId)
      on_written();
    else
      on_sent();
  });
}

template <class Handle>
base::Status MessageChannel::take(const fabric::Wc& wc, Handle&& handle) {
  if (wc.status != fabric::WcStatus::kSuccess) return qp_.error_of(wc.status);
  const auto slot = static_cast<std::uint32_t>(wc.wr_id);
  --posted_;
  if (!free_.empty()) {
    const std::uint32_t spare = free_.back();
    free_.pop_back();
    if (auto posted = post_receive(spare); !posted) return posted;
  }
  if (handle(base::MutableBytes(receive_slot(slot), wc.bytes), slot)) return {};
  return release(slot);
}

}  // namespace splitnic::messaging
