// The INIT handshake of one link: its state, who the peer is, which nonces wait for an echo
// and when the next HELLO is due. Sans-I/O: steps come in, the steps to send come out, time and
// nonces are passed in.
//   client: HELLO -> (CHALLENGE -> ANSWER ->) READY; repeated with back-off until READY comes
//   listener: READY to a peer whose address is proven; the proof is Challenge's
// Invariant: peer() changes only by adopt(). Thread: the data thread. docs/protocol/init.md#init
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "base/state_edges.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/init.h"

namespace splitnic::fabric {

enum class LinkState : std::uint8_t {
  kFree,        // no peer; the slot can be taken
  kConnecting,  // INIT in progress, or the peer sent BYE: only INIT is accepted
  kUp,
  kSilent,  // was up, nothing heard for too long; any valid flit brings it back
  kCount_
};
std::string_view name(LinkState state);

enum class LinkEvent : std::uint8_t {
  kAssigned,   // the slot was given to a peer
  kReady,      // INIT is complete
  kHeard,      // a valid flit arrived
  kSilence,    // no flit arrived for too long
  kEnded,      // BYE, another instance, or no ACK of flits: only INIT brings the link back
  kForgotten,  // the slot is taken from its peer
  kCount_
};

inline constexpr auto kLinkEdges = std::to_array<base::StateEdge<LinkState, LinkEvent>>({
    {LinkState::kFree, LinkEvent::kAssigned, LinkState::kConnecting},
    {LinkState::kConnecting, LinkEvent::kReady, LinkState::kUp},
    {LinkState::kConnecting, LinkEvent::kForgotten, LinkState::kFree},
    {LinkState::kUp, LinkEvent::kSilence, LinkState::kSilent},
    {LinkState::kUp, LinkEvent::kEnded, LinkState::kConnecting},
    {LinkState::kSilent, LinkEvent::kHeard, LinkState::kUp},
    {LinkState::kSilent, LinkEvent::kReady, LinkState::kUp},
    {LinkState::kSilent, LinkEvent::kEnded, LinkState::kConnecting},
});
// An event without an edge leaves the state as it is.
constexpr LinkState next(LinkState state, LinkEvent event) {
  return base::next_state(kLinkEdges, state, event).value_or(state);
}

// The end that accepts a step. A listener takes HELLO and ANSWER of any sender, the others need a
// link.
enum class InitTaker : std::uint8_t { kListener, kClient, kEither };
struct InitStepRule {
  InitStep step;
  InitTaker taker;
};
inline constexpr auto kInitStepRules = std::to_array<InitStepRule>({
    {InitStep::kHello, InitTaker::kListener},
    {InitStep::kChallenge, InitTaker::kClient},
    {InitStep::kAnswer, InitTaker::kListener},
    {InitStep::kReady, InitTaker::kClient},
    {InitStep::kRefuse, InitTaker::kClient},
    {InitStep::kBye, InitTaker::kEither},
    {InitStep::kProbe, InitTaker::kEither},
    {InitStep::kProbeReply, InitTaker::kEither},
});
constexpr InitTaker taker_of(InitStep step) {
  return kInitStepRules[static_cast<std::size_t>(step) - 1].taker;
}
static_assert([] {
  for (std::size_t i = 0; i < kInitStepRules.size(); ++i) {
    if (static_cast<std::size_t>(kInitStepRules[i].step) != i + 1) return false;
  }
  return kInitStepRules.size() == static_cast<std::size_t>(InitStep::kProbeReply);
}());

class Handshake {
 public:
  struct Peer {
    Eui64 eui64;
    std::uint64_t instance = 0;  // 0: not known
    Lid local_lid, remote_lid;   // ours and the peer's on this link
    std::uint32_t receive_buffer_bytes = 0;
    std::uint8_t port = 0;  // its number if it is of a switch
    bool takes_fragments = false;
  };

  LinkState state() const { return state_; }
  const Peer& peer() const { return peer_; }
  bool is_client() const { return is_client_; }
  bool has_received_bye() const { return has_received_bye_; }
  bool is_hello_pending() const { return hello_nonce_ != 0; }
  InitReason refusal() const { return refusal_; }
  // Returns when the client's next HELLO is due; kNever on the listening side.
  base::Time next_hello() const { return next_hello_; }

  // Returns true if the event changed the state.
  bool apply(LinkEvent event);

  // This side sends HELLO from now on, the first time at once. `own`: its LID if it knows that
  // before READY.
  void connect(base::Duration wait_min, Lid own);
  // The link went down: the client starts over with HELLO at `at`. Until `often_until` HELLO is
  // repeated after wait_min, plus up to a third at random.
  void restart(base::Time at, base::Duration wait_min, base::Time often_until = {});
  // No HELLO is sent any more.
  void stop() { next_hello_ = base::kNever; }
  // The link is up, or a flit proved that it still is. A HELLO that was sent is repeated until
  // READY, since flits do not state which instance they are of.
  void on_alive();
  // The peer ended for good.
  void on_bye() { has_received_bye_ = true; }
  void forget();

  // The steps of the client; `terms` is the INIT that InitTerms::state() made. HELLO repeats its
  // nonce until READY and doubles the wait for the next one up to wait_max, but for restart().
  Init hello(base::Time now, base::Random& random, base::Duration wait_max, Init terms);
  // Returns ANSWER, which proves our address. REQUIRES is_challenge(challenge).
  Init on_challenge(const Init& challenge, base::Random& random, Init terms);
  void on_refuse(base::Time now, InitReason reason, base::Duration wait_max);

  // True if the step echoes a nonce that was sent to the peer's address: only then it is valid.
  bool is_challenge(const Init& init) const {
    return hello_nonce_ != 0 && init.echo == hello_nonce_;
  }
  bool is_echo(const Init& init) const {
    return init.echo != 0 && (init.echo == hello_nonce_ || init.echo == proof_nonce_);
  }
  // True if the link had a peer and `init` is of another instance or another component.
  bool is_another_instance(const Init& init) const {
    return peer_.instance != 0 && (peer_.instance != init.instance || peer_.eui64 != init.eui64);
  }
  // Both sides: `init` completed the handshake.
  void adopt(const Init& init, Lid local_lid, Lid remote_lid);
  // Completes an INIT to the peer with what both ends know of each other.
  Init addressed(Init init) const;

 private:
  LinkState state_ = LinkState::kFree;
  bool is_client_ = false;
  bool has_received_bye_ = false;
  InitReason refusal_ = InitReason::kNone;  // the peer's last REFUSE; kNone once up
  Peer peer_;
  std::uint64_t hello_nonce_ = 0;  // 0: no HELLO waits for READY
  std::uint64_t proof_nonce_ = 0;  // of ANSWER
  base::Duration hello_wait_{};
  base::Time next_hello_ = base::kNever;
  base::Time often_until_{};
};

}  // namespace splitnic::fabric
