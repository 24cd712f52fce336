// The responder's end of a keyed link, from the formats of fabric_emul/session and without its
// state machine: takes each INITIATION of its one peer apart, and builds RESPONSE, COOKIE and
// records. docs/protocol/session.md
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
  // `own` and `psk`: of the unit; `peer`: the only key that is allowed. `random` outlives this.
  // REQUIRES a peer whose key is no point of low order.
  Responder(const session::Secret& own, const session::PublicKey& peer, const session::Secret& psk,
            base::Random& random);

  // Takes a datagram that is an INITIATION of the peer; else returns why it is none.
  struct Taken {
    std::optional<SeenInitiation> initiation;
    std::string why;
  };
  Taken take_initiation(base::Bytes datagram);
  // The RESPONSE to the initiation that was taken last, once. REQUIRES one. Its keys seal as soon
  // as a record under them was good.
  std::vector<std::byte> response();
  // COOKIE for it.
  std::vector<std::byte> cookie(base::Bytes initiation, const session::Mac& cookie);
  std::optional<std::vector<std::byte>> open(base::Bytes record) override;

  // Whether each INITIATION gets its RESPONSE at once.
  bool responds = true;
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
