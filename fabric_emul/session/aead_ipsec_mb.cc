// AES-256-GCM of Intel's libipsec-mb: one direct call per record, with VAES and AVX-512, AVX2 or
// SSE as the processor has them. The library is chosen when configuring; without it this provider
// is absent.
#include "fabric_emul/session/aead.h"

#ifdef SPLITNIC_HAS_IPSEC_MB
#include <intel-ipsec-mb.h>

#include <algorithm>

#include "base/check.h"
#include "fabric_emul/session/native_bytes.h"

namespace splitnic::fabric::session {
namespace {

// The functions for this processor; null if it has no AES instructions. They are never freed, as
// keys of any thread use them; the calls below keep no state in it.
IMB_MGR* manager() {
  static IMB_MGR* const kManager = [] {
    IMB_MGR* made = ::alloc_mb_mgr(0);
    if (made == nullptr) return made;
    ::init_mb_mgr_auto(made, nullptr);
    if ((made->features & IMB_FEATURE_AESNI) != 0 && made->gcm256_enc != nullptr) return made;
    ::free_mb_mgr(made);
    made = nullptr;
    return made;
  }();
  return kManager;
}

class IpsecMbAead final : public Aead {
 public:
  explicit IpsecMbAead(IMB_MGR& functions) : functions_(functions) {}
  ~IpsecMbAead() override {
    cleanse(std::as_writable_bytes(std::span(&key_, 1)));
    cleanse(std::as_writable_bytes(std::span(&state_, 1)));
  }

  void set_key(const Secret& key) override {
    IMB_AES256_GCM_PRE(&functions_, native(key.bytes().data()), &key_);
  }

  void seal(base::MutableBytes out, base::Bytes plain, const Nonce& nonce,
            base::Bytes associated) override {
    CHECK(out.size() == plain.size() + kTagBytes);
    IMB_AES256_GCM_ENC(&functions_, &key_, &state_, native(out.data()), native(plain.data()),
                       plain.size(), native(nonce.data()), native(associated.data()),
                       associated.size(), native(out.data() + plain.size()), kTagBytes);
  }

  bool open(base::MutableBytes out, base::Bytes sealed, const Nonce& nonce,
            base::Bytes associated) override {
    CHECK(sealed.size() == out.size() + kTagBytes);
    // In place, the tag behind `out` stays as it came.
    std::array<std::byte, kTagBytes> tag{};
    IMB_AES256_GCM_DEC(&functions_, &key_, &state_, native(out.data()), native(sealed.data()),
                       out.size(), native(nonce.data()), native(associated.data()),
                       associated.size(), native(tag.data()), kTagBytes);
    const base::Bytes received = sealed.last(kTagBytes);
    std::byte difference{0};
    for (std::size_t i = 0; i < kTagBytes; ++i) difference |= tag[i] ^ received[i];
    if (difference == std::byte{0}) return true;
    std::ranges::fill(out, std::byte{0});
    return false;
  }

 private:
  IMB_MGR& functions_;
  alignas(64) gcm_key_data key_{};
  gcm_context_data state_{};
};

}  // namespace

std::unique_ptr<Aead> make_ipsec_mb_aead() {
  IMB_MGR* const functions = manager();
  if (functions == nullptr) return nullptr;
  return std::make_unique<IpsecMbAead>(*functions);
}

}  // namespace splitnic::fabric::session
#else
namespace splitnic::fabric::session {

std::unique_ptr<Aead> make_ipsec_mb_aead() { return nullptr; }

}  // namespace splitnic::fabric::session
#endif
