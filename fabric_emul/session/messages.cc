#include "fabric_emul/session/messages.h"

#include <algorithm>

#include "base/check.h"
#include "base/endian.h"

namespace splitnic::fabric::session {
namespace {

static_assert(8 + kNoiseInitiationBytes + kInitiationPayloadBytes == Initiation::kMac1At);
static_assert(12 + kNoiseResponseBytes + kResponsePayloadBytes == Response::kMac1At);
static_assert(4 + 4 + kNonceBytes + kMacBytes + kTagBytes == kCookieBytes);

// Type, version or flags, two bytes of zero, first index.
void put_head(base::MutableBytes out, MessageType type, std::uint8_t second, std::uint32_t index) {
  out[0] = static_cast<std::byte>(type);
  out[1] = static_cast<std::byte>(second);
  out[2] = out[3] = std::byte{0};
  base::store_be(&out[4], index);
}

std::uint32_t index_at(base::Bytes m, std::size_t at) {
  return base::load_be<std::uint32_t>(&m[at]);
}

}  // namespace

std::optional<MessageType> type_of(base::Bytes datagram) {
  if (datagram.size() < kDataOverheadBytes) return {};
  const auto type = static_cast<MessageType>(datagram[0]);
  const auto second = static_cast<std::uint8_t>(datagram[1]);
  if (datagram[2] != std::byte{0} || datagram[3] != std::byte{0}) return {};
  switch (type) {
    case MessageType::kInitiation:
      if (second != kVersion || datagram.size() != kInitiationBytes) return {};
      return type;
    case MessageType::kResponse:
      if (second != kVersion || datagram.size() != kResponseBytes) return {};
      return type;
    case MessageType::kCookie:
      if (second != kVersion || datagram.size() != kCookieBytes) return {};
      return type;
    case MessageType::kData:
      if ((second & ~kDataRekeyPlease) != 0) return {};
      return type;
  }
  return {};
}

std::uint32_t Initiation::sender(base::Bytes m) { return index_at(m, 4); }
std::uint32_t Response::sender(base::Bytes m) { return index_at(m, 4); }
std::uint32_t Response::receiver(base::Bytes m) { return index_at(m, 8); }
std::uint32_t Cookie::receiver(base::Bytes m) { return index_at(m, 4); }
std::uint32_t Data::receiver(base::Bytes m) { return index_at(m, 4); }
std::uint64_t Data::counter(base::Bytes m) { return base::load_be<std::uint64_t>(&m[8]); }

Nonce Cookie::nonce(base::Bytes m) {
  Nonce nonce{};
  std::ranges::copy(m.subspan(8, kNonceBytes), nonce.begin());
  return nonce;
}

base::MutableBytes begin_initiation(base::MutableBytes out, std::uint32_t sender) {
  CHECK(out.size() == kInitiationBytes);
  put_head(out, MessageType::kInitiation, kVersion, sender);
  return out.subspan(8, Initiation::kMac1At - 8);
}

base::MutableBytes begin_response(base::MutableBytes out, std::uint32_t sender,
                                  std::uint32_t receiver) {
  CHECK(out.size() == kResponseBytes);
  put_head(out, MessageType::kResponse, kVersion, sender);
  base::store_be(&out[8], receiver);
  return out.subspan(12, Response::kMac1At - 12);
}

base::MutableBytes begin_cookie(base::MutableBytes out, std::uint32_t receiver,
                                const Nonce& nonce) {
  CHECK(out.size() == kCookieBytes);
  put_head(out, MessageType::kCookie, kVersion, receiver);
  std::ranges::copy(nonce, out.begin() + 8);
  return out.subspan(20);
}

base::MutableBytes begin_data(base::MutableBytes out, std::uint8_t flags, std::uint32_t receiver,
                              std::uint64_t counter) {
  CHECK(out.size() >= kDataOverheadBytes);
  put_head(out, MessageType::kData, flags, receiver);
  base::store_be(&out[8], counter);
  return out.subspan(kDataHeaderBytes);
}

std::array<std::byte, kInitiationPayloadBytes> InitiationPayload::emit() const {
  std::array<std::byte, kInitiationPayloadBytes> bytes{};
  base::store_be(bytes.data(), stamp);
  base::store_be(&bytes[8], instance);
  return bytes;
}

InitiationPayload InitiationPayload::parse(base::Bytes bytes) {
  CHECK(bytes.size() == kInitiationPayloadBytes);
  return {base::load_be<std::uint64_t>(bytes.data()), base::load_be<std::uint64_t>(&bytes[8])};
}

std::array<std::byte, kResponsePayloadBytes> ResponsePayload::emit() const {
  std::array<std::byte, kResponsePayloadBytes> bytes{};
  base::store_be(bytes.data(), instance);
  return bytes;
}

ResponsePayload ResponsePayload::parse(base::Bytes bytes) {
  CHECK(bytes.size() == kResponsePayloadBytes);
  return {base::load_be<std::uint64_t>(bytes.data())};
}

}  // namespace splitnic::fabric::session
