// The reason for which an I/O unit refused an address, and the remedy, as a log line has them.
#pragma once

#include <string>

namespace splitnic::messaging::cfg {
enum Refusal : int;  // messaging/cfgutil/cfgutil.proto
}

namespace splitnic::host {

std::string refusal_text(messaging::cfg::Refusal refusal);

}  // namespace splitnic::host
