// Bytes of the MAC header. docs/protocol/cell.md#mac-header
#include "fabric_emul/wire/mac_header.h"

#include "base/endian.h"

namespace splitnic::fabric {

namespace {

static_assert(kMacHeaderBytes == 3 * sizeof(std::uint64_t) + sizeof(std::uint32_t));

// `bits` of a word, the lowest one being `low`.
template <typename Field>
constexpr Field field(std::uint64_t word, unsigned low, unsigned bits) {
  return static_cast<Field>((word >> low) & ((std::uint64_t{1} << bits) - 1));
}
constexpr std::uint64_t placed(std::uint64_t value, unsigned low, unsigned bits) {
  return (value & ((std::uint64_t{1} << bits) - 1)) << low;
}

}  // namespace

// Word by word, so that the CRC, which reads eight bytes at a time, finds them as they were
// written. Each word, its highest bits first:
//   0  version (4) SL (4) pos (2) op (6) flags (8) ext words (8) DLID (16) SLID (16)
//   1  service (4) stripe (4) DQPN (24) reserved (8) SQPN (24)
//   2  reserved (8) PSN (24) CSN (16) payload bytes (16)
//   3  partition (16) LCN (16): half a word
void MacHeader::parse(const std::byte* at, MacHeader& out) {
  const auto w0 = base::load_be<std::uint64_t>(at);
  const auto w1 = base::load_be<std::uint64_t>(at + 8);
  const auto w2 = base::load_be<std::uint64_t>(at + 16);
  const auto w3 = base::load_be<std::uint32_t>(at + 24);
  out.version = field<std::uint8_t>(w0, 60, 4);
  out.sl = field<std::uint8_t>(w0, 56, 4);
  out.pos = field<Pos>(w0, 54, 2);
  out.op = field<Op>(w0, 48, 6);
  out.flags = field<std::uint8_t>(w0, 40, 8);
  out.ext_words = field<std::uint8_t>(w0, 32, 8);
  out.dlid = Lid(field<std::uint16_t>(w0, 16, 16));
  out.slid = Lid(field<std::uint16_t>(w0, 0, 16));
  out.service = field<Service>(w1, 60, 4);
  out.stripe = field<std::uint8_t>(w1, 56, 4);
  out.dqpn = Qpn(field<std::uint32_t>(w1, 32, 24));
  out.sqpn = Qpn(field<std::uint32_t>(w1, 0, 24));
  out.psn = Psn(field<std::uint32_t>(w2, 32, 32));
  out.csn = field<std::uint16_t>(w2, 16, 16);
  out.payload_bytes = field<std::uint16_t>(w2, 0, 16);
  out.partition = PartitionKey(field<std::uint16_t>(w3, 16, 16));
  out.lcn = Lcn(field<std::uint16_t>(w3, 0, 16));
}

void MacHeader::emit(std::byte* at) const {
  base::store_be(at, placed(version, 60, 4) | placed(sl, 56, 4) |
                         placed(static_cast<std::uint64_t>(pos), 54, 2) |
                         placed(static_cast<std::uint64_t>(op), 48, 6) | placed(flags, 40, 8) |
                         placed(ext_words, 32, 8) | placed(dlid.value, 16, 16) |
                         placed(slid.value, 0, 16));
  base::store_be(at + 8, placed(static_cast<std::uint64_t>(service), 60, 4) |
                             placed(stripe, 56, 4) | placed(dqpn.value, 32, 24) |
                             placed(sqpn.value, 0, 24));
  base::store_be(at + 16,
                 placed(psn.value, 32, 32) | placed(csn, 16, 16) | placed(payload_bytes, 0, 16));
  base::store_be(at + 24,
                 static_cast<std::uint32_t>(placed(partition.value, 16, 16) |
                                            placed(static_cast<std::uint16_t>(lcn.value), 0, 16)));
}

std::string_view name(Pos pos) {
  switch (pos) {
    case Pos::kMiddle:
      return "middle";
    case Pos::kLast:
      return "last";
    case Pos::kFirst:
      return "first";
    case Pos::kOnly:
      return "only";
  }
  return "unknown";
}

}  // namespace splitnic::fabric
