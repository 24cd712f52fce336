#include "fabric_emul/link/challenge.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/endian.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kHashBytes = 8;  // libcrypto's default is 16

// SipHash reads and writes its words little endian.
void store_le(unsigned char* at, std::uint64_t word) {
  base::store_be(reinterpret_cast<std::byte*>(at), __builtin_bswap64(word));
}

}  // namespace

std::uint64_t siphash(const SipKey& key, base::Bytes bytes) {
  static EVP_MAC* const kMac = ::EVP_MAC_fetch(nullptr, "SIPHASH", nullptr);
  CHECK(kMac != nullptr);
  const std::unique_ptr<EVP_MAC_CTX, void (*)(EVP_MAC_CTX*)> context(::EVP_MAC_CTX_new(kMac),
                                                                     ::EVP_MAC_CTX_free);
  std::array<unsigned char, 16> key_bytes{};
  store_le(key_bytes.data(), key.k0);
  store_le(key_bytes.data() + 8, key.k1);
  std::size_t size = kHashBytes;
  const std::array<OSSL_PARAM, 2> parameters{
      ::OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &size), ::OSSL_PARAM_construct_end()};
  std::array<std::byte, kHashBytes> hash{};
  const bool is_done =
      context != nullptr &&
      ::EVP_MAC_init(context.get(), key_bytes.data(), key_bytes.size(), parameters.data()) == 1 &&
      ::EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(bytes.data()),
                       bytes.size()) == 1 &&
      ::EVP_MAC_final(context.get(), reinterpret_cast<unsigned char*>(hash.data()), &size,
                      hash.size()) == 1;
  CHECK(is_done);
  return __builtin_bswap64(base::load_be<std::uint64_t>(hash.data()));
}

Challenge::Challenge(base::Random& random) : random_(random), current_(draw()), previous_(draw()) {}

SipKey Challenge::draw() {
  const std::uint64_t k0 = random_.next();
  return {k0, random_.next()};
}

void Challenge::renew(base::Time now) {
  if (now < renew_at_) return;
  // After a long pause the current key is too old, too.
  previous_ = now - renew_at_ < kLifetime ? current_ : draw();
  current_ = draw();
  renew_at_ = now + std::chrono::duration_cast<base::Time::duration>(kLifetime);
}

namespace {

std::uint64_t token_of(const SipKey& key, const Challenge::Subject& subject) {
  std::array<std::byte, 28 + 3 * 8> bytes{};
  std::memcpy(bytes.data(), subject.address.bytes.data(), subject.address.bytes.size());
  base::store_be(bytes.data() + 28, subject.eui64.value);
  base::store_be(bytes.data() + 36, subject.instance);
  base::store_be(bytes.data() + 44, subject.replaced_instance);
  const std::uint64_t token = siphash(key, bytes);
  return token == 0 ? 1 : token;
}

}  // namespace

std::uint64_t Challenge::token(base::Time now, const Subject& subject) {
  renew(now);
  return token_of(current_, subject);
}

bool Challenge::accepts(base::Time now, const Subject& subject, std::uint64_t token) {
  renew(now);
  return token == token_of(current_, subject) || token == token_of(previous_, subject);
}

}  // namespace splitnic::fabric
