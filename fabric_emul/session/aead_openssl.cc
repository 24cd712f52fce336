// AES-256-GCM of libcrypto: always there, and the reference for the other provider. A context per
// direction keeps the expanded key; each call sets the nonce only.
#include <openssl/evp.h>

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "fabric_emul/session/aead.h"
#include "fabric_emul/session/native_bytes.h"

namespace splitnic::fabric::session {
namespace {

struct ContextFreer {
  void operator()(EVP_CIPHER_CTX* context) const { ::EVP_CIPHER_CTX_free(context); }  // cleanses
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, ContextFreer>;

class OpenSslAead final : public Aead {
 public:
  OpenSslAead() : sealing_(::EVP_CIPHER_CTX_new()), opening_(::EVP_CIPHER_CTX_new()) {
    CHECK(sealing_ && opening_);
  }

  void set_key(const Secret& key) override {
    static EVP_CIPHER* const kCipher = ::EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
    CHECK(kCipher != nullptr);
    const unsigned char* bytes = native(key.bytes().data());
    CHECK(::EVP_EncryptInit_ex2(sealing_.get(), kCipher, bytes, nullptr, nullptr) == 1);
    CHECK(::EVP_DecryptInit_ex2(opening_.get(), kCipher, bytes, nullptr, nullptr) == 1);
  }

  void seal(base::MutableBytes out, base::Bytes plain, const Nonce& nonce,
            base::Bytes associated) override {
    CHECK(out.size() == plain.size() + kTagBytes);
    EVP_CIPHER_CTX* const context = sealing_.get();
    int bytes = 0;
    CHECK(::EVP_EncryptInit_ex2(context, nullptr, nullptr, native(nonce.data()), nullptr) == 1 &&
          ::EVP_EncryptUpdate(context, nullptr, &bytes, native(associated.data()),
                              static_cast<int>(associated.size())) == 1 &&
          update(::EVP_EncryptUpdate, context, out.data(), plain) &&
          ::EVP_EncryptFinal_ex(context, native(out.data() + plain.size()), &bytes) == 1 &&
          ::EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kTagBytes,
                                out.data() + plain.size()) == 1);
  }

  bool open(base::MutableBytes out, base::Bytes sealed, const Nonce& nonce,
            base::Bytes associated) override {
    CHECK(sealed.size() == out.size() + kTagBytes);
    EVP_CIPHER_CTX* const context = opening_.get();
    const base::Bytes tag = sealed.last(kTagBytes);
    int bytes = 0;
    CHECK(::EVP_DecryptInit_ex2(context, nullptr, nullptr, native(nonce.data()), nullptr) == 1 &&
          ::EVP_DecryptUpdate(context, nullptr, &bytes, native(associated.data()),
                              static_cast<int>(associated.size())) == 1 &&
          update(::EVP_DecryptUpdate, context, out.data(), sealed.first(out.size())) &&
          ::EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, kTagBytes,
                                const_cast<std::byte*>(tag.data())) == 1);
    std::array<unsigned char, kTagBytes> none{};  // GCM has no last block
    if (::EVP_DecryptFinal_ex(context, none.data(), &bytes) == 1) return true;
    std::ranges::fill(out, std::byte{0});
    return false;
  }

 private:
  template <class Update>
  static bool update(Update call, EVP_CIPHER_CTX* context, std::byte* out, base::Bytes in) {
    int bytes = 0;
    return in.empty() ||
           call(context, native(out), &bytes, native(in.data()), static_cast<int>(in.size())) == 1;
  }

  Context sealing_, opening_;
};

}  // namespace

std::unique_ptr<Aead> make_openssl_aead() { return std::make_unique<OpenSslAead>(); }

}  // namespace splitnic::fabric::session
