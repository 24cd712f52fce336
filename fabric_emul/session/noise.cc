#include "fabric_emul/session/noise.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"

namespace splitnic::fabric::session {
namespace {

constexpr std::string_view kName = "Noise_IKpsk2_25519_AESGCM_SHA256";
static_assert(kName.size() == kKeyBytes);  // so it is its own hash

Bytes32 hash_of_name() {
  Bytes32 bytes{};
  std::ranges::copy(base::as_bytes(kName), bytes.begin());
  return bytes;
}

PublicKey public_key_at(base::Bytes in) {
  PublicKey key;
  std::ranges::copy(in.first(kKeyBytes), key.bytes.begin());
  return key;
}

// The token e of a pattern with a psk: the public key enters the hash and the chaining key.
void mix_ephemeral(SymmetricState& state, base::Bytes public_key) {
  state.mix_hash(public_key);
  state.mix_key(public_key);
}

// The token of a shared secret. Returns false if a key is a point of low order.
bool mix_shared(SymmetricState& state, const Secret& private_key, const PublicKey& public_key) {
  const std::optional<Secret> shared = x25519(private_key, public_key);
  if (shared) state.mix_key(shared->bytes());
  return shared.has_value();
}

// Message 1, by offset.
constexpr std::size_t kStaticAt = kKeyBytes;
constexpr std::size_t kStaticBytes = kKeyBytes + kTagBytes;
constexpr std::size_t kPayloadAt = kStaticAt + kStaticBytes;

}  // namespace

SymmetricState::SymmetricState(base::Bytes prologue) : hash_(hash_of_name()), chaining_key_(hash_) {
  mix_hash(prologue);
}

void SymmetricState::mix_hash(base::Bytes data) { hash_ = sha256({hash_, data}); }

void SymmetricState::mix_key(base::Bytes input) {
  auto [chaining_key, key] = hkdf<2>(chaining_key_, input);
  chaining_key_ = std::move(chaining_key);
  cipher_key_ = std::move(key);
  nonce_ = 0;
}

void SymmetricState::mix_key_and_hash(const Secret& psk) {
  auto [chaining_key, hashed, key] = hkdf<3>(chaining_key_, psk.bytes());
  chaining_key_ = std::move(chaining_key);
  mix_hash(hashed.bytes());
  cipher_key_ = std::move(key);
  nonce_ = 0;
}

void SymmetricState::encrypt_and_hash(base::MutableBytes out, base::Bytes plain) {
  const auto aead = make_openssl_aead();
  aead->set_key(cipher_key_);
  aead->seal(out, plain, nonce_of(nonce_++), hash_);
  mix_hash(out);
}

bool SymmetricState::decrypt_and_hash(base::MutableBytes out, base::Bytes sealed) {
  const auto aead = make_openssl_aead();
  aead->set_key(cipher_key_);
  if (!aead->open(out, sealed, nonce_of(nonce_++), hash_)) return false;
  mix_hash(sealed);
  return true;
}

std::array<Secret, 2> SymmetricState::split() const { return hkdf<2>(chaining_key_, {}); }

NoiseInitiator::NoiseInitiator(const StaticKey& own, const PublicKey& responder,
                               const Secret& shared, base::Bytes prologue)
    : own_(own), responder_(responder), shared_(shared), state_(prologue) {
  state_.mix_hash(responder_.bytes);
}

bool NoiseInitiator::write_initiation(const Secret& ephemeral, base::Bytes payload,
                                      base::MutableBytes out) {
  CHECK(out.size() == kNoiseInitiationBytes + payload.size());
  ephemeral_ = ephemeral;
  const PublicKey public_key = public_key_of(ephemeral);
  std::ranges::copy(public_key.bytes, out.begin());
  mix_ephemeral(state_, public_key.bytes);
  if (!mix_shared(state_, ephemeral, responder_)) return false;  // es
  state_.encrypt_and_hash(out.subspan(kStaticAt, kStaticBytes), own_.public_key.bytes);
  state_.mix_key(shared_.bytes());  // ss
  state_.encrypt_and_hash(out.subspan(kPayloadAt), payload);
  return true;
}

std::optional<TransportKeys> NoiseInitiator::read_response(base::Bytes in, const Secret& psk,
                                                           base::MutableBytes payload) const {
  CHECK(in.size() == kNoiseResponseBytes + payload.size());
  SymmetricState state = state_;
  const PublicKey ephemeral = public_key_at(in);
  mix_ephemeral(state, ephemeral.bytes);
  if (!mix_shared(state, ephemeral_, ephemeral)) return {};        // ee
  if (!mix_shared(state, own_.private_key, ephemeral)) return {};  // se
  state.mix_key_and_hash(psk);
  if (!state.decrypt_and_hash(payload, in.subspan(kKeyBytes))) return {};
  auto [sent, received] = state.split();
  return TransportKeys{std::move(sent), std::move(received), state.hash()};
}

NoiseResponder::NoiseResponder(const StaticKey& own, base::Bytes prologue)
    : own_(own), state_(prologue) {
  state_.mix_hash(own_.public_key.bytes);
}

std::optional<PublicKey> NoiseResponder::read_static(base::Bytes in) {
  CHECK(in.size() >= kNoiseInitiationBytes);
  initiator_ephemeral_ = public_key_at(in);
  mix_ephemeral(state_, initiator_ephemeral_.bytes);
  if (!mix_shared(state_, own_.private_key, initiator_ephemeral_)) return {};  // es
  if (!state_.decrypt_and_hash(initiator_.bytes, in.subspan(kStaticAt, kStaticBytes))) return {};
  return initiator_;
}

bool NoiseResponder::read_payload(base::Bytes in, const Secret& shared,
                                  base::MutableBytes payload) {
  CHECK(in.size() == kNoiseInitiationBytes + payload.size());
  state_.mix_key(shared.bytes());  // ss
  return state_.decrypt_and_hash(payload, in.subspan(kPayloadAt));
}

std::optional<TransportKeys> NoiseResponder::write_response(const Secret& ephemeral,
                                                            const Secret& psk, base::Bytes payload,
                                                            base::MutableBytes out) {
  CHECK(out.size() == kNoiseResponseBytes + payload.size());
  const PublicKey public_key = public_key_of(ephemeral);
  std::ranges::copy(public_key.bytes, out.begin());
  mix_ephemeral(state_, public_key.bytes);
  if (!mix_shared(state_, ephemeral, initiator_ephemeral_)) return {};  // ee
  if (!mix_shared(state_, ephemeral, initiator_)) return {};            // se
  state_.mix_key_and_hash(psk);
  state_.encrypt_and_hash(out.subspan(kKeyBytes), payload);
  auto [received, sent] = state_.split();
  return TransportKeys{std::move(sent), std::move(received), state_.hash()};
}

}  // namespace splitnic::fabric::session
