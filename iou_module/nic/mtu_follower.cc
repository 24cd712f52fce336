#include "iou_module/nic/mtu_follower.h"

#include <algorithm>

#include "base/log.h"

namespace splitnic::iou {

base::Status MtuFollower::request(std::uint32_t mtu, const AttachedHost& host, base::Time now) {
  wanted_ = mtu;
  by_ = host.identity().node();
  return now >= not_before_ ? set(now) : base::Status();
}

void MtuFollower::on_return(base::Time now) {
  for (const auto& host : hosts_) {
    if (host->has_ended() || !host->nic().started) continue;
    wanted_ = std::max(wanted_, host->nic().mtu_wanted);
  }
  not_before_ = now;
  step(now);
}

bool MtuFollower::step(base::Time now) {
  if (wanted_ == 0 || now < not_before_) return false;
  const std::uint32_t before = lan_.state().mtu;
  if (const auto done = set(now); !done) base::log_warn(done.error().within("MTU").text());
  return lan_.state().mtu != before;
}

base::Status MtuFollower::set(base::Time now) {
  const std::uint32_t mtu = std::max(wanted_, mtu_of_others());
  wanted_ = 0;
  if (lan_.state().mtu == mtu) return {};
  not_before_ = now + kInterval;
  return lan_.set_mtu(mtu);
}

std::uint32_t MtuFollower::mtu_of_others() const {
  std::uint32_t most = 0;
  for (const auto& host : hosts_) {
    if (host->identity().node() == by_ || host->has_ended() || !host->nic().started) continue;
    most = std::max(most, host->nic().mtu);
  }
  return most;
}

}  // namespace splitnic::iou
