#include "base/crc32c.h"

#include <isa-l/crc.h>

namespace splitnic::base {

void Crc32c::extend(Bytes bytes) {
  // ISA-L takes int lengths and a pointer to mutable bytes that it only reads.
  auto* at = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
  state_ = crc32_iscsi(at, static_cast<int>(bytes.size()), state_);
}

std::uint32_t crc32c(Bytes bytes) {
  Crc32c crc;
  crc.extend(bytes);
  return crc.value();
}

}  // namespace splitnic::base
