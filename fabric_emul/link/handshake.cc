#include "fabric_emul/link/handshake.h"

#include <algorithm>
#include <utility>

namespace splitnic::fabric {

std::string_view name(LinkState state) {
  switch (state) {
    case LinkState::kFree:
      return "FREE";
    case LinkState::kConnecting:
      return "CONNECTING";
    case LinkState::kUp:
      return "UP";
    case LinkState::kSilent:
      return "SILENT";
    case LinkState::kCount_:
      break;
  }
  return "unknown";
}

bool Handshake::apply(LinkEvent event) {
  const LinkState before = std::exchange(state_, next(state_, event));
  if (state_ == LinkState::kUp && before != state_) refusal_ = InitReason::kNone;
  return state_ != before;
}

void Handshake::connect(base::Duration wait_min, Lid own) {
  apply(LinkEvent::kAssigned);
  peer_.local_lid = own;
  is_client_ = true;
  hello_wait_ = wait_min;
}

void Handshake::restart(base::Time at, base::Duration wait_min, base::Time often_until) {
  hello_wait_ = wait_min;
  next_hello_ = is_client_ ? at : base::kNever;
  often_until_ = often_until;
}

void Handshake::on_alive() {
  has_received_bye_ = false;
  if (!is_hello_pending()) next_hello_ = base::kNever;
}

void Handshake::forget() {
  apply(LinkEvent::kForgotten);
  peer_ = {};
}

Init Handshake::hello(base::Time now, base::Random& random, base::Duration wait_max, Init terms) {
  if (hello_nonce_ == 0) hello_nonce_ = random.next() | 1;
  terms.nonce = hello_nonce_;
  next_hello_ = now + hello_wait_;
  if (now < often_until_) {
    const auto third = static_cast<std::uint64_t>(hello_wait_.count()) / 3;
    next_hello_ += base::Duration(static_cast<base::Duration::rep>(random.below(third + 1)));
  } else {
    hello_wait_ = std::min(2 * hello_wait_, wait_max);
  }
  return addressed(terms);
}

Init Handshake::on_challenge(const Init& challenge, base::Random& random, Init terms) {
  if (proof_nonce_ == 0) proof_nonce_ = random.next() | 1;
  Init proof = addressed(terms);
  proof.peer_instance = challenge.instance;
  proof.nonce = proof_nonce_;
  proof.echo = challenge.nonce;
  return proof;
}

void Handshake::on_refuse(base::Time now, InitReason reason, base::Duration wait_max) {
  refusal_ = reason;
  hello_wait_ = wait_max;
  if (state_ != LinkState::kUp) next_hello_ = now + wait_max;
}

void Handshake::adopt(const Init& init, Lid local_lid, Lid remote_lid) {
  hello_nonce_ = proof_nonce_ = 0;
  peer_ = {init.eui64, init.instance,         local_lid, remote_lid, init.receive_buffer_bytes,
           init.port,  init.takes_fragments()};
}

Init Handshake::addressed(Init init) const {
  init.peer_instance = peer_.instance;
  init.lid = peer_.local_lid;
  init.offered_lid = is_client_ ? Lid() : peer_.remote_lid;
  return init;
}

}  // namespace splitnic::fabric
