#include "tests/sim/loss/bottleneck.h"

#include <algorithm>

#include "base/check.h"
#include "fabric_emul/underlay/in_process_underlay.h"

namespace splitnic::sim {
namespace {

constexpr std::uint64_t kNanosecondsASecond = 1'000'000'000;

}  // namespace

Bottleneck::Bottleneck(std::uint32_t number, base::Clock& clock, base::Random& random)
    : address_(fabric::InProcessHub::address_of(number)), clock_(clock), random_(random) {}

bool Bottleneck::has_arrived() { return !arriving_.empty() && arriving_[0].at <= clock_.now(); }

// The buffer holds what the line has not sent yet.
bool Bottleneck::has_room(std::size_t bytes) const {
  const base::Time now = clock_.now();
  if (line_free_ <= now) return true;
  const auto busy = static_cast<std::uint64_t>(base::Duration(line_free_ - now).count());
  const std::uint64_t waiting = busy * config_.bytes_a_second / kNanosecondsASecond;
  return waiting + bytes <= config_.buffer_bytes;
}

fabric::Underlay::SendStatus Bottleneck::send(const fabric::PeerAddress&, base::Bytes bytes,
                                              std::size_t stride) {
  CHECK(other_ != nullptr && stride > 0);
  if (std::min(stride, bytes.size()) > kDatagramBytes) return SendStatus::kTooLong;
  const auto chance = [this] {
    return config_.loss_ppm != 0 && random_.chance_ppm(config_.loss_ppm);
  };
  const bool loses_all = config_.loses_batches && chance();
  for (std::size_t at = 0; at < bytes.size(); at += stride) {
    const base::Bytes datagram = bytes.subspan(at, std::min(stride, bytes.size() - at));
    if (loses_all || (!config_.loses_batches && chance()) || !has_room(datagram.size())) {
      ++dropped_;
    } else {
      carry(datagram);
    }
  }
  return SendStatus::kSent;
}

void Bottleneck::carry(base::Bytes datagram) {
  const base::Duration takes(datagram.size() * kNanosecondsASecond / config_.bytes_a_second);
  line_free_ = std::max(line_free_, clock_.now()) + takes;
  Datagram d{line_free_ + config_.delay, {}};
  if (!other_->spare_.empty()) {
    d.bytes = std::move(other_->spare_.back());
    other_->spare_.pop_back();
  }
  d.bytes.assign(datagram.begin(), datagram.end());
  other_->arriving_.push_back(std::move(d));
}

// Datagrams of one length, of which the last may be shorter.
std::optional<fabric::Underlay::Received> Bottleneck::receive() {
  if (!has_arrived()) return std::nullopt;
  batch_.clear();
  const std::size_t stride = arriving_[0].bytes.size();
  while (has_arrived()) {
    Datagram& d = arriving_[0];
    const std::size_t bytes = d.bytes.size();
    if (bytes > stride || batch_.size() + bytes > batch_bytes_max()) break;
    batch_.insert(batch_.end(), d.bytes.begin(), d.bytes.end());
    spare_.push_back(std::move(d.bytes));
    arriving_.pop_front();
    if (bytes < stride) break;
  }
  return Received{batch_, stride, other_->address_};
}

}  // namespace splitnic::sim
