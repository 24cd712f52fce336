// Bytes of ACKX, the extension of ACK and NAK cells. docs/protocol/ack.md
#include <algorithm>

#include "base/check.h"
#include "base/endian.h"
#include "fabric_emul/wire/extensions.h"

namespace splitnic::fabric {

bool is_known(AckCode code) { return name(code) != "unknown"; }

std::string_view name(AckCode code) {
  switch (code) {
    case AckCode::kAck:
      return "ack";
    case AckCode::kRnr:
      return "rnr";
    case AckCode::kSequence:
      return "sequence";
    case AckCode::kInvalidRequest:
      return "invalid_request";
    case AckCode::kRemoteAccess:
      return "remote_access";
    case AckCode::kRemoteOperational:
      return "remote_operational";
    case AckCode::kInvalidRdRequest:
      return "invalid_rd_request";
  }
  return "unknown";
}

void AckExt::set_bit(unsigned i) {
  CHECK(i < 32 * kAckBitmapWordsMax);
  selective = true;
  while (bitmap_words <= i / 32) bitmap[bitmap_words++] = 0;
  bitmap[i / 32] |= 0x80000000U >> (i % 32);
}

bool AckExt::parse(base::Bytes in, AckExt& out) {
  if (in.size() < kAckBytesMin) return false;
  const auto a0 = base::load_be<std::uint32_t>(in.data());
  const auto a1 = base::load_be<std::uint32_t>(in.data() + 4);
  out.code = static_cast<AckCode>(a0 >> 24);
  out.msn = a0 & 0xFFFFFF;
  out.receive_credits = static_cast<std::uint16_t>(a1 >> 16);
  out.detail = static_cast<std::uint16_t>(a1);
  out.selective = false;
  out.cumulative = Lcn();
  out.hold_10us = 0;
  out.bitmap_words = 0;
  if (!is_known(out.code)) return false;
  if (in.size() == kAckBytesMin) return true;
  if (in.size() < kAckBytesFull) return false;
  const auto a2 = base::load_be<std::uint32_t>(in.data() + 8);
  out.selective = true;
  out.cumulative = Lcn(a2 >> 16);
  out.bitmap_words = (a2 >> 8) & 0xFF;
  out.hold_10us = static_cast<std::uint8_t>(a2);
  if (out.bitmap_words > kAckBitmapWordsMax || in.size() != out.bytes()) return false;
  for (unsigned i = 0; i < out.bitmap_words; ++i) {
    out.bitmap[i] = base::load_be<std::uint32_t>(in.data() + kAckBytesFull + 4 * i);
  }
  return true;
}

void AckExt::emit(std::byte* at) const {
  CHECK(bitmap_words <= kAckBitmapWordsMax);
  base::store_be(at, (static_cast<std::uint32_t>(code) << 24) | (msn & 0xFFFFFF));
  base::store_be(at + 4, (std::uint32_t{receive_credits} << 16) | detail);
  if (!selective) return;
  base::store_be(at + 8, (cumulative.value << 16) | (bitmap_words << 8) | hold_10us);
  for (unsigned i = 0; i < bitmap_words; ++i) base::store_be(at + kAckBytesFull + 4 * i, bitmap[i]);
}

bool operator==(const AckExt& a, const AckExt& b) {
  if (a.code != b.code || a.msn != b.msn || a.receive_credits != b.receive_credits ||
      a.detail != b.detail || a.selective != b.selective) {
    return false;
  }
  if (!a.selective) return true;
  return a.cumulative == b.cumulative && a.hold_10us == b.hold_10us &&
         a.bitmap_words == b.bitmap_words &&
         std::equal(a.bitmap.begin(), a.bitmap.begin() + a.bitmap_words, b.bitmap.begin());
}

}  // namespace splitnic::fabric
