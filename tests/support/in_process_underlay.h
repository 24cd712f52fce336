// Endpoints joined in memory: for tests, the simulator and benchmarks of everything above. No
// clock, no thread, no randomness; a batch arrives as it was sent. Batches beyond the queue's bound
// are refused with kBlocked, or dropped as by a full socket buffer. Thread: one for the hub and all
// its endpoints.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/endian.h"
#include "fabric_emul/underlay/underlay.h"

namespace splitnic::fabric {

class InProcessHub;

class InProcessUnderlay final : public Underlay {
 public:
  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override;
  std::optional<Received> receive() override;
  PathKind path_kind(const PeerAddress&) const override { return path_kind_; }
  std::size_t datagram_bytes_max(const PeerAddress& to) const override;
  std::size_t receive_buffer_bytes() const override;
  std::string name_of(const PeerAddress& peer) const override;

  const PeerAddress& address() const { return address_; }
  std::size_t queued_batches() const { return count_; }
  // Drops the batches that wait, as the end of a process does.
  void clear();
  // While not plugged in nothing arrives, and senders to it get kRefused.
  void set_plugged(bool plugged) { plugged_ = plugged; }
  // Everything that it sends counts as sent over such a path.
  void set_path_kind(PathKind kind) { path_kind_ = kind; }

 private:
  friend class InProcessHub;
  struct Batch {
    std::vector<std::byte> bytes;  // keeps its capacity
    std::size_t stride = 0;
    PeerAddress from;
  };
  InProcessUnderlay(InProcessHub& hub, std::uint32_t number);
  bool put(const PeerAddress& from, base::Bytes bytes, std::size_t stride);

  InProcessHub& hub_;
  PeerAddress address_;
  std::vector<Batch> ring_;  // one slot more than the bound: the batch that receive() gave out
  std::size_t first_ = 0, count_ = 0;
  bool plugged_ = true;
  PathKind path_kind_ = PathKind::kMemory;
};

struct InProcessConfig {
  std::size_t datagram_bytes_max = 1472;
  std::size_t batch_queue_max = 64;  // batches that wait at one endpoint
  bool drops_when_full = false;      // false: the sender gets kBlocked
  std::size_t receive_buffer_bytes = 4 << 20;
};

class InProcessHub {
 public:
  explicit InProcessHub(const InProcessConfig& config = {}) : config_(config) {}
  // Lives as long as the hub.
  InProcessUnderlay& add_endpoint();
  // For tests of a path that narrows. REQUIRES bytes > 0.
  void set_datagram_bytes_max(std::size_t bytes) { config_.datagram_bytes_max = bytes; }
  // Returns the address of an endpoint, which need not exist.
  static PeerAddress address_of(std::uint32_t number);

 private:
  friend class InProcessUnderlay;
  InProcessUnderlay* find(const PeerAddress& address);

  InProcessConfig config_;
  std::vector<std::unique_ptr<InProcessUnderlay>> endpoints_;
};

inline std::uint32_t in_process_number_of(const PeerAddress& address) {
  return base::load_be<std::uint32_t>(address.bytes.data());
}

inline PeerAddress InProcessHub::address_of(std::uint32_t number) {
  PeerAddress address;
  base::store_be(address.bytes.data(), number);
  return address;
}

inline InProcessUnderlay& InProcessHub::add_endpoint() {
  const auto number = static_cast<std::uint32_t>(endpoints_.size() + 1);
  endpoints_.push_back(std::unique_ptr<InProcessUnderlay>(new InProcessUnderlay(*this, number)));
  return *endpoints_.back();
}

inline InProcessUnderlay* InProcessHub::find(const PeerAddress& address) {
  const std::uint32_t number = in_process_number_of(address);
  return number >= 1 && number <= endpoints_.size() ? endpoints_[number - 1].get() : nullptr;
}

inline InProcessUnderlay::InProcessUnderlay(InProcessHub& hub, std::uint32_t number)
    : hub_(hub),
      address_(InProcessHub::address_of(number)),
      ring_(hub.config_.batch_queue_max + 1) {}

inline Underlay::SendStatus InProcessUnderlay::send(const PeerAddress& to, base::Bytes bytes,
                                                    std::size_t stride) {
  CHECK(stride > 0 && bytes.size() <= batch_bytes_max());
  if (std::min(stride, bytes.size()) > hub_.config_.datagram_bytes_max) {
    return SendStatus::kTooLong;
  }
  InProcessUnderlay* peer = hub_.find(to);
  if (peer == nullptr || !peer->plugged_ || !plugged_) return SendStatus::kRefused;
  if (peer->put(address_, bytes, stride)) return SendStatus::kSent;
  return hub_.config_.drops_when_full ? SendStatus::kSent : SendStatus::kBlocked;
}

inline bool InProcessUnderlay::put(const PeerAddress& from, base::Bytes bytes, std::size_t stride) {
  if (count_ >= ring_.size() - 1) return false;
  Batch& batch = ring_[(first_ + count_++) % ring_.size()];
  batch.bytes.assign(bytes.begin(), bytes.end());
  batch.stride = stride;
  batch.from = from;
  return true;
}

inline std::optional<Underlay::Received> InProcessUnderlay::receive() {
  if (count_ == 0) return std::nullopt;
  // The slot is not written again before the next call: put() leaves one slot free.
  const Batch& batch = ring_[first_];
  first_ = (first_ + 1) % ring_.size();
  --count_;
  return Received{batch.bytes, batch.stride, batch.from};
}

inline void InProcessUnderlay::clear() { count_ = 0; }

inline std::size_t InProcessUnderlay::datagram_bytes_max(const PeerAddress&) const {
  return hub_.config_.datagram_bytes_max;
}

inline std::size_t InProcessUnderlay::receive_buffer_bytes() const {
  return hub_.config_.receive_buffer_bytes;
}

inline std::string InProcessUnderlay::name_of(const PeerAddress& peer) const {
  return "endpoint " + std::to_string(in_process_number_of(peer));
}

}  // namespace splitnic::fabric
