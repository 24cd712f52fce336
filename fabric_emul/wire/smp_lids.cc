// Bytes of the bodies of LIDS and PORT. docs/protocol/subnet.md
#include "fabric_emul/wire/smp_lids.h"

#include <cstring>

#include "base/check.h"
#include "base/endian.h"

namespace splitnic::fabric {

namespace wire {

struct LidsEntryWire {
  base::Be16 base;
  std::uint8_t lmc;
  std::uint8_t reserved;
};
static_assert(sizeof(LidsEntryWire) == kSmpPortBodyBytes && alignof(LidsEntryWire) == 1);
static_assert(kSmpPortBodyBytes == kSmpLidsEntryBytes);

struct SmpLidsWire {
  base::Be16 first;
  base::Be16 count;
  base::Be32 check;
};
static_assert(sizeof(SmpLidsWire) == kSmpLidsBytes && alignof(SmpLidsWire) == 1);

}  // namespace wire

static_assert(kSmpLidsBytes + kSmpLidsEntriesMax * kSmpLidsEntryBytes <=
              kSmpBytesMax - kSmpFixedBytes - kSmpHopsMax);

namespace {

wire::LidsEntryWire wire_of(const PortLids& lids) {
  wire::LidsEntryWire bytes{};
  bytes.base.set(lids.base.value);
  bytes.lmc = lids.lmc;
  return bytes;
}

PortLids lids_at(const std::byte* at) {
  wire::LidsEntryWire bytes;
  std::memcpy(&bytes, at, sizeof(bytes));
  return {Lid(bytes.base.get()), bytes.lmc};
}

}  // namespace

std::size_t emit_smp_port(base::MutableBytes out, const PortLids& lids) {
  const wire::LidsEntryWire bytes = wire_of(lids);
  CHECK(sizeof(bytes) <= out.size());
  std::memcpy(out.data(), &bytes, sizeof(bytes));
  return sizeof(bytes);
}

SmpError parse_smp_port(base::Bytes in, PortLids& out) {
  if (in.size() != kSmpPortBodyBytes) return SmpError::kBody;
  out = lids_at(in.data());
  return SmpError::kNone;
}

std::size_t emit_smp_lids(base::MutableBytes out, const SmpLids& lids) {
  CHECK(lids.entry_count <= kSmpLidsEntriesMax && lids.bytes() <= out.size());
  wire::SmpLidsWire bytes{};
  bytes.first.set(lids.first);
  bytes.count.set(lids.count);
  bytes.check.set(lids.check);
  std::byte* at = out.data();
  std::memcpy(at, &bytes, sizeof(bytes));
  at += sizeof(bytes);
  for (const PortLids& one : lids.used_entries()) {
    const wire::LidsEntryWire entry = wire_of(one);
    std::memcpy(at, &entry, sizeof(entry));
    at += sizeof(entry);
  }
  return lids.bytes();
}

SmpError parse_smp_lids(base::Bytes in, SmpLids& out) {
  wire::SmpLidsWire bytes;
  if (in.size() < sizeof(bytes)) return SmpError::kBody;
  std::memcpy(&bytes, in.data(), sizeof(bytes));
  const std::size_t rest = in.size() - sizeof(bytes);
  out = SmpLids{};
  out.entry_count = rest / kSmpLidsEntryBytes;
  if (rest % kSmpLidsEntryBytes != 0 || out.entry_count > kSmpLidsEntriesMax) {
    out.entry_count = 0;
    return SmpError::kBody;
  }
  out.first = bytes.first.get();
  out.count = bytes.count.get();
  out.check = bytes.check.get();
  if (out.entry_count != 0 && out.first + out.entry_count > out.count) return SmpError::kBody;
  for (std::size_t i = 0; i < out.entry_count; ++i) {
    out.entries[i] = lids_at(in.data() + sizeof(bytes) + i * kSmpLidsEntryBytes);
    if (!is_valid(out.entries[i])) return SmpError::kBody;
  }
  return SmpError::kNone;
}

}  // namespace splitnic::fabric
