// Identity of a node: derived from a secret of this installation, the node's name and its role, and
// so the same at every start. The secret is 16 random bytes in the state folder, which a copy of
// the machine's image without it does not have. Without a state folder it is the identifier of the
// machine, which copies share [B-02]. Neither leaves the machine: machine-id(5) asks programs to
// publish a keyed hash of it only.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "lan_bridge/frame/ethernet.h"

namespace splitnic::control {

// Returns the folder that systemd made for the program's state ($STATE_DIRECTORY, the first of its
// folders); "" without one.
std::string state_folder();
// The secret is in the file kIdentityFile of state_folder(). A program that has none takes
// kSharedStateFolder, if it may write there.
inline constexpr const char* kIdentityFile = "identity";
inline constexpr const char* kSharedStateFolder = "/var/lib/splitnic";

// Returns the EUI-64 of a node in this role; never 0.
std::uint64_t node_eui64(const std::string& name, const std::string& role);
// Returns a locally administered unicast MAC address.
lan::MacAddress stable_mac(const std::string& name);
// Returns the host name up to its first dot, or "node" if there is none.
std::string machine_name();

// Returns what sd_id128_get_machine_app_specific() returns for the text of /etc/machine-id and the
// application identifier of splitnic: HMAC-SHA256 of the second keyed by the first, as a UUID of
// version 4. A text that is not 32 hex digits is the key as it stands.
std::array<std::uint8_t, 16> machine_app_id(const std::string& machine_id);

}  // namespace splitnic::control
