#include "fabric_emul/link/path_probe.h"

namespace splitnic::fabric {
namespace {

using namespace std::chrono_literals;
// Known within 1.5 s: 0.2 + 12 x 0.1; in a hurry within 0.7 s. Hurried rounds are as many, so that
// nobody who reports a narrow path makes it easier for losses to look like one.
constexpr base::Duration kFirst = 200ms;
constexpr base::Duration kRound = 100ms;
constexpr base::Duration kHurriedRound = 50ms;
constexpr unsigned kMissedMax = 12;    // then the path is narrower
constexpr unsigned kSearchAfter = 8;   // from then on lengths between are probed
constexpr unsigned kHurriedAfter = 1;  // the same in a hurry
constexpr unsigned kRoundsMax = 40;    // a path that loses nearly all datagrams shows nothing

}  // namespace

void PathProbe::start(std::size_t full) {
  go_idle();
  full_ = full;
  narrowed_.reset();
}

void PathProbe::go_idle() {
  due_ = base::kNever;
  nonce_ = 0;
  is_hurried_ = false;
  rounds_ = missed_ = 0;
  replied_ = 0;
}

void PathProbe::on_long_sent(base::Time now) {
  if (due_ == base::kNever) due_ = now + kFirst;
}

void PathProbe::hurry(base::Time now) {
  if (nonce_ == 0) due_ = now;  // the rounds of one run stay apart
  is_hurried_ = true;
}

std::span<const PathProbe::Probe> PathProbe::on_time(base::Time now, base::Random& random) {
  if (nonce_ == 0) {
    nonce_ = random.next() | 1U << 8;
  } else {
    if (has(kFull) || rounds_ >= kRoundsMax) {
      go_idle();
      return {};
    }
    if (has(kShort) && ++missed_ == kMissedMax) {
      conclude();
      return {};
    }
  }
  const bool searches = missed_ >= (is_hurried_ ? kHurriedAfter : kSearchAfter);
  replied_ &= ~(1U << kShort);
  ++rounds_;
  due_ = now + (is_hurried_ ? kHurriedRound : kRound);
  std::size_t count = 0;
  out_[count++] = {nonce_ + kFull, full_};
  out_[count++] = {nonce_ + kShort, 0};
  for (std::size_t i = 0; searches && i < kLengths.size(); ++i) {
    if (kLengths[i] < full_) out_[count++] = {nonce_ + kFirstLength + i, kLengths[i]};
  }
  return std::span<const Probe>(out_).first(count);
}

void PathProbe::on_reply(std::uint64_t nonce) {
  const std::uint64_t which = nonce - nonce_;
  if (nonce_ != 0 && which < kProbesMax) replied_ |= 1U << which;
}

void PathProbe::conclude() {
  for (std::size_t i = 0; i < kLengths.size() && !narrowed_; ++i) {
    if (has(kFirstLength + i)) narrowed_ = kLengths[i];
  }
  go_idle();
}

std::optional<std::size_t> PathProbe::take_narrowed() {
  const auto taken = narrowed_;
  narrowed_.reset();
  return taken;
}

}  // namespace splitnic::fabric
