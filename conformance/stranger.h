// Distinguishes a peer of the protocol, right or wrong, from another program at the same address. A
// peer with faults is for the cases: all that counts here is that a datagram begins as an INIT
// does, and is not one of the suite's own that came back.
#pragma once

#include <string>

#include "base/bytes.h"
#include "conformance/transcript.h"

namespace splitnic::conformance {

// Whether a datagram may be from a peer that begins a link. `transcript`: of the same line.
bool is_from_peer(base::Bytes datagram, const Transcript& transcript);

// Text about the first datagram that was received from another program; "" if there is none.
std::string stranger_in(const Transcript& transcript);

}  // namespace splitnic::conformance
