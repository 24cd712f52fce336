#include "lan_bridge/ports/vnet_sender.h"

#include <algorithm>
#include <cerrno>

#include "lan_bridge/frame/vnet_header.h"
#include "lan_bridge/frame_ring.h"

namespace splitnic::lan {

std::size_t VnetSender::send_batch(std::span<const base::Bytes> frames) {
  const std::size_t count = std::min(frames.size(), kBatch);
  iovec* vector = vectors_.data();
  for (std::size_t i = 0; i < count; ++i) {
    msghdr& header = messages_[i].msg_hdr;
    header = {};
    header.msg_iov = vector;
    header.msg_iovlen = form_.fill(frames[i], vector);
    vector += header.msg_iovlen;
  }
  const int sent = ::sendmmsg(fd_, messages_.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
  if (sent <= 0) return 0;
  const auto taken = static_cast<std::size_t>(sent);
  for (const base::Bytes frame : frames.first(taken)) count_sent(frame);
  return taken;
}

VnetSender::Outcome VnetSender::send(base::Bytes frame) {
  std::array<iovec, VnetForm::kVectorsMax> vectors;
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = form_.fill(frame, vectors.data());
  for (;;) {
    if (::sendmsg(fd_, &message, MSG_DONTWAIT) >= 0) {
      count_sent(frame);
      return Outcome::kTaken;
    }
    if (errno == EAGAIN) return Outcome::kBlocked;
    if (errno == EINTR) continue;
    const bool is_super = VnetHeader::parse(frame).gso() != GsoType::kNone;
    if (errno == EINVAL && is_super) return Outcome::kRefused;
    counters_.add(tx_drop_of(errno));
    return Outcome::kTaken;
  }
}

void VnetSender::count_sent(base::Bytes frame) {
  counters_.add(PortCounter::kTxFrames);
  counters_.add(PortCounter::kTxBytes, frame.size() - kVnetHeaderBytes);
}

}  // namespace splitnic::lan
