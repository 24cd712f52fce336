// Octets of the flit header, and the walk over a datagram. docs/wire/flit.md, docs/wire/datagram.md
#include "fabric_emul/wire/flit.h"

#include <cstring>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/endian.h"

namespace splitnic::fabric {

namespace wire {

struct FlitHeaderOctets {
  std::uint8_t type_vl;  // type (4), VL (4)
  std::uint8_t ctl;
  base::Be16 size;
  base::Be16 lsn;
  base::Be16 ack;
  base::Be32 credit;  // VL (4), reserved (4), limit (24)
  base::Be32 crc;
};
static_assert(sizeof(FlitHeaderOctets) == kFlitHeaderBytes && alignof(FlitHeaderOctets) == 1);
static_assert(offsetof(FlitHeaderOctets, credit) == 8 && offsetof(FlitHeaderOctets, crc) == 12);

}  // namespace wire

namespace {

constexpr std::size_t kCrcAt = offsetof(wire::FlitHeaderOctets, crc);

std::uint32_t flit_crc(base::Bytes flit, std::uint8_t ctl) {
  base::Crc32c crc;
  crc.extend(flit.first(kCrcAt));
  if ((ctl & kFlitHeaderCrcOnly) == 0) crc.extend(flit.subspan(kFlitHeaderBytes));
  return crc.value();
}

}  // namespace

std::string_view name(FlitType type) {
  switch (type) {
    case FlitType::kData:
      return "DATA";
    case FlitType::kLack:
      return "LACK";
    case FlitType::kLnak:
      return "LNAK";
    case FlitType::kCredit:
      return "CREDIT";
    case FlitType::kInit:
      return "INIT";
    case FlitType::kIdle:
      return "IDLE";
  }
  return "unknown";
}

std::string_view name(FlitError error) {
  switch (error) {
    case FlitError::kNone:
      return "none";
    case FlitError::kShort:
      return "short";
    case FlitError::kSize:
      return "size";
    case FlitError::kCrc:
      return "crc";
    case FlitError::kType:
      return "type";
    case FlitError::kPayload:
      return "payload";
    case FlitError::kCount_:
      break;
  }
  return "unknown";
}

std::size_t seal_flit(base::MutableBytes out, const FlitHeader& header) {
  const std::size_t bytes = kFlitHeaderBytes + header.size;
  CHECK(bytes <= out.size());
  wire::FlitHeaderOctets octets;
  octets.type_vl =
      static_cast<std::uint8_t>((static_cast<unsigned>(header.type) << 4) | (header.vl & 0xF));
  octets.ctl = header.ctl;
  octets.size.set(header.size);
  octets.lsn.set(static_cast<std::uint16_t>(header.lsn.value));
  octets.ack.set(static_cast<std::uint16_t>(header.ack.value));
  octets.credit.set(((header.credit_vl & 0xFU) << 28) | (header.credit_limit & kCreditMask));
  std::memcpy(out.data(), &octets, kCrcAt);
  base::store_be(out.data() + kCrcAt, flit_crc(out.first(bytes), header.ctl));
  return bytes;
}

std::size_t emit_flit(base::MutableBytes out, FlitHeader header, base::Bytes payload) {
  CHECK(payload.size() <= kFlitPayloadMax && kFlitHeaderBytes + payload.size() <= out.size());
  header.size = static_cast<std::uint16_t>(payload.size());
  if (!payload.empty()) {
    std::memcpy(out.data() + kFlitHeaderBytes, payload.data(), payload.size());
  }
  return seal_flit(out, header);
}

FlitError parse_flit(base::Bytes at, FlitView& out) {
  if (at.size() < kFlitHeaderBytes) return FlitError::kShort;
  wire::FlitHeaderOctets octets;
  std::memcpy(&octets, at.data(), sizeof(octets));
  const std::size_t size = octets.size.get();
  if (size > at.size() - kFlitHeaderBytes) return FlitError::kSize;
  if (flit_crc(at.first(kFlitHeaderBytes + size), octets.ctl) != octets.crc.get()) {
    return FlitError::kCrc;
  }
  out.header.type = static_cast<FlitType>(octets.type_vl >> 4);
  out.header.vl = octets.type_vl & 0xF;
  out.header.ctl = octets.ctl;
  out.header.size = octets.size.get();
  out.header.lsn = Lsn(octets.lsn.get());
  out.header.ack = Lsn(octets.ack.get());
  out.header.credit_vl = static_cast<std::uint8_t>(octets.credit.get() >> 28);
  out.header.credit_limit = octets.credit.get() & kCreditMask;
  out.payload = at.subspan(kFlitHeaderBytes, size);
  if (octets.type_vl >> 4 >= kFlitTypeCount) return FlitError::kType;
  const bool wants_payload =
      out.header.type == FlitType::kData || out.header.type == FlitType::kInit;
  return wants_payload == (size != 0) ? FlitError::kNone : FlitError::kPayload;
}

FlitWalker::Step FlitWalker::next(FlitView& out) {
  if (is_first_) {
    is_first_ = false;
    if (!rest_.empty() && std::to_integer<std::uint8_t>(rest_[0]) >= kSessionFirstByte) {
      rest_ = {};
      return Step::kSession;
    }
  }
  if (rest_.size() < kFlitHeaderBytes || base::load_be<std::uint32_t>(rest_.data()) == 0) {
    rest_ = {};
    return Step::kEnd;
  }
  error_ = parse_flit(rest_, out);
  switch (error_) {
    case FlitError::kNone:
      rest_ = rest_.subspan(out.bytes());
      return Step::kFlit;
    case FlitError::kType:
    case FlitError::kPayload:  // its CRC was right, so its size is
      rest_ = rest_.subspan(out.bytes());
      return Step::kBad;
    case FlitError::kShort:
    case FlitError::kSize:
    case FlitError::kCrc:
    case FlitError::kCount_:
      break;
  }
  rest_ = {};
  return Step::kBad;
}

}  // namespace splitnic::fabric
