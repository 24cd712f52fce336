// Bytes of the extension headers, ACKX excepted (ack.cc). docs/protocol/cell.md#extensions
#include "fabric_emul/wire/extensions.h"

#include <cstring>

#include "base/endian.h"

namespace splitnic::fabric {

namespace wire {

struct VaMhWire {
  base::Be64 address;
  base::Be32 handle;
  base::Be32 length;
};
static_assert(sizeof(VaMhWire) == kVaMhBytes && alignof(VaMhWire) == 1);

struct GnhWire {
  base::Be32 version_class_flow;  // version 6 (4), traffic class (8), flow label (20)
  base::Be16 length;
  std::uint8_t next_header;
  std::uint8_t hop_limit;
  std::array<std::byte, 16> source;
  std::array<std::byte, 16> destination;
};
static_assert(sizeof(GnhWire) == kGnhBytes && alignof(GnhWire) == 1);

struct ReadWire {
  base::Be32 msn;
  base::Be32 sink_handle;
  base::Be64 sink_offset;
};
static_assert(sizeof(ReadWire) == kReadBytes && alignof(ReadWire) == 1);

struct AtomicWire {
  base::Be32 op;  // operation (8), reserved (24)
  base::Be64 operand1;
  base::Be64 operand2;
};
static_assert(sizeof(AtomicWire) == kAtomicBytes && alignof(AtomicWire) == 1);

}  // namespace wire

std::optional<VaMh> VaMh::parse(base::Bytes in) {
  wire::VaMhWire bytes;
  if (in.size() != sizeof(bytes)) return std::nullopt;
  std::memcpy(&bytes, in.data(), sizeof(bytes));
  return VaMh{.address = VirtualAddress(bytes.address.get()),
              .handle = MemoryHandle(bytes.handle.get()),
              .length = bytes.length.get()};
}

void VaMh::emit(std::byte* at) const {
  wire::VaMhWire bytes;
  bytes.address.set(address.value);
  bytes.handle.set(handle.value);
  bytes.length.set(length);
  std::memcpy(at, &bytes, sizeof(bytes));
}

std::optional<Gnh> Gnh::parse(base::Bytes in) {
  wire::GnhWire bytes;
  if (in.size() != sizeof(bytes)) return std::nullopt;
  std::memcpy(&bytes, in.data(), sizeof(bytes));
  const std::uint32_t word = bytes.version_class_flow.get();
  if (word >> 28 != 6) return std::nullopt;
  return Gnh{.traffic_class = static_cast<std::uint8_t>(word >> 20),
             .flow_label = word & 0xFFFFF,
             .length = bytes.length.get(),
             .next_header = bytes.next_header,
             .hop_limit = bytes.hop_limit,
             .source = bytes.source,
             .destination = bytes.destination};
}

void Gnh::emit(std::byte* at) const {
  wire::GnhWire bytes;
  bytes.version_class_flow.set((6U << 28) | (std::uint32_t{traffic_class} << 20) |
                               (flow_label & 0xFFFFF));
  bytes.length.set(length);
  bytes.next_header = next_header;
  bytes.hop_limit = hop_limit;
  bytes.source = source;
  bytes.destination = destination;
  std::memcpy(at, &bytes, sizeof(bytes));
}

std::optional<ReadExt> ReadExt::parse(base::Bytes in) {
  wire::ReadWire bytes;
  if (in.size() != sizeof(bytes)) return std::nullopt;
  std::memcpy(&bytes, in.data(), sizeof(bytes));
  return ReadExt{.msn = bytes.msn.get(),
                 .sink_handle = MemoryHandle(bytes.sink_handle.get()),
                 .sink_offset = bytes.sink_offset.get()};
}

void ReadExt::emit(std::byte* at) const {
  wire::ReadWire bytes;
  bytes.msn.set(msn);
  bytes.sink_handle.set(sink_handle.value);
  bytes.sink_offset.set(sink_offset);
  std::memcpy(at, &bytes, sizeof(bytes));
}

std::optional<AtomicExt> AtomicExt::parse(base::Bytes in) {
  wire::AtomicWire bytes;
  if (in.size() != sizeof(bytes)) return std::nullopt;
  std::memcpy(&bytes, in.data(), sizeof(bytes));
  const std::uint32_t code = bytes.op.get() >> 24;
  if (code < 1 || code > 3) return std::nullopt;
  return AtomicExt{.op = static_cast<FetchOp>(code),
                   .operand1 = bytes.operand1.get(),
                   .operand2 = bytes.operand2.get()};
}

void AtomicExt::emit(std::byte* at) const {
  wire::AtomicWire bytes;
  bytes.op.set(static_cast<std::uint32_t>(op) << 24);
  bytes.operand1.set(operand1);
  bytes.operand2.set(operand2);
  std::memcpy(at, &bytes, sizeof(bytes));
}

}  // namespace splitnic::fabric
