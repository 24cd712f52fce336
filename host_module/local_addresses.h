// The IP addresses that the host's interface has now, for ANNOUNCE.
#pragma once

#include <string>
#include <vector>

#include "lan_bridge/frame/announce.h"

namespace splitnic::host {

// Without those that IPv6 still checks for duplicates or has found to be one. Empty if there is no
// such interface.
std::vector<lan::LocalAddress> local_addresses(const std::string& interface);

}  // namespace splitnic::host
