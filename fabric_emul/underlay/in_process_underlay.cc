#include "fabric_emul/underlay/in_process_underlay.h"

#include <algorithm>

#include "base/check.h"
#include "base/endian.h"

namespace splitnic::fabric {
namespace {

std::uint32_t number_of(const PeerAddress& address) {
  return base::load_be<std::uint32_t>(address.bytes.data());
}

}  // namespace

PeerAddress InProcessHub::address_of(std::uint32_t number) {
  PeerAddress address;
  base::store_be(address.bytes.data(), number);
  return address;
}

InProcessUnderlay& InProcessHub::add_endpoint() {
  const auto number = static_cast<std::uint32_t>(endpoints_.size() + 1);
  endpoints_.push_back(std::make_unique<InProcessUnderlay>(*this, number));
  return *endpoints_.back();
}

InProcessUnderlay* InProcessHub::find(const PeerAddress& address) {
  const std::uint32_t number = number_of(address);
  return number >= 1 && number <= endpoints_.size() ? endpoints_[number - 1].get() : nullptr;
}

InProcessUnderlay::InProcessUnderlay(InProcessHub& hub, std::uint32_t number)
    : hub_(hub),
      address_(InProcessHub::address_of(number)),
      ring_(hub.config().batch_queue_max + 1) {}

Underlay::SendStatus InProcessUnderlay::send(const PeerAddress& to, base::Bytes bytes,
                                             std::size_t stride) {
  CHECK(stride > 0 && bytes.size() <= batch_bytes_max());
  if (std::min(stride, bytes.size()) > hub_.config().datagram_bytes_max) {
    return SendStatus::kTooLong;
  }
  InProcessUnderlay* peer = hub_.find(to);
  if (peer == nullptr || !peer->plugged_ || !plugged_) return SendStatus::kRefused;
  if (peer->put(address_, bytes, stride)) return SendStatus::kSent;
  return hub_.config().drops_when_full ? SendStatus::kSent : SendStatus::kBlocked;
}

bool InProcessUnderlay::put(const PeerAddress& from, base::Bytes bytes, std::size_t stride) {
  if (count_ >= ring_.size() - 1) return false;
  Batch& batch = ring_[(first_ + count_++) % ring_.size()];
  batch.bytes.assign(bytes.begin(), bytes.end());
  batch.stride = stride;
  batch.from = from;
  return true;
}

std::optional<Underlay::Received> InProcessUnderlay::receive() {
  if (count_ == 0) return std::nullopt;
  // The slot is not written again before the next call: put() leaves one slot free.
  const Batch& batch = ring_[first_];
  first_ = (first_ + 1) % ring_.size();
  --count_;
  return Received{batch.bytes, batch.stride, batch.from};
}

void InProcessUnderlay::clear() {
  count_ = 0;
  for (Batch& batch : ring_) batch = Batch();
}

std::size_t InProcessUnderlay::datagram_bytes_max(const PeerAddress&) const {
  return hub_.config().datagram_bytes_max;
}

std::size_t InProcessUnderlay::receive_buffer_bytes() const {
  return hub_.config().receive_buffer_bytes;
}

std::string InProcessUnderlay::name_of(const PeerAddress& peer) const {
  return "endpoint " + std::to_string(number_of(peer));
}

}  // namespace splitnic::fabric
