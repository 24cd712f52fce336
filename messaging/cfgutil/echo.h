// The reply to ECHO. Whoever may send one may send any number of them, so a request costs
// no more than its bytes: fields that are not known are skipped here, where the parser of Protobuf
// makes an object of each. Pure. docs/protocol/cfgutil.md [M-2]
#pragma once

#include "base/bytes.h"
#include "messaging/cfgutil/cfg_exchange.h"

namespace splitnic::messaging {

// `request` is the data of the request.
CfgReply reply_to_echo(base::Bytes request);

}  // namespace splitnic::messaging
