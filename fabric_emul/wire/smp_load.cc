// Bytes of the body of LOAD. docs/protocol/subnet.md#load
#include "fabric_emul/wire/smp_load.h"

#include <cstring>

#include "base/check.h"
#include "base/endian.h"

namespace splitnic::fabric {

namespace wire {

struct SmpLoadPortWire {
  std::uint8_t number;
  base::Be64 cells;
};
static_assert(sizeof(SmpLoadPortWire) == kSmpLoadPortBytes && alignof(SmpLoadPortWire) == 1);

}  // namespace wire

static_assert(kSmpPortsMax * kSmpLoadPortBytes <= kSmpBytesMax - kSmpFixedBytes - kSmpHopsMax);

std::size_t emit_smp_load(base::MutableBytes out, const SmpLoad& load) {
  CHECK(load.port_count <= kSmpPortsMax && load.bytes() <= out.size());
  std::byte* at = out.data();
  for (const SmpLoad::Port& port : load.used_ports()) {
    wire::SmpLoadPortWire bytes{};
    bytes.number = port.number;
    bytes.cells.set(port.cells);
    std::memcpy(at, &bytes, sizeof(bytes));
    at += sizeof(bytes);
  }
  return load.bytes();
}

SmpError parse_smp_load(base::Bytes in, SmpLoad& out) {
  out = SmpLoad{};
  if (in.size() % kSmpLoadPortBytes != 0 || in.size() > kSmpPortsMax * kSmpLoadPortBytes) {
    return SmpError::kBody;
  }
  std::uint8_t last = 0;
  for (base::Bytes rest = in; !rest.empty(); rest = rest.subspan(kSmpLoadPortBytes)) {
    wire::SmpLoadPortWire bytes;
    std::memcpy(&bytes, rest.data(), sizeof(bytes));
    if (bytes.number <= last || bytes.number > kSmpPortsMax) return SmpError::kBody;
    last = bytes.number;
    out.ports[out.port_count++] = {bytes.number, bytes.cells.get()};
  }
  return SmpError::kNone;
}

}  // namespace splitnic::fabric
