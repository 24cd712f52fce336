#include "fabric_emul/underlay/fault_underlay.h"

#include <algorithm>

namespace splitnic::fabric {
namespace {

constexpr std::size_t kHeldMax = 65536;

// For std heaps, whose front is the largest.
template <class Held>
bool later(const Held& a, const Held& b) {
  return a.due != b.due ? a.due > b.due : a.order > b.order;
}

}  // namespace

FaultUnderlay::FaultUnderlay(Underlay& below, base::Random& random, base::Clock& clock,
                             const FaultConfig& config)
    : UnderlayDecorator(below), random_(random), clock_(clock), config_(config) {}

void FaultUnderlay::set_cut(bool cut) {
  cut_ = cut;
  if (cut) held_.clear();
}

Underlay::SendStatus FaultUnderlay::send(const PeerAddress& to, base::Bytes bytes,
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

bool FaultUnderlay::may_lose() const {
  return config_.loss_ppm != 0 || drop_received_ || burst_left_ != 0;
}

bool FaultUnderlay::may_change() const {
  return config_.duplicate_ppm != 0 || config_.reorder_ppm != 0 || config_.corrupt_ppm != 0 ||
         config_.truncate_ppm != 0 || config_.delay != base::Duration::zero() ||
         config_.jitter != base::Duration::zero();
}

std::optional<Underlay::Received> FaultUnderlay::receive() {
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

bool FaultUnderlay::is_lost(base::Bytes datagram) {
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
std::optional<Underlay::Received> FaultUnderlay::survivors(const Received& batch) {
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
void FaultUnderlay::take(const Received& batch) {
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

void FaultUnderlay::pass(base::Bytes datagram, const Received& batch) {
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

void FaultUnderlay::hold(base::Time due, base::Bytes bytes, std::size_t stride,
                         const PeerAddress& from) {
  if (held_.size() >= kHeldMax) {
    counts_.lost += (bytes.size() + stride - 1) / stride;
    return;
  }
  held_.push_back({due, next_order_++, {bytes.begin(), bytes.end()}, stride, from});
  std::push_heap(held_.begin(), held_.end(), later<Held>);
}

std::optional<Underlay::Received> FaultUnderlay::release() {
  if (held_.empty() || held_.front().due > clock_.now()) return std::nullopt;
  std::pop_heap(held_.begin(), held_.end(), later<Held>);
  current_ = std::move(held_.back());
  held_.pop_back();
  return Received{current_.bytes, current_.stride, current_.from};
}

base::Time FaultUnderlay::deadline() const {
  const base::Time below = below_.deadline();
  return held_.empty() ? below : std::min(below, held_.front().due);
}

}  // namespace splitnic::fabric
