// Bytes of the flit header, and the walk over a datagram. docs/protocol/{flit,datagram}.md
#include "fabric_emul/wire/flit.h"

#include <cstring>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/endian.h"

namespace splitnic::fabric {

namespace {

// Two words and the CRC, their highest bits first:
//   0  type (4) VL (4) Ctl (8) size (16) LSN (16) ack (16)
//   1  credit VL (4) reserved (4) credit limit (24) CRC (32)
constexpr std::size_t kCrcAt = 12;
static_assert(kFlitHeaderBytes == kCrcAt + kCrcBytes);

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
  base::store_be(out.data(),
                 (static_cast<std::uint64_t>(header.type) << 60) |
                     ((header.vl & std::uint64_t{0xF}) << 56) | (std::uint64_t{header.ctl} << 48) |
                     (std::uint64_t{header.size} << 32) |
                     (std::uint64_t{static_cast<std::uint16_t>(header.lsn.value)} << 16) |
                     static_cast<std::uint16_t>(header.ack.value));
  base::store_be(out.data() + 8,
                 ((header.credit_vl & 0xFU) << 28) | (header.credit_limit & kCreditMask));
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
  const auto word = base::load_be<std::uint64_t>(at.data());
  const auto credit = base::load_be<std::uint32_t>(at.data() + 8);
  const std::size_t size = (word >> 32) & 0xFFFF;
  const auto ctl = static_cast<std::uint8_t>(word >> 48);
  if (size > at.size() - kFlitHeaderBytes) return FlitError::kSize;
  if (flit_crc(at.first(kFlitHeaderBytes + size), ctl) !=
      base::load_be<std::uint32_t>(at.data() + kCrcAt)) {
    return FlitError::kCrc;
  }
  const auto type = static_cast<std::uint8_t>(word >> 60);
  out.header.type = static_cast<FlitType>(type);
  out.header.vl = (word >> 56) & 0xF;
  out.header.ctl = ctl;
  out.header.size = static_cast<std::uint16_t>(size);
  out.header.lsn = Lsn(static_cast<std::uint16_t>(word >> 16));
  out.header.ack = Lsn(static_cast<std::uint16_t>(word));
  out.header.credit_vl = static_cast<std::uint8_t>(credit >> 28);
  out.header.credit_limit = credit & kCreditMask;
  out.payload = at.subspan(kFlitHeaderBytes, size);
  if (type >= kFlitTypeCount) return FlitError::kType;
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
    case FlitError::kPayload:  // the CRC is right, so the size is
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
