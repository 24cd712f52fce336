// Messages, CfgUtil requests and RDMA writes of an end, each in as many cells as it needs, and what
// a case awaits in return. Nothing is sent where the connection has no such channel, and nothing
// after a failure. docs/protocol/message.md
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "conformance/end.h"
#include "messaging/wire/cfg_util.h"

namespace splitnic::conformance {

void send_message(End& end, base::Bytes message, unsigned channel = 0);
// Without one the case ends with `expected`.
std::optional<Event> await_message(End& end, messaging::Function function,
                                   std::string_view expected);

void send_request(End& end, messaging::TransactionContext context, messaging::CfgCode code,
                  std::string_view data);
// Whether an event is the reply to the request of this context.
std::function<bool(const Event&)> is_reply_to(messaging::TransactionContext context);
// The reply to this request; without one that parses the case ends.
std::optional<messaging::CfgUtilReply> await_reply(End& end, messaging::TransactionContext context);
// Sends a request with the next context; returns its reply.
std::optional<messaging::CfgUtilReply> request_cfg(End& end, messaging::CfgCode code,
                                                   std::string_view data);

// On the channel of data.
void write(End& end, const fabric::VaMh& target, base::Bytes bytes,
           std::optional<std::uint32_t> idata);

}  // namespace splitnic::conformance
