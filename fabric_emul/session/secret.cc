#include "fabric_emul/session/secret.h"

#include <openssl/crypto.h>

#include <new>

#include "base/check.h"

namespace splitnic::fabric::session {
namespace {

constexpr std::size_t kLockedBytes = 256 * 1024;
constexpr int kNotLocked = 2;  // CRYPTO_secure_malloc_init(3): memory without mlock()

void* allocate() {
  // libcrypto has no fallback for a private key when the locked memory is full.
  const bool has_room =
      ::CRYPTO_secure_malloc_initialized() == 1 && ::CRYPTO_secure_used() < kLockedBytes / 2;
  return has_room ? OPENSSL_secure_malloc(sizeof(Bytes32)) : OPENSSL_malloc(sizeof(Bytes32));
}

}  // namespace

void cleanse(base::MutableBytes bytes) { ::OPENSSL_cleanse(bytes.data(), bytes.size()); }

base::Status lock_secrets() {
  if (::CRYPTO_secure_malloc_initialized() == 1) return {};
  const int made = ::CRYPTO_secure_malloc_init(kLockedBytes, sizeof(Bytes32));
  if (made == 1) return {};
  const std::string why = made == kNotLocked ? "are not locked and may be swapped out"
                                             : "have no memory for themselves";
  return base::Error("keys " + why + ": allow " + std::to_string(kLockedBytes / 1024) +
                     " KiB of locked memory (ulimit -l)");
}

Secret::Secret() {
  void* const room = allocate();
  CHECK(room != nullptr);
  bytes_.reset(new (room) Bytes32{});
}

void Secret::Freer::operator()(Bytes32* bytes) const {
  OPENSSL_secure_clear_free(bytes, sizeof(Bytes32));
}

}  // namespace splitnic::fabric::session
