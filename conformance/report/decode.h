// Datagrams as people read them: a label for an arrow of a diagram, and the fields. Allocates; for
// reports only.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"

namespace splitnic::conformance {

struct Decoded {
  std::string label;                // "INIT hello", "CONNECT_REQ", "ACK 17"
  std::vector<std::string> fields;  // one line per flit, cell and message
};

// A datagram of flits, or a message of the session layer.
Decoded decode(base::Bytes datagram);
// 16 bytes per line, in groups of four.
std::string hex_of(base::Bytes bytes);

}  // namespace splitnic::conformance
