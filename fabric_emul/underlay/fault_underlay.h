// A decorator that injects the faults of networks: loss (single and in bursts), duplication,
// reordering, delay, flipped bits, truncation; and those of tests: a predicate that drops, a cut
// cable, a forged report of a narrow path. Faults apply on receipt (drop_sent on sending), to each
// datagram of a batch; the remaining datagrams of a batch stay one batch. All chance comes from one
// seeded Random: same seed, same faults. Thread: the owner of the underlay below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/underlay/underlay_decorator.h"

namespace splitnic::fabric {

// Chances are per million datagrams.
struct FaultConfig {
  std::uint32_t loss_ppm = 0;
  unsigned loss_burst = 1;  // datagrams lost in a row each time
  std::uint32_t duplicate_ppm = 0;
  std::uint32_t reorder_ppm = 0;  // held back by reorder_delay
  base::Duration reorder_delay = std::chrono::microseconds(500);
  base::Duration delay{};         // of every datagram
  base::Duration jitter{};        // plus [0, jitter) per batch
  std::uint32_t corrupt_ppm = 0;  // one bit is flipped
  std::uint32_t truncate_ppm = 0;
};

struct FaultCounts {
  std::uint64_t seen = 0, lost = 0, duplicated = 0, reordered = 0, corrupted = 0, truncated = 0;
};

class FaultUnderlay final : public UnderlayDecorator {
 public:
  using Predicate = std::function<bool(base::Bytes datagram)>;

  FaultUnderlay(Underlay& below, base::Random& random, base::Clock& clock,
                const FaultConfig& config = {});

  void set_config(const FaultConfig& config) { config_ = config; }
  // Drops the datagrams for which the predicate returns true; an empty function drops nothing.
  void drop_received(Predicate predicate) { drop_received_ = std::move(predicate); }
  void drop_sent(Predicate predicate) { drop_sent_ = std::move(predicate); }
  // While cut, nothing passes in either direction, and delayed datagrams are lost.
  void set_cut(bool cut);
  void report_too_long() { is_too_long_reported_ = true; }
  const FaultCounts& counts() const { return counts_; }

  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override;
  std::optional<Received> receive() override;
  bool take_too_long_report() override { return std::exchange(is_too_long_reported_, false); }
  // Returns when the next delayed datagram is due.
  base::Time deadline() const override;

 private:
  struct Held {
    base::Time due;
    std::uint64_t order = 0;
    std::vector<std::byte> bytes;
    std::size_t stride = 0;
    PeerAddress from;
  };
  bool is_idle() const { return !may_lose() && !may_change(); }
  bool may_lose() const;
  bool may_change() const;
  bool is_lost(base::Bytes datagram);
  std::optional<Received> survivors(const Received& batch);
  void take(const Received& batch);
  void pass(base::Bytes datagram, const Received& batch);
  void hold(base::Time due, base::Bytes bytes, std::size_t stride, const PeerAddress& from);
  std::optional<Received> release();

  base::Random& random_;
  base::Clock& clock_;
  FaultConfig config_;
  FaultCounts counts_;
  Predicate drop_received_, drop_sent_;
  bool cut_ = false;
  bool is_too_long_reported_ = false;
  unsigned burst_left_ = 0;
  std::uint64_t next_order_ = 0;
  std::vector<Held> held_;         // heap, the earliest first
  std::vector<std::byte> passed_;  // the remaining datagrams of the current batch
  Held current_;                   // the batch that receive() returned
};

}  // namespace splitnic::fabric
