#include "iou_module/policy/address_policy.h"

#include <algorithm>

namespace splitnic::iou {
namespace {

bool lists(const HostRights& rights, const lan::MacAddress& mac) {
  return std::ranges::find(rights.macs, mac) != rights.macs.end();
}

}  // namespace

// A host that may send from any address gains nothing by having one: frames for the LAN go there
// whatever it claims.
std::optional<Refusal> AddressPolicy::refusal(const AttachedHost& host, const lan::MacAddress& mac,
                                              const Own& own) const {
  if (hosts_.is_taken(mac, host)) return Refusal::kOfAnotherHost;
  if (lists(host.rights(), mac)) return std::nullopt;
  if (rights_.is_of_another(mac, host.link())) return Refusal::kReserved;
  if (mac == own.mac && own.is_of_owner) return std::nullopt;
  if (hosts_.was_of_another(mac, host)) return Refusal::kOfAnotherHost;
  if (host.rights().may_forge) return std::nullopt;
  if (mac == own.mac) return Refusal::kOfTheNic;
  if (hosts_.is_of_lan(mac)) return Refusal::kOfTheLan;
  return std::nullopt;
}

std::size_t AddressPolicy::excess(const AttachedHost& host, const NicSettings& settings) {
  std::vector<lan::MacAddress> all = settings.addresses();
  std::erase_if(all, [&](const lan::MacAddress& mac) { return lists(host.rights(), mac); });
  const std::size_t most = host.rights().mac_count;
  return all.size() > most ? all.size() - most : 0;
}

std::string remedy_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::kOfAnotherHost:
      return "another host has it, or had it within 5 minutes: give one of them another address, "
             "or "
             "list it for this host in the hosts file";
    case Refusal::kReserved:
      return "it is listed for another host";
    case Refusal::kOfTheLan:
      return "a machine on the LAN has used it within 5 minutes: wait that long after it has moved "
             "here, list the address for this host in the hosts file, or --grant forge";
    case Refusal::kOfTheNic:
      return "it is the NIC's own: list the address for this host in the hosts file, or --grant "
             "forge, or --max-hosts 1";
    case Refusal::kTooMany:
      return "it has as many as it may have";
    case Refusal::kPromiscuous:
      break;
  }
  return "it is not permitted";
}

}  // namespace splitnic::iou
