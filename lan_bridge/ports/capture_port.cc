#include "lan_bridge/ports/capture_port.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace splitnic::lan {

void CapturePort::warn_of_cut(std::string_view what, std::size_t got, std::string_view limit,
                              std::size_t wanted) const {
  base::log_warn(fmt::format(
      "{}: the {} buffer is {} bytes only: raise net.core.{} to {}, or grant CAP_NET_ADMIN", name_,
      what, got, limit, wanted / 2));
}

void CapturePort::set_send_buffer(std::size_t bytes) {
  const std::size_t got = set_buffer(write_fd(), SO_SNDBUFFORCE, SO_SNDBUF, bytes);
  if (got >= bytes || is_send_cut_logged_) return;
  is_send_cut_logged_ = true;
  warn_of_cut("send", got, "wmem_max", bytes);
}

std::size_t CapturePort::send_batch(std::span<const base::Bytes> frames) {
  if (!sender_) return 0;
  std::size_t count = 0;
  const std::size_t most = std::min(frames.size(), VnetSender::kBatch);
  while (count < most && !is_short(frames[count]) && can_send_whole(frames[count])) ++count;
  return sender_->send_batch(frames.first(count));
}

bool CapturePort::send_one(base::Bytes frame) {
  const VnetSender::Outcome outcome = sender_->send(frame);
  if (outcome == VnetSender::Outcome::kRefused) segment_refused(frame);
  return outcome != VnetSender::Outcome::kBlocked;
}

}  // namespace splitnic::lan
