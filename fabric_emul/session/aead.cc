#include "fabric_emul/session/aead.h"

namespace splitnic::fabric::session {

std::string_view name_of(AeadProvider provider) {
  switch (provider) {
    case AeadProvider::kOpenSsl:
      return "OpenSSL";
    case AeadProvider::kIpsecMb:
      return "libipsec-mb";
  }
  return "";
}

std::unique_ptr<Aead> make_aead(AeadProvider provider) {
  return provider == AeadProvider::kIpsecMb ? make_ipsec_mb_aead() : make_openssl_aead();
}

AeadProvider best_aead_provider() {
  static const bool kHasIpsecMb = make_ipsec_mb_aead() != nullptr;
  return kHasIpsecMb ? AeadProvider::kIpsecMb : AeadProvider::kOpenSsl;
}

}  // namespace splitnic::fabric::session
