#include "fabric_emul/session/crypto.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/endian.h"

namespace splitnic::fabric::session {
namespace {

template <class T, void (*kFree)(T*)>
struct Freer {
  void operator()(T* object) const { kFree(object); }
};
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freer<EVP_MD_CTX, ::EVP_MD_CTX_free>>;
using MacContext = std::unique_ptr<EVP_MAC_CTX, Freer<EVP_MAC_CTX, ::EVP_MAC_CTX_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, ::EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freer<EVP_PKEY_CTX, ::EVP_PKEY_CTX_free>>;

const unsigned char* native(base::Bytes bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* native(Bytes32& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

Key private_key_from(const Secret& secret) {
  Key key(::EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, native(secret.bytes()),
                                         secret.bytes().size()));
  CHECK(key != nullptr);
  return key;
}

}  // namespace

Bytes32 sha256(std::initializer_list<base::Bytes> parts) {
  const DigestContext context(::EVP_MD_CTX_new());
  bool is_done = context && ::EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  for (const base::Bytes part : parts) {
    is_done = is_done && ::EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1;
  }
  Bytes32 digest{};
  CHECK(is_done && ::EVP_DigestFinal_ex(context.get(), native(digest), nullptr) == 1);
  return digest;
}

namespace {

void hmac_into(Bytes32& mac, base::Bytes key, std::initializer_list<base::Bytes> parts) {
  static EVP_MAC* const kMac = ::EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  CHECK(kMac != nullptr);
  const MacContext context(::EVP_MAC_CTX_new(kMac));
  std::array<char, 7> digest{"SHA256"};
  const std::array<OSSL_PARAM, 2> parameters{
      ::OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
      ::OSSL_PARAM_construct_end()};
  bool is_done =
      context && ::EVP_MAC_init(context.get(), native(key), key.size(), parameters.data()) == 1;
  for (const base::Bytes part : parts) {
    is_done = is_done && ::EVP_MAC_update(context.get(), native(part), part.size()) == 1;
  }
  std::size_t bytes = mac.size();
  CHECK(is_done && ::EVP_MAC_final(context.get(), native(mac), &bytes, mac.size()) == 1);
}

}  // namespace

Bytes32 hmac(base::Bytes key, std::initializer_list<base::Bytes> parts) {
  Bytes32 mac{};
  hmac_into(mac, key, parts);
  return mac;
}

template <std::size_t kOutputs>
std::array<Secret, kOutputs> hkdf(const Secret& chaining_key, base::Bytes input) {
  // Nothing of it is in memory that is not overwritten.
  Secret extracted;
  hmac_into(extracted.mutable_bytes(), chaining_key.bytes(), {input});
  std::array<Secret, kOutputs> outputs;
  base::Bytes before;
  for (std::size_t i = 0; i < kOutputs; ++i) {
    const std::array<std::byte, 1> number{static_cast<std::byte>(i + 1)};
    hmac_into(outputs[i].mutable_bytes(), extracted.bytes(), {before, number});
    before = outputs[i].bytes();
  }
  return outputs;
}

template std::array<Secret, 2> hkdf<2>(const Secret&, base::Bytes);
template std::array<Secret, 3> hkdf<3>(const Secret&, base::Bytes);

Secret random_private_key(base::Random& random) {
  Secret key;
  Bytes32& bytes = key.mutable_bytes();
  for (std::size_t i = 0; i < bytes.size(); i += 8) base::store_be(&bytes[i], random.next());
  bytes.front() &= std::byte{0xF8};
  bytes.back() = (bytes.back() & std::byte{0x7F}) | std::byte{0x40};
  return key;
}

PublicKey public_key_of(const Secret& private_key) {
  const Key key = private_key_from(private_key);
  PublicKey made;
  std::size_t bytes = made.bytes.size();
  CHECK(::EVP_PKEY_get_raw_public_key(key.get(), native(made.bytes), &bytes) == 1);
  return made;
}

std::optional<Secret> x25519(const Secret& private_key, const PublicKey& public_key) {
  const Key own = private_key_from(private_key);
  const Key peer(::EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, native(public_key.bytes),
                                               public_key.bytes.size()));
  const KeyContext context(::EVP_PKEY_CTX_new(own.get(), nullptr));
  CHECK(peer && context && ::EVP_PKEY_derive_init(context.get()) == 1 &&
        ::EVP_PKEY_derive_set_peer(context.get(), peer.get()) == 1);
  Secret shared;
  std::size_t bytes = kKeyBytes;
  // It refuses the all-zero result of a point of low order.
  if (::EVP_PKEY_derive(context.get(), native(shared.mutable_bytes()), &bytes) != 1) return {};
  return shared;
}

bool is_equal(base::Bytes a, base::Bytes b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace splitnic::fabric::session
