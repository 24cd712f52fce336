// Octets of the extension headers, ACKX excepted (ack.cc). docs/wire/cell.md#extensions
#include "fabric_emul/wire/extensions.h"

#include <cstring>

#include "base/endian.h"

namespace splitnic::fabric {

namespace wire {

struct VaMhOctets {
  base::Be64 address;
  base::Be32 handle;
  base::Be32 length;
};
static_assert(sizeof(VaMhOctets) == kVaMhBytes && alignof(VaMhOctets) == 1);

struct GnhOctets {
  base::Be32 version_class_flow;  // version 6 (4), traffic class (8), flow label (20)
  base::Be16 length;
  std::uint8_t next_header;
  std::uint8_t hop_limit;
  std::array<std::byte, 16> source;
  std::array<std::byte, 16> destination;
};
static_assert(sizeof(GnhOctets) == kGnhBytes && alignof(GnhOctets) == 1);

struct ReadOctets {
  base::Be32 msn;
  base::Be32 sink_handle;
  base::Be64 sink_offset;
};
static_assert(sizeof(ReadOctets) == kReadBytes && alignof(ReadOctets) == 1);

struct AtomicOctets {
  base::Be32 op;  // operation (8), reserved (24)
  base::Be64 operand1;
  base::Be64 operand2;
};
static_assert(sizeof(AtomicOctets) == kAtomicBytes && alignof(AtomicOctets) == 1);

}  // namespace wire

std::optional<VaMh> VaMh::parse(base::Bytes in) {
  wire::VaMhOctets octets;
  if (in.size() != sizeof(octets)) return std::nullopt;
  std::memcpy(&octets, in.data(), sizeof(octets));
  return VaMh{.address = VirtualAddress(octets.address.get()),
              .handle = MemoryHandle(octets.handle.get()),
              .length = octets.length.get()};
}

void VaMh::emit(std::byte* at) const {
  wire::VaMhOctets octets;
  octets.address.set(address.value);
  octets.handle.set(handle.value);
  octets.length.set(length);
  std::memcpy(at, &octets, sizeof(octets));
}

std::optional<Gnh> Gnh::parse(base::Bytes in) {
  wire::GnhOctets octets;
  if (in.size() != sizeof(octets)) return std::nullopt;
  std::memcpy(&octets, in.data(), sizeof(octets));
  const std::uint32_t word = octets.version_class_flow.get();
  if (word >> 28 != 6) return std::nullopt;
  return Gnh{.traffic_class = static_cast<std::uint8_t>(word >> 20),
             .flow_label = word & 0xFFFFF,
             .length = octets.length.get(),
             .next_header = octets.next_header,
             .hop_limit = octets.hop_limit,
             .source = octets.source,
             .destination = octets.destination};
}

void Gnh::emit(std::byte* at) const {
  wire::GnhOctets octets;
  octets.version_class_flow.set((6U << 28) | (std::uint32_t{traffic_class} << 20) |
                                (flow_label & 0xFFFFF));
  octets.length.set(length);
  octets.next_header = next_header;
  octets.hop_limit = hop_limit;
  octets.source = source;
  octets.destination = destination;
  std::memcpy(at, &octets, sizeof(octets));
}

std::optional<ReadExt> ReadExt::parse(base::Bytes in) {
  wire::ReadOctets octets;
  if (in.size() != sizeof(octets)) return std::nullopt;
  std::memcpy(&octets, in.data(), sizeof(octets));
  return ReadExt{.msn = octets.msn.get(),
                 .sink_handle = MemoryHandle(octets.sink_handle.get()),
                 .sink_offset = octets.sink_offset.get()};
}

void ReadExt::emit(std::byte* at) const {
  wire::ReadOctets octets;
  octets.msn.set(msn);
  octets.sink_handle.set(sink_handle.value);
  octets.sink_offset.set(sink_offset);
  std::memcpy(at, &octets, sizeof(octets));
}

std::optional<AtomicExt> AtomicExt::parse(base::Bytes in) {
  wire::AtomicOctets octets;
  if (in.size() != sizeof(octets)) return std::nullopt;
  std::memcpy(&octets, in.data(), sizeof(octets));
  const std::uint32_t code = octets.op.get() >> 24;
  if (code < 1 || code > 3) return std::nullopt;
  return AtomicExt{.op = static_cast<FetchOp>(code),
                   .operand1 = octets.operand1.get(),
                   .operand2 = octets.operand2.get()};
}

void AtomicExt::emit(std::byte* at) const {
  wire::AtomicOctets octets;
  octets.op.set(static_cast<std::uint32_t>(op) << 24);
  octets.operand1.set(operand1);
  octets.operand2.set(operand2);
  std::memcpy(at, &octets, sizeof(octets));
}

}  // namespace splitnic::fabric
