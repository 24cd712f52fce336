#include "host_module/interface_follower.h"

#include <algorithm>

#include "base/ip6.h"
#include "base/log.h"
#include "control/config/values.h"

namespace splitnic::host {
namespace {

constexpr std::uint32_t kMtuOfNewInterface = 1500;

}  // namespace

// An interface that was there before us may carry an MTU that its user chose.
InterfaceFollower::InterfaceFollower(lan::FramePort& tap, NicSync& sync, const Settings& settings)
    : tap_(tap),
      sync_(sync),
      is_additional_(settings.is_additional),
      keeps_carrier_(settings.keeps_carrier),
      wanted_mtu_(settings.mtu) {
  sync_.wanted = tap_.state();
  has_carrier_ = is_found_with_carrier_ = is_moving_ = keeps_carrier_ && sync_.wanted.link_up;
  if (!wanted_mtu_ && sync_.wanted.mtu != kMtuOfNewInterface) {
    wanted_mtu_ = sync_.wanted.mtu;
    is_mtu_adopted_ = true;
  }
}

void InterfaceFollower::wait_for_return(base::Time now) {
  if (!return_by_) return_by_ = now + kReturnWait;
}

void InterfaceFollower::end_waiting(base::Time now) {
  is_moving_ = false;
  return_by_.reset();
  lose_carrier(now);
}

void InterfaceFollower::on_link_lost(base::Time now) {
  is_link_lost_ = true;
  if (!return_by_) lose_carrier(now);
}

void InterfaceFollower::on_link_back() {
  if (!is_link_lost_) return;
  is_link_lost_ = false;
  is_due_ = true;
}

void InterfaceFollower::read() {
  const lan::PortState before = sync_.wanted;
  sync_.take_interface(tap_.state());
  if (sync_.wanted.mac != before.mac) {
    report(base::EventKind::kMac, "the MAC address is " + control::mac_text(sync_.wanted.mac));
  }
  if (sync_.wanted.mtu != before.mtu) {  // set by the user: our own changes are known at once
    report(base::EventKind::kMtu, "the MTU is " + std::to_string(sync_.wanted.mtu));
    wanted_mtu_ = sync_.wanted.mtu;
    is_mtu_adopted_ = false;
  }
}

void InterfaceFollower::set_wanted_mtu(std::optional<std::uint32_t> mtu) {
  wanted_mtu_ = mtu;
  is_mtu_adopted_ = false;
  if (!mtu) is_due_ = true;  // otherwise the I/O unit may take one that is more than the LAN's now
}

void InterfaceFollower::on_lan_mtu(std::uint32_t mtu) {
  sync_.set_lan_mtu(mtu);
  const bool is_small = mtu < base::kIp6MtuMin;
  if (std::exchange(is_small_mtu_noted_, is_small) || !is_small || is_additional_) return;
  base::log_warn("the LAN of the I/O unit has an MTU of " + std::to_string(mtu) +
                 (mtu < lan::kRequestedMtuMin ? ": ignored, because every host accepts " +
                                                    std::to_string(lan::kRequestedMtuMin) + " bytes"
                                              : ": the interface has no IPv6 with less than " +
                                                    std::to_string(base::kIp6MtuMin)));
}

// An adopted MTU that is the LAN's was set by an earlier run of this program.
void InterfaceFollower::on_lan_mtu_known() {
  if (is_mtu_adopted_ && wanted_mtu_ == sync_.lan_mtu) wanted_mtu_.reset();
  is_mtu_adopted_ = false;
  is_due_ = true;
}

void InterfaceFollower::begin_iteration(base::Time now) {
  if (std::exchange(is_found_with_carrier_, false)) return_by_ = now + kReturnWait;
  if (return_by_ && now >= *return_by_) end_waiting(now);
}

void InterfaceFollower::follow(base::Time now) {
  if (!is_due_ || now < follow_at_) return;
  is_due_ = false;
  const bool is_speed_news = follow_speed();  // first: who follows the carrier reads it then
  if (sync_.is_configured()) is_moving_ = false;
  if (!is_moving_) return_by_.reset();
  const bool is_carrier_news =
      !is_moving_ && !leaves_carrier_ && is_carrier_wanted() != has_carrier_;
  if (is_carrier_news) apply_carrier();
  const bool is_mtu_news = follow_mtu();
  if (is_speed_news || is_mtu_news || is_carrier_news) count_change(now);
}

// A loss that came too early makes the next change wait twice as long.
void InterfaceFollower::count_change(base::Time now) {
  follow_at_ = std::max(follow_at_, now) + kFollowInterval;
}

void InterfaceFollower::lose_carrier(base::Time now) {
  if (!has_carrier_ || is_carrier_wanted() || leaves_carrier_) return;
  apply_carrier();
  count_change(now);
}

void InterfaceFollower::apply_carrier() {
  const bool had_carrier = std::exchange(has_carrier_, is_carrier_wanted());
  if (has_carrier_ != had_carrier) {
    report(has_carrier_ ? base::EventKind::kCarrierOn : base::EventKind::kCarrierOff,
           has_carrier_ ? "it has carrier" : "it has no carrier");
  }
  if (auto done = tap_.set_carrier(has_carrier_); !done) {
    base::log_debug("carrier: " + done.error().text());
  }
}

// The interface shows the speed of the card. A kernel that cannot set it shows another one. Returns
// whether it has changed: the first one delays no carrier.
bool InterfaceFollower::follow_speed() {
  if (is_additional_ || sync_.lan_speed_mbps == 0) return false;
  const std::pair speed{sync_.lan_speed_mbps, sync_.is_lan_full_duplex};
  const auto before = std::exchange(shown_speed_, speed);
  if (before == speed) return false;
  if (auto done = tap_.set_speed(speed.first, speed.second); !done) {
    base::log_debug("speed: " + done.error().text());
  }
  return before.first != 0;
}

// Sets the smaller of the LAN's MTU and the user's, if the user has set one. Returns whether that
// is another one.
bool InterfaceFollower::follow_mtu() {
  const auto mtu_wanted = [this] {
    return std::min(wanted_mtu_.value_or(sync_.lan_mtu), sync_.lan_mtu);
  };
  if (sync_.lan_mtu == 0 || mtu_wanted() == sync_.wanted.mtu) return false;
  read();  // the user may have set another one since
  const std::uint32_t mtu = mtu_wanted();
  if (mtu == sync_.wanted.mtu) return false;
  const auto done = tap_.set_mtu(mtu);
  if (done)
    sync_.wanted.mtu = mtu;
  else
    base::log_warn(done.error().within("MTU").text());
  read();
  if (sync_.wanted.mtu == mtu) {
    report(base::EventKind::kMtu,
           "the MTU is " + std::to_string(mtu) + (mtu == sync_.lan_mtu ? ", that of the LAN" : ""));
  }
  return true;
}

// Of a change that shows on the interface; the queues have one.
void InterfaceFollower::report(base::EventKind kind, const std::string& text) const {
  if (!is_additional_) base::log_info({kind, tap_.name()}, tap_.name() + ": " + text);
}

}  // namespace splitnic::host
