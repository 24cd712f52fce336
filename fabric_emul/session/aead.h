// The seam for authenticated encryption: AES-256-GCM with a nonce of 12 bytes and a tag of 16
// [NIST SP 800-38D]. Providers give the same bytes; which one is the fastest depends on the
// processor (docs/performance/aead.md). One object has one key, and one owner.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/endian.h"
#include "fabric_emul/session/secret.h"

namespace splitnic::fabric::session {

inline constexpr std::size_t kTagBytes = 16;
inline constexpr std::size_t kNonceBytes = 12;
using Nonce = std::array<std::byte, kNonceBytes>;

// The nonce of a counter: four zero bytes, then the counter, big endian. A counter must never be
// used twice with one key.
inline Nonce nonce_of(std::uint64_t counter) {
  Nonce nonce{};
  base::store_be(&nonce[4], counter);
  return nonce;
}

class Aead {
 public:
  virtual ~Aead() = default;

  virtual void set_key(const Secret& key) = 0;
  // Writes the ciphertext of `plain` and behind it the tag. REQUIRES out.size() == plain.size() +
  // kTagBytes, a key, and that `out` and `plain` begin at the same byte or do not overlap.
  virtual void seal(base::MutableBytes out, base::Bytes plain, const Nonce& nonce,
                    base::Bytes associated) = 0;
  // Writes the plaintext of `sealed` and returns true if the tag is right, else overwrites `out`
  // with zeros. REQUIRES sealed.size() >= kTagBytes, out.size() == sealed.size() - kTagBytes, a
  // key, and that `out` and `sealed` begin at the same byte or do not overlap.
  [[nodiscard]] virtual bool open(base::MutableBytes out, base::Bytes sealed, const Nonce& nonce,
                                  base::Bytes associated) = 0;
};

enum class AeadProvider : std::uint8_t { kOpenSsl, kIpsecMb };

std::string_view name_of(AeadProvider provider);
// Returns nothing if the program was built without this provider, or the processor lacks what it
// needs (kIpsecMb: AES-NI). kOpenSsl is always there.
std::unique_ptr<Aead> make_aead(AeadProvider provider);
// Returns the fastest one here.
AeadProvider best_aead_provider();

// The providers; for make_aead().
std::unique_ptr<Aead> make_openssl_aead();
std::unique_ptr<Aead> make_ipsec_mb_aead();

}  // namespace splitnic::fabric::session
