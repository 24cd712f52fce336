// Why a peer refuses the link, and what to do: for lines of the log and `show`. Pure.
#pragma once

#include <string>

#include "fabric_emul/wire/init.h"

namespace splitnic::fabric {

std::string link_refusal(InitReason reason);

}  // namespace splitnic::fabric
