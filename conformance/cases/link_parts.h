// The parts of the cases about links: what any end of a link checks in the same way.
// docs/protocol/init.md#init
#pragma once

#include <optional>

#include "conformance/host.h"

namespace splitnic::conformance {

// Sends this HELLO. Returns its reply, which echoes the nonce.
std::optional<fabric::Init> reply_to_hello(Host& host, const fabric::Init& hello);
// A PROBE gets a PROBE_REPLY. REQUIRES a link.
void expect_probe_reply(End& end);
// The target sends IDLE while this end sends nothing but that. REQUIRES a link.
void expect_idle(End& end);

}  // namespace splitnic::conformance
