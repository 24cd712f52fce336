#include "conformance/carrier.h"

#include <algorithm>

namespace splitnic::conformance {

void Carrier::send(base::Bytes datagram) {
  if (is_listening_ && target_ == fabric::PeerAddress{}) return;
  static_cast<void>(underlay_.send(target_, datagram, datagram.size()));
}

std::optional<base::Bytes> Carrier::receive(base::Time until) {
  for (;;) {
    if (!rest_.empty()) {
      const base::Bytes datagram = rest_.first(std::min(stride_, rest_.size()));
      rest_ = rest_.subspan(datagram.size());
      return datagram;
    }
    if (const auto batch = underlay_.receive()) {
      if (is_listening_ && !batch->bytes.empty()) target_ = batch->from;
      // Those of others, and empty ones, do not prolong the time.
      if (batch->from == target_) rest_ = batch->bytes;
      stride_ = std::max<std::size_t>(batch->stride, 1);
      if (!rest_.empty() || clock_.now() < until) continue;
    }
    if (clock_.now() >= until) return std::nullopt;
    if (underlay_.may_sleep()) wait_(until);
  }
}

}  // namespace splitnic::conformance
