// Endpoints joined in memory: for tests, the simulator and benchmarks of everything above. No
// clock, no thread, no randomness; a batch arrives as it was sent. Batches beyond the queue's bound
// are refused with kBlocked, or dropped as by a full socket buffer. Thread: one for the hub and all
// its endpoints.
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
  // Made by the hub, which outlives it.
  InProcessUnderlay(InProcessHub& hub, std::uint32_t number);

  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override;
  std::optional<Received> receive() override;
  PathKind path_kind(const PeerAddress&) const override { return path_kind_; }
  std::size_t datagram_bytes_max(const PeerAddress& to) const override;
  std::size_t receive_buffer_bytes() const override;
  std::string name_of(const PeerAddress& peer) const override;

  const PeerAddress& address() const { return address_; }
  std::size_t queued_batches() const { return count_; }
  // Drops the batches that wait, as the end of a process does, and the memory that it keeps for
  // batches.
  void clear();
  // While not plugged in nothing arrives, and senders to it get kRefused.
  void set_plugged(bool plugged) { plugged_ = plugged; }
  // Everything that it sends counts as sent over such a path.
  void set_path_kind(PathKind kind) { path_kind_ = kind; }

 private:
  struct Batch {
    std::vector<std::byte> bytes;  // keeps its capacity
    std::size_t stride = 0;
    PeerAddress from;
  };
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
  // Null if there is no such endpoint.
  InProcessUnderlay* find(const PeerAddress& address);
  const InProcessConfig& config() const { return config_; }

 private:
  InProcessConfig config_;
  std::vector<std::unique_ptr<InProcessUnderlay>> endpoints_;
};

}  // namespace splitnic::fabric
