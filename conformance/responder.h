// The responder of a keyed link with one peer. It parses INITIATION and builds RESPONSE, COOKIE and
// records by the formats of fabric_emul/session, without the state machine there, so that a case
// can send what that would not. docs/protocol/session.md  Thread: its owner.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "conformance/records.h"

namespace splitnic::conformance {

// An INITIATION of the peer.
struct SeenInitiation {
  std::vector<std::byte> bytes;
  session::InitiationPayload payload{};
  base::Bytes ephemeral() const { return session::Initiation::noise(bytes).first(32); }
};

class Responder final : public Records {
 public:
  // `own` and `psk` are the keys of the unit, `peer` the only key that is allowed. `random`
  // outlives this. REQUIRES a peer whose key is no point of low order.
  Responder(const session::Secret& own, const session::PublicKey& peer, const session::Secret& psk,
            base::Random& random);

  // Returns the INITIATION of the peer that the datagram is, or why it is none.
  struct Taken {
    std::optional<SeenInitiation> initiation;
    std::string why;
  };
  Taken take_initiation(base::Bytes datagram);
  // Returns the RESPONSE to the INITIATION that was taken last. REQUIRES one without a RESPONSE.
  // The new keys seal as soon as a record under them was good.
  std::vector<std::byte> response();
  // Returns the COOKIE message with this cookie for an INITIATION.
  std::vector<std::byte> cookie(base::Bytes initiation, const session::Mac& cookie);
  std::optional<std::vector<std::byte>> open(base::Bytes record) override;

  bool responds = true;  // to each INITIATION at once
  const session::PublicKey& public_key() const { return own_.public_key; }
  const session::PublicKey& peer() const { return peer_; }

 private:
  base::Random& random_;
  session::StaticKey own_;
  session::PublicKey peer_;
  session::Secret psk_, shared_;
  std::uint64_t instance_;
  std::optional<session::NoiseResponder> noise_;  // of the INITIATION that was taken last
  std::uint32_t remote_ = 0;
  Keys next_;  // until a record under them is good
};

}  // namespace splitnic::conformance
