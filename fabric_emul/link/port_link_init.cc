// The INIT steps of a link. A step of the listening peer is valid because it echoes a nonce that
// was sent to its address. docs/protocol/init.md#init
#include <algorithm>

#include "fabric_emul/link/link_ends.h"
#include "fabric_emul/link/port_link.h"

namespace splitnic::fabric {

void PortLink::send_init(const Init& init, std::size_t datagram_bytes) {
  abort_claim();
  context_.send_init(address(), init, datagram_bytes);
}

Init PortLink::make_init(InitStep step, std::uint16_t mcp) const {
  return handshake_.addressed(context_.terms.state(step, mcp));
}

std::size_t PortLink::path_bytes() const { return context_.underlay.datagram_bytes_max(address()); }

// The same, at the price of a few system calls per second, however often the peer asks. [M-5]
std::size_t PortLink::recent_path_bytes(base::Time now) {
  if (now >= path_bytes_until_) {
    path_bytes_ = path_bytes();
    path_bytes_until_ = now + kPathBytesKnown;
  }
  return path_bytes_;
}

// The MCP to offer on a path of such datagrams.
std::uint16_t PortLink::mcp_of(std::size_t datagram_bytes_max) const {
  return path_.offer(datagram_bytes_max, context_.underlay.batch_bytes_max());
}

PathKind PortLink::path_kind(const PeerAddress& to) const {
  // Nothing depends on it in this mode, and the query may cost system calls.
  if (context_.config.payload_crc == PayloadCrcMode::kOn) return PathKind::kNetwork;
  return context_.underlay.path_kind(to);
}

void PortLink::set_mcp(std::uint16_t mcp) {
  path_.set_mcp(mcp);
  batch_.set_stride(path_.stride());
}

void PortLink::agree_on_mcp(std::uint16_t mcp, bool stays) {
  const bool is_less = stays && mcp < path_.mcp();
  set_mcp(mcp);
  if (is_less) context_.observer.on_path_narrowed(*this);
}

void PortLink::start_lanes(base::Time now, const Init& init, std::uint64_t nonce,
                           std::size_t datagram_bytes_max) {
  if (context_.profile() != LinkProfile::kFull) return;
  lanes_.start(now, context_.terms.agree(init), nonce, is_client());
  set_full_stride(datagram_bytes_max);
}

// Listening side.

void PortLink::accept(base::Time now, const Init& init, const PeerAddress& from) {
  const auto assigned = context_.lid_terms.assign(from, slot_);
  if (!assigned) return context_.counters.add(LinkCounter::kRxDropInit);
  // The port has ended another instance already.
  const bool has_moved =
      peer_instance() == init.instance && LidTerms::are_others(lids(), *assigned);
  if (has_moved) end_old_instance();
  // The full profile restarts at each INIT. A repeated one is a copy, or its READY was lost.
  const bool is_running = up() && lanes_.is_open();
  const bool is_repeated = is_running && lanes_.nonce() == init.nonce;
  if (is_running && !is_repeated) take_down(now, LinkEvent::kEnded, "peer re-initialised");
  path_.expire(now);
  // A repeated INIT of the same peer changes no mode: its copies may arrive in any order.
  const bool stays = peer_instance() == init.instance && !has_moved;
  const bool is_known = stays && address() == from;
  if (!is_known) set_payload_crc(context_.crc_terms.decide(init, path_kind(from)));
  handshake_.apply(LinkEvent::kAssigned);
  if (from != address()) path_bytes_until_ = {};
  batch_.set_address(from);
  peer_user_ = context_.underlay.user_of(from);
  handshake_.adopt(init, assigned->local, assigned->remote);
  const std::size_t bytes = recent_path_bytes(now);
  const std::uint16_t mcp = mcp_of(bytes);
  if (!is_repeated) agree_on_mcp(std::min(mcp, init.mcp_max), stays);
  Init ready = make_init(InitStep::kReady, mcp);
  ready.echo = init.nonce;
  context_.crc_terms.state(ready, payload_crc());
  send_init(ready);
  if (is_repeated) return;
  start_lanes(now, init, init.nonce, bytes);
  bring_up(now, LinkEvent::kReady);
}

// Client side.

void PortLink::connect(base::Time now, const PeerAddress& address) {
  const auto known = context_.lid_terms.of_topology(address);
  handshake_.connect(context_.config.hello_min, known ? known->local : Lid());
  batch_.set_address(address);
  send_hello(now);
  context_.call_at(deadline());
}

void PortLink::send_hello(base::Time now) {
  path_.expire(now);
  context_.underlay.check_own_address();
  send_init(handshake_.hello(now, context_.random, hello_wait_max(now),
                             context_.terms.state(InitStep::kHello, mcp_of(path_bytes()))));
}

base::Duration PortLink::hello_wait_max(base::Time now) const {
  const PortConfig& config = context_.config;
  const bool is_silent =
      !handshake_.has_received_bye() && now < keep_alive_.last_heard() + config.return_possible;
  // In the full profile only INIT brings back a peer that was up.
  const bool may_be_back = peer_instance() != 0 && (lanes_.is_open() || is_silent);
  return may_be_back ? config.hello_silent : config.hello_max;
}

void PortLink::on_challenge(base::Time now, const Init& init) {
  if (!handshake_.is_challenge(init)) {
    return context_.counters.add(LinkCounter::kRxDropChallenge);
  }
  Init proof = handshake_.on_challenge(
      init, context_.random, context_.terms.state(InitStep::kAnswer, mcp_of(path_bytes())));
  context_.crc_terms.offer(proof, path_kind(address()));
  offer_ = {init.instance, proof.payload_crc};
  send_init(proof);
  keep_alive_.on_sent(now);
}

void PortLink::on_ready(base::Time now, const Init& init) {
  if (!handshake_.is_echo(init)) return context_.counters.add(LinkCounter::kRxDropChallenge);
  if (!context_.terms.is_expected(init)) context_.observer.on_unexpected(init, address());
  const auto payload_crc =
      context_.crc_terms.accept(init, offer_.to(init.instance), path_kind(address()));
  const auto accepted = context_.lid_terms.accept(init, address());
  if (context_.terms.check(init) != InitReason::kNone || !payload_crc || !accepted) {
    return context_.counters.add(LinkCounter::kRxDropInit);
  }
  const bool has_moved = LidTerms::are_others(lids(), *accepted);
  const bool stays = init.instance == peer_instance() && !has_moved;
  if (handshake_.is_another_instance(init) || has_moved) end_old_instance();
  handshake_.adopt(init, accepted->local, accepted->remote);
  set_payload_crc(*payload_crc);
  const std::size_t bytes = path_bytes();
  agree_on_mcp(std::min(mcp_of(bytes), init.mcp_max), stays);
  start_lanes(now, init, init.echo, bytes);
  bring_up(now, LinkEvent::kReady);
}

void PortLink::on_refuse(base::Time now, const Init& init) {
  if (!handshake_.is_echo(init)) return context_.counters.add(LinkCounter::kRxDropChallenge);
  context_.counters.add(LinkCounter::kRefused);
  // The peer of the same identity may be our own process before this one: it is forgotten soon.
  const bool is_short = init.reason == InitReason::kDuplicate;
  handshake_.on_refuse(now, init.reason,
                       is_short ? 2 * context_.config.hello_min : context_.config.hello_max);
  context_.call_at(deadline());
  context_.observer.on_refused(*this, init.reason);
}

// Both sides.

void PortLink::on_init(base::Time now, const Init& init) {
  switch (init.step) {
    case InitStep::kChallenge:
      return on_challenge(now, init);
    case InitStep::kReady:
      return on_ready(now, init);
    case InitStep::kRefuse:
      return on_refuse(now, init);
    case InitStep::kBye:
      return on_bye(now, init);
    case InitStep::kProbe:
    case InitStep::kProbeReply:
      return on_probe(now, init);
    case InitStep::kHello:
    case InitStep::kAnswer:
      return;  // the port's: kInitStepRules
  }
}

void PortLink::on_bye(base::Time now, const Init& init) {
  // Only the peer itself knows both numbers.
  if (init.instance != peer_instance() || init.peer_instance != local_instance()) {
    return context_.counters.add(LinkCounter::kRxDropInit);
  }
  if (up()) {
    take_down(now, LinkEvent::kEnded, kPeerStopped);
    // A peer that ends the link whenever it is up gets no HELLO at once. [M-20]
    handshake_.restart(now + context_.config.hello_min, context_.config.hello_after_bye,
                       now + context_.config.return_expected);
    context_.call_at(deadline());
  } else {
    handshake_.apply(LinkEvent::kEnded);
  }
  handshake_.on_bye();
  if (is_client()) context_.underlay.on_peer_stopped(address());
}

void PortLink::send_bye(base::Time now) {
  if (up()) send_init(make_init(InitStep::kBye, mcp()));
  end(now);
}

void PortLink::end(base::Time now) {
  if (up()) take_down(now, LinkEvent::kEnded, kClosedHere);
  handshake_.stop();
}

void PortLink::on_probe(base::Time now, const Init& init) {
  if (init.instance != peer_instance()) return context_.counters.add(LinkCounter::kRxDropInit);
  // If only short datagrams pass, nothing but these arrives.
  if (state() != LinkState::kConnecting) on_heard(now);
  if (init.step == InitStep::kProbeReply) return path_.on_reply(init.echo);
  Init reply = make_init(InitStep::kProbeReply, mcp());
  reply.echo = init.nonce;
  send_init(reply);
  // The peer found that its way is narrower; ours may be, too.
  if (init.mcp_max < mcp()) doubt_path(now);
}

void PortLink::send_probe() {
  if (!up()) return;
  Init init = make_init(InitStep::kProbe, mcp());
  init.nonce = context_.random.next() | 1;
  send_init(init);
}

void PortLink::send_probes(base::Time now) {
  for (const PathProbe::Probe& probe : path_.on_time(now, context_.random)) {
    Init init = make_init(InitStep::kProbe, mcp());
    init.nonce = probe.nonce;
    send_init(init, probe.datagram_bytes);
  }
  if (!path_.take_narrowed(now)) return;
  on_narrowed();
  doubt_path(now);  // these probes state the new MCP to the peer
}

}  // namespace splitnic::fabric
