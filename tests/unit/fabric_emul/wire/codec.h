// The calls of a codec as its tests need them: the bytes of a message, and the error of bytes.
#pragma once

#include <gtest/gtest.h>

#include "tests/unit/fabric_emul/wire/golden.h"

namespace splitnic::fabric::golden {

// The bytes of a message that knows their number. Exactly sized, as bytes_of() of golden.h.
template <class Message>
Bytes emitted(const Message& message, std::size_t (*emit)(base::MutableBytes, const Message&)) {
  Bytes out(message.bytes());
  EXPECT_EQ(emit(out, message), out.size());
  return out;
}

template <class Message, class Error>
Error error_of(const Bytes& in, Error (*parse)(base::Bytes, Message&)) {
  Message out;
  return parse(in, out);
}

}  // namespace splitnic::fabric::golden
