// Endpoints joined in memory: for tests, the simulator and benchmarks of everything above. No
// clock, no thread, no randomness; a batch arrives as it was sent. Datagrams beyond the queue's
// bound are refused with kBlocked, or dropped like a full socket buffer does. Thread: one for the
// hub and all its endpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "fabric_emul/underlay/underlay.h"

namespace splitnic::fabric {

class InProcessHub;

class InProcessUnderlay final : public Underlay {
 public:
  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override;
  std::optional<Received> receive() override;
  std::size_t datagram_bytes_max(const PeerAddress& to) const override;
  std::size_t receive_buffer_bytes() const override;
  std::string name_of(const PeerAddress& peer) const override;

  const PeerAddress& address() const { return address_; }
  std::size_t queued_batches() const { return count_; }
  // Throws away what waits, as the end of a process does.
  void clear();
  // Not plugged in: nothing arrives, senders to it get kRefused.
  void set_plugged(bool plugged) { plugged_ = plugged; }

 private:
  friend class InProcessHub;
  struct Batch {
    std::vector<std::byte> bytes;  // keeps its capacity from use to use
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
};

struct InProcessConfig {
  std::size_t datagram_bytes_max = 1472;
  std::size_t batch_queue_max = 64;  // batches that wait at one endpoint
  bool drops_when_full = false;      // false: the sender is told kBlocked
  std::size_t receive_buffer_bytes = 4 << 20;
};

class InProcessHub {
 public:
  explicit InProcessHub(const InProcessConfig& config = {}) : config_(config) {}
  // Lives as long as the hub.
  InProcessUnderlay& add_endpoint();
  // From now on; REQUIRES > 0. For tests of a path that narrows.
  void set_datagram_bytes_max(std::size_t bytes) { config_.datagram_bytes_max = bytes; }
  std::uint64_t dropped_batches() const { return dropped_; }
  // The address of an endpoint that need not exist.
  static PeerAddress address_of(std::uint32_t number);

 private:
  friend class InProcessUnderlay;
  InProcessUnderlay* find(const PeerAddress& address);

  InProcessConfig config_;
  std::vector<std::unique_ptr<InProcessUnderlay>> endpoints_;
  std::uint64_t dropped_ = 0;
};

}  // namespace splitnic::fabric
