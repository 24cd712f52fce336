// The handshake Noise_IKpsk2_25519_AESGCM_SHA256 of the Noise Protocol Framework, revision 34: who
// initiates knows the public key of the responder, the two learn each other's with one message
// each, and a pre-shared key may be mixed in.
//   <- s
//   ...
//   -> e, es, s, ss
//   <- e, ee, se, psk
// Pure: ephemeral keys come in. A handshake object serves one handshake.
#pragma once

#include <cstddef>
#include <optional>

#include "base/bytes.h"
#include "fabric_emul/session/aead.h"
#include "fabric_emul/session/crypto.h"
#include "fabric_emul/session/secret.h"

namespace splitnic::fabric::session {

// The own key of a node.
struct StaticKey {
  explicit StaticKey(const Secret& secret)
      : private_key(secret), public_key(public_key_of(secret)) {}
  Secret private_key;
  PublicKey public_key;
};

// The result of a handshake: a key for each direction.
struct TransportKeys {
  Secret send, receive;
  Bytes32 handshake_hash{};
};

// SymmetricState of the specification, with the CipherState of the handshake in it.
class SymmetricState {
 public:
  explicit SymmetricState(base::Bytes prologue);
  void mix_hash(base::Bytes data);
  void mix_key(base::Bytes input);
  void mix_key_and_hash(const Secret& psk);
  // REQUIRES out.size() == plain.size() + kTagBytes and mix_key() before.
  void encrypt_and_hash(base::MutableBytes out, base::Bytes plain);
  [[nodiscard]] bool decrypt_and_hash(base::MutableBytes out, base::Bytes sealed);
  // The first key is for the messages of the initiator.
  std::array<Secret, 2> split() const;
  const Bytes32& hash() const { return hash_; }

 private:
  Bytes32 hash_;
  Secret chaining_key_;
  Secret cipher_key_;
  std::uint64_t nonce_ = 0;
};

// Lengths of the two messages without their payloads.
inline constexpr std::size_t kNoiseInitiationBytes = kKeyBytes + kKeyBytes + 2 * kTagBytes;
inline constexpr std::size_t kNoiseResponseBytes = kKeyBytes + kTagBytes;

class NoiseInitiator {
 public:
  // `shared` is x25519(own.private_key, responder). The references outlive this.
  NoiseInitiator(const StaticKey& own, const PublicKey& responder, const Secret& shared,
                 base::Bytes prologue);

  // REQUIRES out.size() == kNoiseInitiationBytes + payload.size(). Returns false if the key of the
  // responder is a point of low order.
  [[nodiscard]] bool write_initiation(const Secret& ephemeral, base::Bytes payload,
                                      base::MutableBytes out);
  // REQUIRES write_initiation(), in.size() == kNoiseResponseBytes + payload.size(). Returns nothing
  // if the message is not of this responder, for this initiation, with this psk; another one may
  // follow.
  std::optional<TransportKeys> read_response(base::Bytes in, const Secret& psk,
                                             base::MutableBytes payload) const;

 private:
  const StaticKey& own_;
  const PublicKey responder_;
  const Secret& shared_;
  Secret ephemeral_;
  SymmetricState state_;
};

class NoiseResponder {
 public:
  // `own` outlives this.
  NoiseResponder(const StaticKey& own, base::Bytes prologue);

  // Returns the key that the initiator claims to have; nothing if the message is not for us.
  // REQUIRES in.size() >= kNoiseInitiationBytes.
  std::optional<PublicKey> read_static(base::Bytes in);
  // Returns true if the initiator has that key. `shared` is x25519(own, initiator). REQUIRES
  // read_static() of the same message, and in.size() == kNoiseInitiationBytes + payload.size().
  [[nodiscard]] bool read_payload(base::Bytes in, const Secret& shared, base::MutableBytes payload);
  // REQUIRES read_payload(), out.size() == kNoiseResponseBytes + payload.size(). Returns nothing if
  // a key of the initiator is a point of low order.
  std::optional<TransportKeys> write_response(const Secret& ephemeral, const Secret& psk,
                                              base::Bytes payload, base::MutableBytes out);

 private:
  const StaticKey& own_;
  PublicKey initiator_, initiator_ephemeral_;
  SymmetricState state_;
};

}  // namespace splitnic::fabric::session
