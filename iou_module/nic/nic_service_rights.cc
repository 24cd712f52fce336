// NicService: the settings of a host compared with its rights.
#include <algorithm>

#include "base/event.h"
#include "base/log.h"
#include "control/config/values.h"
#include "iou_module/nic/nic_service.h"

namespace splitnic::iou {

// Addresses that the host has already stay.
std::optional<Refusal> NicService::check_settings(AttachedHost& host, const NicSettings& settings) {
  if (settings.filter.promiscuous && !host.rights().may_sniff) {
    host.stats().count(AttachedHostCounter::kRefusedPromiscuous);
    if (host.allowance().is_first_sniff_refusal()) {
      const std::string& name = host.identity().name();
      base::log_warn(
          {base::EventKind::kRefused, name},
          "host " + name +
              " may not use promiscuous mode: --grant sniff, or the hosts file, permits it");
    }
    return Refusal::kPromiscuous;
  }
  const auto nic = own_address();
  const std::vector<lan::MacAddress> all = settings.addresses();
  for (const lan::MacAddress& mac : all) {
    if (host.nic().owns(mac)) continue;
    const auto why = addresses_.refusal(host, mac, nic);
    if (!why) continue;
    log_refusal(host, mac, *why);
    return why;
  }
  if (AddressPolicy::excess(host, settings) == 0) return std::nullopt;
  log_refusal(host, all.back(), Refusal::kTooMany);
  return Refusal::kTooMany;
}

AddressPolicy::Own NicService::own_address() const {
  return {lan_.state().mac, policy_.ownership.is_exclusive};
}

// Once for each address: a host asks for it again and again.
void NicService::log_refusal(AttachedHost& host, const lan::MacAddress& mac, Refusal why) {
  host.stats().count(AttachedHostCounter::kRefusedAddress);
  if (!host.allowance().is_new_refusal(mac)) return;
  const std::string& name = host.identity().name();
  base::log_warn({base::EventKind::kRefused, name},
                 "host " + name + " may not have the MAC address " + control::mac_text(mac) + ": " +
                     remedy_of(why));
}

bool NicService::enforce(AttachedHost& host, bool is_new) {
  hosts_.respect_rights(host);
  NicSettings& nic = host.nic();
  const std::string before = nic.state().bytes();
  const auto own = own_address();
  const auto is_refused = [&](const lan::MacAddress& mac) {
    const auto why = addresses_.refusal(host, mac, own);
    return why && (is_new || *why == Refusal::kReserved);
  };
  if (nic.mac && is_refused(*nic.mac)) nic.mac.reset();
  std::erase_if(nic.filter.unicast, is_refused);
  while (AddressPolicy::excess(host, nic) > 0 && !nic.filter.unicast.empty()) {
    nic.filter.unicast.pop_back();
  }
  if (AddressPolicy::excess(host, nic) > 0) nic.mac.reset();
  nic.filter.promiscuous = nic.filter.promiscuous && host.rights().may_sniff;
  const VlanLimit& limit = host.allowance().vlans();
  for (const std::uint16_t id : nic.vlans.list()) {
    if (!limit.may_use(id)) nic.vlans.remove(id);
  }
  nic.is_pvid_chosen = nic.is_pvid_chosen && limit.may_set_pvid(nic.vlans.pvid());
  if (!nic.is_pvid_chosen) nic.vlans.set_pvid(limit.pvid_default());
  if (host.rights().sl && !nic.qos.empty()) {
    nic.qos = {};
    host.tx().on_settings();
  }
  return nic.state().bytes() != before;
}

}  // namespace splitnic::iou
