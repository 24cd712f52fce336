// The primitives of the session layer, over libcrypto: SHA-256, HMAC, Noise's HKDF, X25519.
// Pure: randomness comes in as bytes. A failure of libcrypto that no input causes is a CHECK.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>

#include "base/bytes.h"
#include "base/random.h"
#include "fabric_emul/session/secret.h"

namespace splitnic::fabric::session {

// A public key of Curve25519 [RFC 7748].
struct PublicKey {
  Bytes32 bytes{};
  friend auto operator<=>(const PublicKey&, const PublicKey&) = default;
};

// Concatenates the parts.
Bytes32 sha256(std::initializer_list<base::Bytes> parts);
Bytes32 hmac(base::Bytes key, std::initializer_list<base::Bytes> parts);

// HKDF of the Noise specification, section 4.3, with two or three outputs.
template <std::size_t kOutputs>
std::array<Secret, kOutputs> hkdf(const Secret& chaining_key, base::Bytes input);
extern template std::array<Secret, 2> hkdf<2>(const Secret&, base::Bytes);
extern template std::array<Secret, 3> hkdf<3>(const Secret&, base::Bytes);

// Returns 32 random bytes with the bits of a Curve25519 private key set [RFC 7748, section 5].
Secret random_private_key(base::Random& random);
PublicKey public_key_of(const Secret& private_key);
// Returns the shared secret, or nothing if the public key is a point of low order.
std::optional<Secret> x25519(const Secret& private_key, const PublicKey& public_key);

// Compares without a branch on the content.
bool is_equal(base::Bytes a, base::Bytes b);

}  // namespace splitnic::fabric::session
