#include "conformance/responder.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "fabric_emul/session/attempt.h"
#include "fabric_emul/session/cookie.h"

namespace splitnic::conformance {

Responder::Responder(const session::Secret& own, const session::PublicKey& peer,
                     const session::Secret& psk, base::Random& random)
    : random_(random), own_(own), peer_(peer), psk_(psk), instance_(random.next() | 1) {
  auto shared = session::x25519(own, peer);
  CHECK(shared);
  shared_ = *std::move(shared);
}

Responder::Taken Responder::take_initiation(base::Bytes datagram) {
  if (session::type_of(datagram) != session::MessageType::kInitiation) {
    return {{}, "no INITIATION of this version with reserved bytes of 0"};
  }
  if (!session::has_mac1(datagram, session::MacKeys(own_.public_key))) return {{}, "a wrong mac1"};
  const base::Bytes noise = session::Initiation::noise(datagram);
  noise_.emplace(own_, session::prologue_for(own_.public_key));
  const auto key = noise_->read_static(noise);
  if (!key) return {{}, "an INITIATION for another public key"};
  if (*key != peer_) return {{}, "an INITIATION of a key that is not --peer"};
  std::array<std::byte, session::kInitiationPayloadBytes> payload{};
  if (!noise_->read_payload(noise, shared_, payload)) return {{}, "a payload that does not open"};
  remote_ = session::Initiation::sender(datagram);
  SeenInitiation seen{{datagram.begin(), datagram.end()},
                      session::InitiationPayload::parse(payload)};
  return {std::move(seen), {}};
}

std::vector<std::byte> Responder::response() {
  CHECK(noise_);
  const std::uint32_t local = random_.next32();
  std::vector<std::byte> message(session::kResponseBytes);
  const base::MutableBytes room = session::begin_response(message, local, remote_);
  const auto keys = noise_->write_response(session::random_private_key(random_), psk_,
                                           session::ResponsePayload{instance_}.emit(), room);
  noise_.reset();
  if (!keys) return {};
  session::put_macs(message, session::MacKeys(peer_), nullptr);
  next_ = keys_of(local, remote_, *keys);
  return message;
}

std::vector<std::byte> Responder::cookie(base::Bytes initiation, const session::Mac& cookie) {
  session::Nonce nonce{};
  for (std::byte& b : nonce) b = static_cast<std::byte>(random_.next32() >> 24);
  std::vector<std::byte> message(session::kCookieBytes);
  const base::MutableBytes room =
      session::begin_cookie(message, session::Initiation::sender(initiation), nonce);
  const session::Mac mac1 = session::mac1_of(initiation);
  const auto aead = session::make_aead(session::AeadProvider::kOpenSsl);
  aead->set_key(session::MacKeys(own_.public_key).cookie_key(mac1));
  aead->seal(room, cookie, nonce, mac1);
  return message;
}

std::optional<std::vector<std::byte>> Responder::open(base::Bytes record) {
  if (auto plain = open_with(next_, record)) {
    take(std::exchange(next_, {}));
    return plain;
  }
  return Records::open(record);
}

}  // namespace splitnic::conformance
