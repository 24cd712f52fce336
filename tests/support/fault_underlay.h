// A decorator that injects the faults of networks: loss (single and in bursts), duplication,
// reordering, delay, flipped bits, truncation, garbled datagrams; and those of tests: a predicate
// that drops, a cut cable, a forged report of a narrow path. Faults apply on receipt (drop_sent on
// sending), to each datagram of a batch; the remaining datagrams of a batch stay one batch. All
// chance comes from one seeded Random: same seed, same faults. Thread: the owner of the underlay
// below.
#pragma once

#include <algorithm>
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
  std::uint32_t garble_ppm = 0;  // one of Garble
};

enum class Garble : std::uint8_t {
  kBits,     // one to three are flipped
  kBurst,    // up to 32 bits in a row become others
  kShorter,  // its end is missing
  kLonger,   // other bytes are behind it
  kAll,      // each byte becomes another
  kHeader,   // the first 16 to 48 bytes become others
  kCount_
};

struct FaultCounts {
  std::uint64_t seen = 0, lost = 0, duplicated = 0, reordered = 0, corrupted = 0, truncated = 0,
                garbled = 0;
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
  void garble(std::vector<std::byte>& datagram);
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

inline constexpr std::size_t kFaultsHeldMax = 65536;

// For std heaps, whose front is the largest.
template <class Held>
inline bool is_due_later(const Held& a, const Held& b) {
  return a.due != b.due ? a.due > b.due : a.order > b.order;
}

inline FaultUnderlay::FaultUnderlay(Underlay& below, base::Random& random, base::Clock& clock,
                                    const FaultConfig& config)
    : UnderlayDecorator(below), random_(random), clock_(clock), config_(config) {}

inline void FaultUnderlay::set_cut(bool cut) {
  cut_ = cut;
  if (cut) held_.clear();
}

inline Underlay::SendStatus FaultUnderlay::send(const PeerAddress& to, base::Bytes bytes,
                                                std::size_t stride) {
  if (cut_) return SendStatus::kSent;
  if (!drop_sent_) return below_.send(to, bytes, stride);
  std::vector<std::byte> left;
  for (std::size_t at = 0; at < bytes.size(); at += stride) {
    const base::Bytes datagram = bytes.subspan(at, std::min(stride, bytes.size() - at));
    if (!drop_sent_(datagram)) left.insert(left.end(), datagram.begin(), datagram.end());
  }
  return left.empty() ? SendStatus::kSent : below_.send(to, left, stride);
}

inline bool FaultUnderlay::may_lose() const {
  return config_.loss_ppm != 0 || drop_received_ || burst_left_ != 0;
}

inline bool FaultUnderlay::may_change() const {
  return config_.duplicate_ppm != 0 || config_.reorder_ppm != 0 || config_.corrupt_ppm != 0 ||
         config_.truncate_ppm != 0 || config_.garble_ppm != 0 ||
         config_.delay != base::Duration::zero() || config_.jitter != base::Duration::zero();
}

inline std::optional<Underlay::Received> FaultUnderlay::receive() {
  for (;;) {
    if (auto due = release()) return due;
    const auto batch = below_.receive();
    if (!batch) return std::nullopt;
    if (cut_) continue;
    if (held_.empty() && is_idle()) return batch;
    if (!held_.empty() || may_change()) {
      take(*batch);
    } else if (auto left = survivors(*batch)) {
      return left;
    }
  }
}

inline bool FaultUnderlay::is_lost(base::Bytes datagram) {
  if (drop_received_ && drop_received_(datagram)) return true;
  if (burst_left_ == 0 && config_.loss_ppm != 0 && random_.chance_ppm(config_.loss_ppm)) {
    burst_left_ = std::max(1U, config_.loss_burst);
  }
  if (burst_left_ == 0) return false;
  --burst_left_;
  return true;
}

// Loss only: a batch without a lost datagram passes without a copy, so that a benchmark measures
// the cost of loss alone.
inline std::optional<Underlay::Received> FaultUnderlay::survivors(const Received& batch) {
  const std::size_t stride = std::max<std::size_t>(batch.stride, 1);
  bool is_whole = true;
  for (std::size_t at = 0; at < batch.bytes.size(); at += stride) {
    const base::Bytes datagram = batch.bytes.subspan(at, std::min(stride, batch.bytes.size() - at));
    ++counts_.seen;
    if (is_lost(datagram)) {
      ++counts_.lost;
      const base::Bytes before = batch.bytes.first(at);
      if (is_whole) passed_.assign(before.begin(), before.end());
      is_whole = false;
    } else if (!is_whole) {
      passed_.insert(passed_.end(), datagram.begin(), datagram.end());
    }
  }
  if (is_whole) return batch;
  if (passed_.empty()) return std::nullopt;
  return Received{passed_, stride, batch.from};
}

// Remaining datagrams are gathered in passed_ and delayed as one batch; others are delayed alone.
inline void FaultUnderlay::take(const Received& batch) {
  passed_.clear();
  const std::size_t stride = std::max<std::size_t>(batch.stride, 1);
  for (std::size_t at = 0; at < batch.bytes.size(); at += stride) {
    const base::Bytes datagram = batch.bytes.subspan(at, std::min(stride, batch.bytes.size() - at));
    ++counts_.seen;
    if (is_lost(datagram)) {
      ++counts_.lost;
      continue;
    }
    pass(datagram, batch);
  }
  if (passed_.empty()) return;
  base::Duration wait = config_.delay;
  if (config_.jitter > base::Duration::zero()) {
    wait += base::Duration(random_.below(static_cast<std::uint64_t>(config_.jitter.count())));
  }
  hold(clock_.now() + wait, passed_, stride, batch.from);
}

inline void FaultUnderlay::pass(base::Bytes datagram, const Received& batch) {
  const base::Time soon = clock_.now() + config_.delay;
  const auto happens = [this](std::uint32_t ppm) { return ppm != 0 && random_.chance_ppm(ppm); };
  if (happens(config_.duplicate_ppm)) {
    ++counts_.duplicated;
    hold(soon, datagram, datagram.size(), batch.from);
  }
  if (happens(config_.truncate_ppm)) {
    ++counts_.truncated;
    const base::Bytes rest = datagram.first(random_.below(datagram.size()));
    if (!rest.empty()) hold(soon, rest, rest.size(), batch.from);
    return;
  }
  if (happens(config_.garble_ppm)) {
    ++counts_.garbled;
    std::vector<std::byte> other(datagram.begin(), datagram.end());
    garble(other);
    if (!other.empty()) hold(soon, other, other.size(), batch.from);
    return;
  }
  if (happens(config_.reorder_ppm)) {
    ++counts_.reordered;
    hold(soon + config_.reorder_delay, datagram, datagram.size(), batch.from);
    return;
  }
  passed_.insert(passed_.end(), datagram.begin(), datagram.end());
  if (happens(config_.corrupt_ppm)) {
    ++counts_.corrupted;
    const std::size_t bit = random_.below(datagram.size() * 8);
    passed_[passed_.size() - datagram.size() + bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

inline void FaultUnderlay::garble(std::vector<std::byte>& datagram) {
  const auto flip = [&](std::size_t bit) { datagram[bit / 8] ^= std::byte{1} << (bit % 8); };
  const auto become_others = [&](std::size_t from) {
    for (std::size_t i = from; i < datagram.size(); ++i)
      datagram[i] = static_cast<std::byte>(random_.below(256));
  };
  switch (static_cast<Garble>(random_.below(static_cast<std::uint64_t>(Garble::kCount_)))) {
    case Garble::kBits:
      for (auto left = 1 + random_.below(3); left > 0; --left)
        flip(random_.below(datagram.size() * 8));
      break;
    case Garble::kBurst: {
      const std::size_t first = random_.below(datagram.size() * 8);
      flip(first);
      for (std::size_t i = first + 1; i < std::min(first + 32, datagram.size() * 8); ++i)
        if (random_.below(2) == 0) flip(i);
      break;
    }
    case Garble::kShorter:
      datagram.resize(random_.below(datagram.size()));
      break;
    case Garble::kLonger: {
      const std::size_t before = datagram.size();
      datagram.resize(before + 1 + random_.below(200));
      become_others(before);
      break;
    }
    case Garble::kAll:
      become_others(0);
      break;
    case Garble::kHeader: {
      const std::size_t end = std::min<std::size_t>(16 + random_.below(33), datagram.size());
      for (std::size_t i = 0; i < end; ++i)
        datagram[i] = static_cast<std::byte>(random_.below(256));
      break;
    }
    case Garble::kCount_:
      break;
  }
}

inline void FaultUnderlay::hold(base::Time due, base::Bytes bytes, std::size_t stride,
                                const PeerAddress& from) {
  if (held_.size() >= kFaultsHeldMax) {
    counts_.lost += (bytes.size() + stride - 1) / stride;
    return;
  }
  held_.push_back({due, next_order_++, {bytes.begin(), bytes.end()}, stride, from});
  std::push_heap(held_.begin(), held_.end(), is_due_later<Held>);
}

inline std::optional<Underlay::Received> FaultUnderlay::release() {
  if (held_.empty() || held_.front().due > clock_.now()) return std::nullopt;
  std::pop_heap(held_.begin(), held_.end(), is_due_later<Held>);
  current_ = std::move(held_.back());
  held_.pop_back();
  return Received{current_.bytes, current_.stride, current_.from};
}

inline base::Time FaultUnderlay::deadline() const {
  const base::Time below = below_.deadline();
  return held_.empty() ? below : std::min(below, held_.front().due);
}

}  // namespace splitnic::fabric
