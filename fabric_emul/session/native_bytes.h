// Bytes as the C libraries for cryptography take them.
#pragma once

#include <cstddef>

namespace splitnic::fabric::session {

inline unsigned char* native(std::byte* at) { return reinterpret_cast<unsigned char*>(at); }
inline const unsigned char* native(const std::byte* at) {
  return reinterpret_cast<const unsigned char*>(at);
}

}  // namespace splitnic::fabric::session
