// Octets of the MAC header. docs/wire/cell.md#mac-header
#include "fabric_emul/wire/mac_header.h"

#include <cstring>

#include "base/endian.h"

namespace splitnic::fabric {

namespace wire {

struct MacHeaderOctets {
  std::uint8_t version_sl;  // version (4), SL (4)
  std::uint8_t pos_op;      // pos (2), op (6)
  std::uint8_t flags;
  std::uint8_t ext_words;
  base::Be16 dlid;
  base::Be16 slid;
  base::Be32 service_stripe_dqpn;  // service (4), stripe (4), QPN (24)
  base::Be32 sqpn;                 // reserved (8), QPN (24)
  base::Be32 psn;                  // reserved (8), PSN (24)
  base::Be16 csn;
  base::Be16 payload_bytes;
  base::Be16 partition;
  base::Be16 lcn;
};
static_assert(sizeof(MacHeaderOctets) == kMacHeaderBytes && alignof(MacHeaderOctets) == 1);
static_assert(offsetof(MacHeaderOctets, service_stripe_dqpn) == 8);
static_assert(offsetof(MacHeaderOctets, csn) == 20 && offsetof(MacHeaderOctets, lcn) == 26);

}  // namespace wire

namespace {
constexpr std::uint32_t kMask24 = 0xFFFFFF;
}

MacHeader MacHeader::parse(const std::byte* at) {
  wire::MacHeaderOctets in;
  std::memcpy(&in, at, sizeof(in));
  const std::uint32_t w2 = in.service_stripe_dqpn.get();
  MacHeader out;
  out.version = in.version_sl >> 4;
  out.sl = in.version_sl & 0xF;
  out.pos = static_cast<Pos>(in.pos_op >> 6);
  out.op = static_cast<Op>(in.pos_op & 0x3F);
  out.flags = in.flags;
  out.ext_words = in.ext_words;
  out.service = static_cast<Service>(w2 >> 28);
  out.stripe = static_cast<std::uint8_t>((w2 >> 24) & 0xF);
  out.dlid = Lid(in.dlid.get());
  out.slid = Lid(in.slid.get());
  out.dqpn = Qpn(w2 & kMask24);
  out.sqpn = Qpn(in.sqpn.get() & kMask24);
  out.psn = Psn(in.psn.get());
  out.csn = in.csn.get();
  out.payload_bytes = in.payload_bytes.get();
  out.partition = in.partition.get();
  out.lcn = Lcn(in.lcn.get());
  return out;
}

void MacHeader::emit(std::byte* at) const {
  wire::MacHeaderOctets out;
  out.version_sl = static_cast<std::uint8_t>((version << 4) | (sl & 0xF));
  out.pos_op = static_cast<std::uint8_t>((static_cast<unsigned>(pos) << 6) |
                                         (static_cast<unsigned>(op) & 0x3F));
  out.flags = flags;
  out.ext_words = ext_words;
  out.dlid.set(dlid.value);
  out.slid.set(slid.value);
  out.service_stripe_dqpn.set((static_cast<std::uint32_t>(service) << 28) |
                              ((stripe & 0xFU) << 24) | (dqpn.value & kMask24));
  out.sqpn.set(sqpn.value & kMask24);
  out.psn.set(psn.value);
  out.csn.set(csn);
  out.payload_bytes.set(payload_bytes);
  out.partition.set(partition);
  out.lcn.set(static_cast<std::uint16_t>(lcn.value));
  std::memcpy(at, &out, sizeof(out));
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
