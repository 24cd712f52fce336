// The log line for a link that the peer of a switch, or the switch of a node, refuses: the reason
// and what to do. Pure.
#pragma once

#include <string>

#include "fabric_emul/wire/init.h"

namespace splitnic::fabric {

std::string hop_refusal(const std::string& peer, InitReason reason);

}  // namespace splitnic::fabric
