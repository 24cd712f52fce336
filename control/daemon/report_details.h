// The part that the reports of all programs have, and the details that `show --verbose` reports of
// a program, of the NIC of a host, which both ends know, and of a link. Pure, but for the state of
// the program.
#pragma once

#include <string>

#include "control/daemon/common_options.h"
#include "control/report/details.h"
#include "control/report/snapshot.h"
#include "fabric_emul/link/link.h"
#include "messaging/cfgutil/nic_state.h"

namespace splitnic::control {

// `is_up`: the program has opened what it needs, and so has given up its privileges if it does.
Details program_details(const CommonOptions& common, bool is_up);
// The report of the program splitnic-`role`: its name and version, and its details if `parts` has
// them. The state is "connecting".
Snapshot program_snapshot(const std::string& role, const CommonOptions& common, SnapshotParts parts,
                          bool is_up);
// The settings of a host's NIC at the I/O unit. Lists that may be long appear with their number.
Details nic_details(const messaging::NicState& nic);
Details link_details(const fabric::Link& link);
// Returns why an I/O unit refuses the link of a host, and what to do; "": it does not.
std::string refusal_of(const fabric::Link& link);

}  // namespace splitnic::control
