#include "iou_module/nic/mtu_follower.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace splitnic::iou {

base::Status MtuFollower::request(std::uint32_t mtu, AttachedHost& host, base::Time now) {
  wanted_ = mtu;
  by_ = host.identity().node();
  host.nic().mtu_deferred = mtu;
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

// The newest request is carried out even if the NIC refuses what another host waits for.
base::Status MtuFollower::set(base::Time now) {
  const std::uint32_t newest = std::max(std::exchange(wanted_, std::uint32_t{0}), mtu_of_others());
  const std::uint32_t most = std::max(newest, take_deferred());
  base::Status done = change(most, now);
  if (done || most == newest) return done;
  base::log_warn(done.error().within("MTU").text());
  return change(newest, now);
}

base::Status MtuFollower::change(std::uint32_t mtu, base::Time now) {
  if (lan_.state().mtu == mtu) return {};
  not_before_ = now + kInterval;
  return lan_.set_mtu(mtu);
}

std::uint32_t MtuFollower::take_deferred() {
  std::uint32_t most = 0;
  for (const auto& host : hosts_) {
    const std::uint32_t mtu = std::exchange(host->nic().mtu_deferred, std::uint32_t{0});
    if (!host->has_ended()) most = std::max(most, mtu);
  }
  return most;
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
