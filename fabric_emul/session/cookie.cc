#include "fabric_emul/session/cookie.h"

#include <algorithm>

#include "base/check.h"
#include "base/endian.h"

namespace splitnic::fabric::session {
namespace {

Mac first_half(const Bytes32& bytes) {
  Mac mac{};
  std::copy_n(bytes.begin(), mac.size(), mac.begin());
  return mac;
}

Mac mac2_of(const Mac& cookie, base::Bytes message) {
  return first_half(hmac(cookie, {message.first(message.size() - kMacBytes)}));
}

Secret draw(base::Random& random) {
  Secret secret;
  Bytes32& bytes = secret.mutable_bytes();
  for (std::size_t i = 0; i < bytes.size(); i += 8) base::store_be(&bytes[i], random.next());
  return secret;
}

}  // namespace

MacKeys::MacKeys(const PublicKey& receiver)
    : mac1_key_(sha256({base::as_bytes("splitnic mac1"), receiver.bytes})),
      cookie_key_(sha256({base::as_bytes("splitnic cookie"), receiver.bytes})) {}

Mac MacKeys::mac1(base::Bytes before_mac1) const {
  return first_half(hmac(mac1_key_, {before_mac1}));
}

Secret MacKeys::cookie_key(const Mac& mac1) const { return Secret(hmac(cookie_key_, {mac1})); }

void put_macs(base::MutableBytes message, const MacKeys& receiver, const Mac* cookie) {
  const base::MutableBytes macs = message.last(2 * kMacBytes);
  std::ranges::copy(receiver.mac1(message.first(message.size() - macs.size())), macs.begin());
  const Mac mac2 = cookie == nullptr ? Mac{} : mac2_of(*cookie, message);
  std::ranges::copy(mac2, macs.begin() + kMacBytes);
}

bool has_mac1(base::Bytes message, const MacKeys& own) {
  return is_equal(own.mac1(message.first(message.size() - 2 * kMacBytes)),
                  message.subspan(message.size() - 2 * kMacBytes, kMacBytes));
}

Mac mac1_of(base::Bytes message) {
  Mac mac{};
  std::ranges::copy(message.subspan(message.size() - 2 * kMacBytes, kMacBytes), mac.begin());
  return mac;
}

CookieJar::CookieJar(base::Random& random, const MacKeys& own)
    : random_(random), own_(own), current_(draw(random)), previous_(draw(random)) {}

void CookieJar::renew(base::Time now) {
  if (now < renew_at_) return;
  // After a long pause the current secret is too old, too.
  previous_ = now - renew_at_ < kCookieLifetime ? current_ : draw(random_);
  current_ = draw(random_);
  renew_at_ = now + std::chrono::duration_cast<base::Time::duration>(kCookieLifetime);
}

Mac CookieJar::cookie_of(const Secret& secret, const PeerAddress& from) const {
  return first_half(hmac(secret.bytes(), {from.bytes}));
}

bool CookieJar::has_mac2(base::Time now, base::Bytes message, const PeerAddress& from) {
  const base::Bytes mac2 = message.last(kMacBytes);
  if (is_equal(mac2, Mac{})) return false;  // the usual case of a flood costs no HMAC
  renew(now);
  return is_equal(mac2_of(cookie_of(current_, from), message), mac2) ||
         is_equal(mac2_of(cookie_of(previous_, from), message), mac2);
}

std::array<std::byte, kCookieBytes> CookieJar::reply(base::Time now, base::Bytes message,
                                                     std::uint32_t receiver,
                                                     const PeerAddress& from) {
  renew(now);
  Nonce nonce{};
  base::store_be(nonce.data(), random_.next());
  base::store_be(&nonce[8], random_.next32());
  const Mac mac1 = mac1_of(message);
  std::array<std::byte, kCookieBytes> out{};
  const base::MutableBytes sealed = begin_cookie(out, receiver, nonce);
  const auto aead = make_openssl_aead();
  aead->set_key(own_.cookie_key(mac1));
  aead->seal(sealed, cookie_of(current_, from), nonce, mac1);
  return out;
}

std::optional<Mac> open_cookie(base::Bytes reply, const MacKeys& responder, const Mac& mac1) {
  Mac cookie{};
  const auto aead = make_openssl_aead();
  aead->set_key(responder.cookie_key(mac1));
  if (!aead->open(cookie, Cookie::sealed(reply), Cookie::nonce(reply), mac1)) return {};
  return cookie;
}

}  // namespace splitnic::fabric::session
