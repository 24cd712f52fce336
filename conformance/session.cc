#include "conformance/session.h"

#include <utility>

#include "base/check.h"
#include "fabric_emul/session/attempt.h"

namespace splitnic::conformance {
namespace {

session::Secret shared_of(const session::Secret& own, const session::PublicKey& target) {
  auto shared = session::x25519(own, target);
  CHECK(shared);
  return *std::move(shared);
}

}  // namespace

Session::Session(const HostKeys& keys, base::Random& random, Stamp stamp)
    : random_(random),
      stamp_(std::move(stamp)),
      own_(keys.own),
      target_(keys.target),
      psk_(keys.psk),
      shared_(shared_of(keys.own, keys.target)),
      instance_(random.next() | 1) {}

Session::Initiation Session::initiation(std::optional<std::uint64_t> stamp,
                                        const session::Secret* own) {
  last_stamp_ = stamp ? *stamp : stamp_();
  attempt_ = random_.next32();
  Initiation message{};
  const base::MutableBytes room = session::begin_initiation(message, attempt_);
  const auto payload = session::InitiationPayload{last_stamp_, instance_}.emit();
  const session::Secret ephemeral = session::random_private_key(random_);
  if (own == nullptr) {
    noise_.emplace(own_, target_, shared_, session::prologue_for(target_));
    CHECK(noise_->write_initiation(ephemeral, payload, room));
  } else {
    const session::StaticKey other(*own);
    const session::Secret shared = shared_of(*own, target_);
    session::NoiseInitiator noise(other, target_, shared, session::prologue_for(target_));
    CHECK(noise.write_initiation(ephemeral, payload, room));
  }
  session::put_macs(message, session::MacKeys(target_), cookie_ ? &*cookie_ : nullptr);
  mac1_ = session::mac1_of(message);
  return message;
}

bool Session::take_cookie(base::Bytes datagram) {
  if (session::type_of(datagram) != session::MessageType::kCookie) return false;
  if (session::Cookie::receiver(datagram) != attempt_) return false;
  const auto cookie = session::open_cookie(datagram, session::MacKeys(target_), mac1_);
  if (cookie) cookie_ = cookie;
  return cookie.has_value();
}

void Session::begin_process() {
  instance_ = random_.next() | 1;
  noise_.reset();
  cookie_.reset();
  forget();
}

bool Session::take_response(base::Bytes datagram) {
  if (!noise_ || session::type_of(datagram) != session::MessageType::kResponse) return false;
  if (session::Response::receiver(datagram) != attempt_) return false;
  std::array<std::byte, session::kResponsePayloadBytes> payload{};
  const auto keys = noise_->read_response(session::Response::noise(datagram), psk_, payload);
  if (!keys) return false;
  take(keys_of(attempt_, session::Response::sender(datagram), *keys));
  return true;
}

}  // namespace splitnic::conformance
