// The four datagrams of a keyed link: INITIATION, RESPONSE, COOKIE and DATA. Values and bytes; the
// cryptography is elsewhere. docs/protocol/session.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "fabric_emul/session/aead.h"
#include "fabric_emul/session/noise.h"

namespace splitnic::fabric::session {

enum class MessageType : std::uint8_t {
  kInitiation = 0x81,
  kResponse = 0x82,
  kCookie = 0x83,
  kData = 0x84,
};

inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::size_t kMacBytes = 16;
using Mac = std::array<std::byte, kMacBytes>;

inline constexpr std::size_t kInitiationPayloadBytes = 24;
inline constexpr std::size_t kResponsePayloadBytes = 16;
inline constexpr std::size_t kInitiationBytes = 160;
inline constexpr std::size_t kResponseBytes = 108;
inline constexpr std::size_t kCookieBytes = 52;
inline constexpr std::size_t kDataHeaderBytes = 16;
// Bytes that a record adds to the datagram in it.
inline constexpr std::size_t kDataOverheadBytes = kDataHeaderBytes + kTagBytes;

// Flags of DATA.
inline constexpr std::uint8_t kDataRekeyPlease = 0x01;

// Returns the type of a datagram that has a length, version and reserved bytes as its type
// requires; nothing of any other datagram.
std::optional<MessageType> type_of(base::Bytes datagram);

// The parts of a datagram of which type_of() is known: offsets only.
struct Initiation {
  static constexpr std::size_t kMac1At = kInitiationBytes - 2 * kMacBytes;
  static constexpr std::size_t kMac2At = kInitiationBytes - kMacBytes;
  static std::uint32_t sender(base::Bytes m);
  static base::Bytes noise(base::Bytes m) { return m.subspan(8, kMac1At - 8); }
};
struct Response {
  static constexpr std::size_t kMac1At = kResponseBytes - 2 * kMacBytes;
  static constexpr std::size_t kMac2At = kResponseBytes - kMacBytes;
  static std::uint32_t sender(base::Bytes m);
  static std::uint32_t receiver(base::Bytes m);
  static base::Bytes noise(base::Bytes m) { return m.subspan(12, kMac1At - 12); }
};
struct Cookie {
  static std::uint32_t receiver(base::Bytes m);
  static Nonce nonce(base::Bytes m);
  static base::Bytes sealed(base::Bytes m) { return m.subspan(20, kMacBytes + kTagBytes); }
};
struct Data {
  static std::uint8_t flags(base::Bytes m) { return static_cast<std::uint8_t>(m[1]); }
  static std::uint32_t receiver(base::Bytes m);
  static std::uint64_t counter(base::Bytes m);
  static base::Bytes header(base::Bytes m) { return m.first(kDataHeaderBytes); }
  static base::Bytes sealed(base::Bytes m) { return m.subspan(kDataHeaderBytes); }
};

// Each writes the fixed part and returns the room for what is encrypted. REQUIRES out of the length
// of the message, which is otherwise left as it is.
base::MutableBytes begin_initiation(base::MutableBytes out, std::uint32_t sender);
base::MutableBytes begin_response(base::MutableBytes out, std::uint32_t sender,
                                  std::uint32_t receiver);
base::MutableBytes begin_cookie(base::MutableBytes out, std::uint32_t receiver, const Nonce& nonce);
base::MutableBytes begin_data(base::MutableBytes out, std::uint8_t flags, std::uint32_t receiver,
                              std::uint64_t counter);

// Payloads.
struct InitiationPayload {
  std::uint64_t stamp = 0;     // greater than that of every earlier INITIATION of this key
  std::uint64_t instance = 0;  // of the process
  std::array<std::byte, kInitiationPayloadBytes> emit() const;
  static InitiationPayload parse(base::Bytes bytes);
};
struct ResponsePayload {
  std::uint64_t instance = 0;
  std::array<std::byte, kResponsePayloadBytes> emit() const;
  static ResponsePayload parse(base::Bytes bytes);
};

}  // namespace splitnic::fabric::session
