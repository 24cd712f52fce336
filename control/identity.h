// What follows from a node's name and machine, the same at every start.
#pragma once

#include <cstdint>
#include <string>

#include "control/values.h"

namespace splitnic::control {

// The EUI-64 of a node in this role; never 0.
std::uint64_t node_eui64(const std::string& name, const std::string& role);
// A locally administered MAC address (cli: --mac).
MacBytes stable_mac(const std::string& name);
// "HOST:PORT" of a udp:// endpoint, with brackets where the address needs them.
std::string udp_text(const Endpoint& endpoint);

}  // namespace splitnic::control
