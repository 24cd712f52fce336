// The IP addresses that the host's interface has now, for ANNOUNCE.
#pragma once

#include <string>
#include <vector>

#include "lan_bridge/frame/announce.h"

namespace splitnic::host {

// Returns the addresses, without those that IPv6 still checks for duplicates or has found to be
// duplicates. Returns none if the interface does not exist.
std::vector<lan::LocalAddress> local_addresses(const std::string& interface);

}  // namespace splitnic::host
