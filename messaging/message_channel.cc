#include "messaging/message_channel.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/check.h"

namespace splitnic::messaging {
namespace {

constexpr std::size_t kPrefixSlot = 32;  // SendData's 16 bytes, then 4 of zero padding

}  // namespace

MessageChannel::MessageChannel(fabric::Adapter& adapter, const Shape& shape)
    : adapter_(adapter),
      shape_(shape),
      message_max_(shape.message_max),
      send_stride_(shape.sends_frames_only ? kPrefixSlot : shape.message_max),
      charge_(shape.memory),
      qp_(adapter, shape.channel),
      kinds_(shape.sends) {
  free_.reserve(shape.receives + shape.spares);
}

base::Result<std::unique_ptr<MessageChannel>> MessageChannel::open(fabric::Adapter& adapter,
                                                                   fabric::PdId pd,
                                                                   const Shape& shape,
                                                                   fabric::CqId recv_cq,
                                                                   base::Time now) {
  std::unique_ptr<MessageChannel> channel(new MessageChannel(adapter, shape));
  const std::size_t bytes = channel->send_offset(shape.sends);
  if (!channel->charge_.add(bytes)) return base::account_error();
  channel->memory_.reset(new (std::nothrow) std::byte[bytes]);
  if (channel->memory_ == nullptr) return base::Error("no memory of messages", ENOMEM);
  const auto handle = adapter.memory().regions().register_region(
      pd, {channel->memory_.get(), bytes}, fabric::kLocalRead | fabric::kLocalWrite);
  if (!handle) return handle.error().within("memory of messages");
  channel->handle_ = *handle;
  channel->start_ = adapter.memory().start_of(*handle);
  if (auto made = channel->open(pd, recv_cq, now); !made) {
    channel->close(now);
    return made.error();
  }
  return channel;
}

base::Status MessageChannel::open(fabric::PdId pd, fabric::CqId recv_cq, base::Time now) {
  fabric::QpInit init;
  init.service = shape_.service;
  init.common.pd = pd;
  init.common.partition = shape_.partition;
  init.common.sl = shape_.sl;
  init.common.recv_cq = recv_cq;
  init.common.send_depth = shape_.sends + shape_.writes;
  init.common.receive_depth = shape_.receives;
  init.accepts_rdma = shape_.writes > 0;
  init.window_bytes_max = shape_.window_bytes_max;
  init.common.memory = shape_.memory;
  if (auto opened = qp_.open(init, now); !opened) return opened;
  for (std::size_t slot = 0; slot < shape_.receives; ++slot) {
    if (auto posted = post_receive(slot); !posted) return posted;
  }
  for (std::size_t i = 0; i < shape_.spares; ++i) {
    free_.push_back(static_cast<std::uint32_t>(shape_.receives + i));
  }
  return {};
}

base::Status MessageChannel::post_receive(std::size_t slot) {
  const fabric::Sge piece = sge(slot * shape_.message_max, shape_.message_max);
  auto posted = adapter_.post_recv(qp_.qpn(), {slot, {&piece, 1}});
  if (posted) ++posted_;
  return posted;
}

base::Status MessageChannel::release(std::uint32_t slot) {
  if (posted_ < shape_.receives) return post_receive(slot);
  free_.push_back(slot);
  return {};
}

base::MutableBytes MessageChannel::room(bool reserved) {
  CHECK(!shape_.sends_frames_only);
  const std::size_t usable = reserved ? shape_.sends : shape_.sends - shape_.reserved_sends;
  if (open_sends_ >= usable) return {};
  return {memory_.get() + send_offset(next_send_), message_max_};
}

base::Status MessageChannel::send(std::size_t length, Kind kind) {
  const fabric::Sge piece = sge(send_offset(next_send_), length);
  return post_send({&piece, 1}, kind);
}

bool MessageChannel::send_frame(const fabric::Sge& frame) {
  if (open_sends_ >= shape_.sends - shape_.reserved_sends) return false;
  if (frame.length == 0 || frame.length > frame_bytes_max()) return false;
  const std::size_t at = send_offset(next_send_);
  std::byte* const slot = memory_.get() + at;
  SendData::emit_prefix(kUnsolicited, frame.length, {slot, SendData::kFixedBytes});
  std::memset(slot + SendData::kFixedBytes, 0, 4);
  const std::size_t padding = pad4(frame.length) - frame.length;
  const std::array<fabric::Sge, 3> gather = {sge(at, SendData::kFixedBytes), frame,
                                             sge(at + SendData::kFixedBytes, padding)};
  return post_send({gather.data(), padding == 0 ? 2U : 3U}, Kind::kFrame).has_value();
}

base::Status MessageChannel::post_send(std::span<const fabric::Sge> gather, Kind kind) {
  fabric::SendWr wr;
  wr.wr_id = next_send_;
  wr.gather = gather;
  if (auto posted = adapter_.post_send(qp_.qpn(), wr); !posted) return posted;
  kinds_[next_send_] = kind;
  next_send_ = (next_send_ + 1) % shape_.sends;
  ++open_sends_;
  ++open_by_kind_[static_cast<std::size_t>(kind)];
  return {};
}

base::Result<bool> MessageChannel::poll_sends() {
  return qp_.poll_sends([this](const fabric::Wc&) { on_sent(); });
}

void MessageChannel::on_sent() {
  const Kind kind = kinds_[oldest_send_];
  oldest_send_ = (oldest_send_ + 1) % shape_.sends;
  --open_sends_;
  --open_by_kind_[static_cast<std::size_t>(kind)];
  if (kind == Kind::kFrame) ++completed_frames_;
}

}  // namespace splitnic::messaging
