#include "iou_module/nic/nic_ownership.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "control/config/values.h"

namespace splitnic::iou {

const AttachedHost* NicOwnership::owner() const {
  const AttachedHost* found = nullptr;
  for (const auto& host : hosts_) {
    if (host->has_ended() || host->asks_any_nic()) continue;
    if (found == nullptr || host->is_usable()) found = host.get();
  }
  return found;
}

std::optional<NicOwnership::Holder> NicOwnership::holder(const HostId& asking) const {
  if (!rules_.is_exclusive) return std::nullopt;
  std::optional<Holder> found;
  if (const AttachedHost* here = owner()) {
    found = {here->identity().node(), here->identity().name()};
  } else if (last_) {
    found = last_->holder;
  } else if (const auto other = hosts_.other_neighbour(asking); other && !rules_.is_queue_0) {
    found = {*other, ""};
  }
  return found && found->node != asking ? found : std::nullopt;
}

bool NicOwnership::step(base::Time now) {
  if (!rules_.is_exclusive) return false;
  const AttachedHost* now_owner = owner();
  if (std::exchange(owner_, now_owner) != now_owner) is_due_ = true;
  if (waits_for_last(now) || !is_due_ || lan_.is_gone()) return false;
  is_due_ = false;
  const bool has_changed = rules_.mac_follows && follow_mac(now);
  set_filter();
  return has_changed;
}

bool NicOwnership::waits_for_last(base::Time now) {
  if (owner_ != nullptr && (owner_->nic().mac || owner_->nic().started)) {
    if (!last_ || last_->holder.node != owner_->identity().node()) refused_.reset();
    last_ = {{owner_->identity().node(), owner_->identity().name()}, base::kNever};
    return false;
  }
  if (!last_) return false;
  if (last_->until == base::kNever) last_->until = now + kReservedFor;
  if (now < last_->until) return true;
  last_.reset();
  is_due_ = true;
  return false;
}

base::Time NicOwnership::deadline() const {
  if (!rules_.is_exclusive) return base::kNever;
  if (last_ && last_->until != base::kNever) return last_->until;
  return is_due_ && !lan_.is_gone() ? not_before_ : base::kNever;
}

void NicOwnership::on_return() {
  former_.reset();
  refused_.reset();
  is_due_ = true;
}

void NicOwnership::end() {
  if (!former_ || lan_.is_gone()) return;
  if (const auto set = set_mac(lan_.state().mac, *former_); !set) {
    base::log_warn(set.error().text());
  }
}

bool NicOwnership::follow_mac(base::Time now) {
  const lan::MacAddress current = lan_.state().mac;
  const lan::MacAddress wanted = mac_wanted(current);
  if (wanted == current || wanted == refused_) return false;
  if (now < not_before_) {
    is_due_ = true;
    return false;
  }
  not_before_ = now + kInterval;
  const auto set = set_mac(current, wanted);
  refused_ = set ? std::nullopt : std::optional(wanted);
  if (!set) {
    base::log_warn(set.error().text() +
                   (owner_ != nullptr ? ": the NIC receives for " + control::mac_text(wanted) +
                                            " besides its own address"
                                      : ""));
  }
  return set.has_value();
}

lan::MacAddress NicOwnership::mac_wanted(const lan::MacAddress& current) const {
  if (owner_ != nullptr && owner_->nic().mac) return *owner_->nic().mac;
  return former_.value_or(current);
}

base::Status NicOwnership::set_mac(const lan::MacAddress& current, const lan::MacAddress& wanted) {
  if (auto set = lan_.set_mac(wanted); !set) {
    return set.error().within(lan_.name() + ": the address stays " + control::mac_text(current));
  }
  if (!former_) former_ = current;
  const bool is_former = wanted == *former_;
  if (is_former) former_.reset();
  base::log_info(lan_.name() + " has the address " + control::mac_text(wanted) +
                 (is_former ? ", as before its owner came" : ", that of its owner"));
  return {};
}

void NicOwnership::set_filter() {
  const lan::ReceiveFilter wanted = filter_wanted();
  if (wanted == filter_) return;
  filter_ = wanted;
  if (const auto set = lan_.set_receive_filter(wanted); !set) {
    base::log_warn(set.error().within(lan_.name()).text() +
                   ": it may receive less than its owner asks for");
  }
}

lan::ReceiveFilter NicOwnership::filter_wanted() const {
  lan::ReceiveFilter filter;
  if (owner_ == nullptr || !owner_->nic().started) return filter;
  const Filter& asked = owner_->nic().filter;
  filter.promiscuous = asked.promiscuous;
  filter.all_multicast = asked.all_multicast && !asked.no_multicast;
  if (!asked.all_multicast && !asked.no_multicast) filter.multicast = asked.multicast;
  if (!asked.no_unicast) filter.unicast = owner_->nic().addresses();
  std::ranges::sort(filter.unicast);
  std::erase(filter.unicast, lan_.state().mac);
  return filter;
}

}  // namespace splitnic::iou
