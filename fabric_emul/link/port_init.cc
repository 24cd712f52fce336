// INIT of a port: which link a step belongs to, and the listening side. A HELLO changes nothing
// here; only an ANSWER whose echo is our token does, or a HELLO from a peer that is known by
// address, EUI-64 and instance. Every step has one length and is alone in its datagram, so no reply
// is longer than its request; the number served is limited, first for each source. [X-46] [M-5]
// docs/protocol/init.md
#include "fabric_emul/link/port.h"

namespace splitnic::fabric {
namespace {

// A HELLO of a peer that did not know us yet, while its link is up. In the full profile READY to it
// would restart our side, and the peer may be up by its ANSWER: it is challenged, which it ignores
// then.
bool is_of_earlier(const Init& hello, const Link& link) {
  return link.up() && link.is_full_profile() && hello.peer_instance == 0;
}

}  // namespace

void Port::on_init(base::Time now, const FlitView& flit, const PeerAddress& from, PortLink*& link) {
  context_.counters.add(LinkCounter::kRxInit);
  Init init;
  // The flit CRC must cover the payload: there is no cell CRC behind it.
  if ((flit.header.ctl & kFlitHeaderCrcOnly) != 0 ||
      parse_init(flit.payload, init) != InitError::kNone) {
    return context_.counters.add(LinkCounter::kRxDropInit);
  }
  const bool is_client = link != nullptr && link->is_client();
  switch (taker_of(init.step)) {
    case InitTaker::kListener:
      if (!context_.config.listens || is_client) break;
      if (!sources_.take(now, from) || !may_reply_.take(now)) {
        return context_.counters.add(LinkCounter::kRxDropInitRate);
      }
      if (const auto proven = context_.underlay.eui64_of(from);
          proven && *proven != init.eui64.value) {
        return context_.counters.add(LinkCounter::kRxDropIdentity);
      }
      return init.step == InitStep::kHello ? on_hello(now, init, from, link)
                                           : on_answer(now, init, from, link);
    case InitTaker::kClient:
      if (!is_client) break;
      return link->on_init(now, init);
    case InitTaker::kEither:
      if (link == nullptr) break;
      return link->on_init(now, init);
  }
  context_.counters.add(link == nullptr ? LinkCounter::kRxDropPeer : LinkCounter::kRxDropInit);
}

void Port::on_hello(base::Time now, const Init& init, const PeerAddress& from, PortLink*& link) {
  const InitReason reason = context_.terms.check(init);
  if (reason != InitReason::kNone) return refuse(init, from, reason);
  const PortLink* known = known_peer(init.eui64, from);
  if (known != nullptr && known->address() == from && known->peer_instance() == init.instance &&
      !is_of_earlier(init, *known)) {
    return accept(now, init, from, link);
  }
  Init challenge = context_.terms.state(InitStep::kChallenge, init.mcp_max);
  challenge.peer_instance = init.instance;
  challenge.nonce = challenge_.token(now, subject_of(init, from));
  challenge.echo = init.nonce;
  send_init(from, challenge);
}

void Port::on_answer(base::Time now, const Init& init, const PeerAddress& from, PortLink*& link) {
  if (!challenge_.accepts(now, subject_of(init, from), init.echo)) {
    return context_.counters.add(LinkCounter::kRxDropChallenge);
  }
  const InitReason reason = context_.terms.check(init);
  if (reason != InitReason::kNone) return refuse(init, from, reason);
  accept(now, init, from, link);
}

// The address is proven. Ends the old instance before the new one gets READY, unless that is alive
// at another address: then two nodes have one identity. [B-02]
void Port::accept(base::Time now, const Init& init, const PeerAddress& from, PortLink*& link) {
  PortLink* peer = known_peer(init.eui64, from);
  if (peer == nullptr) {
    peer = free_slot(now);
    if (peer == nullptr) return refuse(init, from, InitReason::kBusy);
  } else if (peer->peer_instance() != init.instance) {
    if (is_alive_elsewhere(now, *peer, from)) {
      context_.observer.on_duplicate(*peer, context_.underlay.name_of(from));
      return refuse(init, from, InitReason::kDuplicate);
    }
    peer->end_old_instance();
  }
  if (link != nullptr && link != peer) link->lose_address(now);
  last_from_ = link = peer;
  peer->accept(now, init, from);
}

// The kernel no longer knows the user of a process that has ended.
bool Port::is_alive_elsewhere(base::Time now, const PortLink& peer, const PeerAddress& from) const {
  if (peer.address() == from || !peer.is_heard(now)) return false;
  return !peer.peer_user() || context_.underlay.user_of(peer.address()).has_value();
}

void Port::refuse(const Init& init, const PeerAddress& to, InitReason reason) {
  context_.counters.add(LinkCounter::kRefused);
  if (!context_.terms.is_expected(init)) context_.observer.on_unexpected(init, to);
  Init refusal = context_.terms.state(InitStep::kRefuse, init.mcp_max);
  refusal.reason = reason;
  refusal.peer_instance = init.instance;
  refusal.echo = init.nonce;
  send_init(to, refusal);
}

void Port::send_init(const PeerAddress& to, const Init& init) {
  if (PortLink* link = by_address(to)) link->abort_claim();
  context_.send_init(to, init);
}

Challenge::Subject Port::subject_of(const Init& init, const PeerAddress& from) const {
  const PortLink* known = known_peer(init.eui64, from);
  return {from, init.eui64, init.instance, known != nullptr ? known->peer_instance() : 0};
}

PortLink* Port::known_peer(Eui64 eui64, const PeerAddress& from) const {
  const auto user = context_.underlay.user_of(from);
  for (const auto& link : links_) {
    if (link->is_client() || link->state() == LinkState::kFree) continue;
    if (link->peer_eui64() == eui64 && link->peer_user() == user) return link.get();
  }
  return nullptr;
}

// Returns a slot that was never used, else that of the peer that was silent for longest.
PortLink* Port::free_slot(base::Time now) {
  if (links_.size() < context_.config.links_max) {
    links_.push_back(std::make_unique<PortLink>(context_, links_.size()));
    return links_.back().get();
  }
  PortLink* oldest = nullptr;
  for (auto& link : links_) {
    if (!link->may_be_forgotten(now)) continue;
    if (oldest == nullptr || link->last_heard() < oldest->last_heard()) oldest = link.get();
  }
  if (oldest != nullptr) oldest->forget();
  return oldest;
}

}  // namespace splitnic::fabric
