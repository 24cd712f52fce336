// The unicast addresses that a host may have on its NIC: those that its rights list, and a few
// others that nobody else uses. docs/nic_service.md#addresses [H-1] Thread: the data thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "iou_module/hosts/host_table.h"
#include "iou_module/policy/rights_source.h"

namespace splitnic::iou {

// The reasons why a request is not permitted: the values of messaging::cfg::Refusal.
enum class Refusal : std::uint8_t {
  kOfAnotherHost = 1,
  kReserved,
  kOfTheLan,
  kOfTheNic,
  kTooMany,
  kPromiscuous,
};

class AddressPolicy {
 public:
  // Both outlive it.
  AddressPolicy(const HostTable& hosts, const RightsSource& rights)
      : hosts_(hosts), rights_(rights) {}

  // The NIC's own address, and whose it is.
  struct Own {
    lan::MacAddress mac;
    bool is_of_owner = false;  // of an exclusive NIC: else it belongs to the unit's machine
  };
  // Returns why the host may not have this address, or nothing.
  std::optional<Refusal> refusal(const AttachedHost& host, const lan::MacAddress& mac,
                                 const Own& own) const;
  // Returns how many addresses these settings have more than the host may have.
  static std::size_t excess(const AttachedHost& host, const NicSettings& settings);

 private:
  const HostTable& hosts_;
  const RightsSource& rights_;
};

// Returns the reason in words, and the remedy that the user of the unit has, for the log.
std::string remedy_of(Refusal refusal);

}  // namespace splitnic::iou
