// A message of Protobuf from bytes. Protobuf's header is that of the caller.
#pragma once

#include "base/bytes.h"

namespace splitnic::base {

// Returns false, with `out` unspecified, if the bytes are no such message. REQUIRES fewer than 2^31
// bytes.
template <class Message>
bool parse_message(Bytes bytes, Message& out) {
  return out.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace splitnic::base
