// Texts for the log and `show`: the reason why a peer refuses the link, and what to do. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "fabric_emul/wire/init.h"

namespace splitnic::fabric {

// The ends of a link: two end nodes, or a switch and what is at one of its ports.
enum class LinkEnds : std::uint8_t { kNodes, kSwitch };

std::string link_refusal(InitReason reason, LinkEnds ends);

}  // namespace splitnic::fabric
