#include "iou_module/nic_ownership.h"

#include <algorithm>

#include "base/log.h"
#include "control/values.h"

namespace splitnic::iou {

const AttachedHost* NicOwnership::owner() const {
  if (!rules_.is_exclusive) return nullptr;
  const auto at = std::ranges::find_if(hosts_, [](const auto& host) { return !host->has_ended(); });
  return at == hosts_.end() ? nullptr : at->get();
}

bool NicOwnership::step(base::Time now) {
  if (!rules_.is_exclusive) return false;
  const AttachedHost* now_owner = owner();
  if (std::exchange(owner_, now_owner) != now_owner) is_due_ = true;
  if (!is_due_ || lan_.is_gone()) return false;
  is_due_ = false;
  const bool has_changed = rules_.mac_follows && follow_mac(now);
  set_filter();
  return has_changed;
}

base::Time NicOwnership::deadline() const {
  return rules_.is_exclusive && is_due_ && !lan_.is_gone() ? not_before_ : base::kNever;
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
    base::log_warn(set.error().text() + ": the NIC receives for " + control::mac_text(wanted) +
                   " besides its own address");
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
