#include "fabric_emul/link/siphash.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <array>
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

}  // namespace splitnic::fabric
