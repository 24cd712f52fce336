// INIT: HELLO -> CHALLENGE -> ANSWER -> READY. A HELLO changes nothing here; only an ANSWER whose
// echo is our token does, or a HELLO from a peer that is known by address, EUI-64 and instance.
// Every step has one length, so no answer is longer than its cause. docs/wire/flit.md#init
#include <array>

#include "fabric_emul/link/port.h"

namespace splitnic::fabric {
namespace {

constexpr std::uint16_t kLanesMask = 0x800F;    // data 0..3, management 15
constexpr std::uint16_t kLanesNeeded = 0x8001;  // what every link has
constexpr std::size_t kStrideMax = 65000;

constexpr std::uint32_t major_of(std::uint32_t program_version) { return program_version >> 24; }

}  // namespace

void Port::on_init(base::Time now, const FlitView& flit, const PeerAddress& from, Link*& link) {
  counters_.add(LinkCounter::kRxInit);
  Init init;
  // The flit CRC must cover the payload: there is no cell CRC behind it.
  if ((flit.header.ctl & kFlitHeaderCrcOnly) != 0 ||
      parse_init(flit.payload, init) != InitError::kNone) {
    return counters_.add(LinkCounter::kRxDropInit);
  }
  if (config_.listens && (link == nullptr || !link->is_client_)) {
    if (init.step == InitStep::kHello) return on_hello(now, init, from, link);
    if (init.step == InitStep::kAnswer) return on_answer(now, init, from, link);
  }
  if (link == nullptr) return counters_.add(LinkCounter::kRxDropPeer);
  if (link->is_client_) {
    switch (init.step) {
      case InitStep::kChallenge:
        return on_challenge(now, init, *link);
      case InitStep::kReady:
        return on_ready(now, init, *link);
      case InitStep::kRefuse:
        return on_refuse(now, init, *link);
      default:
        break;
    }
  }
  if (init.step == InitStep::kBye) return on_bye(now, init, *link);
  if (init.step == InitStep::kProbe || init.step == InitStep::kProbeReply) {
    return on_probe(now, init, *link);
  }
  counters_.add(LinkCounter::kRxDropInit);
}

// Listening side.

void Port::on_hello(base::Time now, const Init& init, const PeerAddress& from, Link*& link) {
  const InitReason reason = check_peer(init);
  if (reason != InitReason::kNone) return refuse(init, from, reason);
  const Link* known = by_eui64(init.eui64);
  if (known != nullptr && known->address_ == from && known->peer_instance_ == init.instance) {
    return accept(now, init, from, link);
  }
  Init challenge = make_init(InitStep::kChallenge, init.mcp_max, nullptr);
  challenge.peer_instance = init.instance;
  challenge.nonce = challenge_.token(now, subject_of(init, from));
  challenge.echo = init.nonce;
  send_init(from, challenge);
}

void Port::on_answer(base::Time now, const Init& init, const PeerAddress& from, Link*& link) {
  if (!challenge_.accepts(now, subject_of(init, from), init.echo)) {
    return counters_.add(LinkCounter::kRxDropChallenge);
  }
  const InitReason reason = check_peer(init);
  if (reason != InitReason::kNone) return refuse(init, from, reason);
  accept(now, init, from, link);
}

// The address is proven. Ends the old instance before the new one hears READY.
void Port::accept(base::Time now, const Init& init, const PeerAddress& from, Link*& link) {
  Link* peer = by_eui64(init.eui64);
  if (peer == nullptr) {
    peer = free_slot(now);
    if (peer == nullptr) return refuse(init, from, InitReason::kBusy);
  } else if (peer->peer_instance_ != init.instance) {
    end_old_instance(*peer);
  }
  if (link != nullptr && link != peer) {  // another component had this address
    link->set_address(PeerAddress{});
    if (link->up()) take_down(now, *link, LinkState::kConnecting, "its address has another peer");
  }
  // A copy of the request that this INIT goes by, or its answer was lost.
  const bool is_again = peer->up() && peer->full_ != nullptr && peer->epoch_ == init.nonce;
  if (peer->up() && peer->full_ != nullptr && !is_again) {
    take_down(now, *peer, LinkState::kConnecting, "the peer begins anew");
  }
  if (now - peer->path_known_at_ > config_.path_known) peer->path_stride_ = 0;
  if (peer->state_ == LinkState::kFree) peer->state_ = LinkState::kConnecting;
  peer->set_address(from);
  peer->local_lid_ = Lid(static_cast<std::uint16_t>(config_.lid_base + 1));
  peer->remote_lid_ = Lid(static_cast<std::uint16_t>(config_.lid_base + 2 + peer->slot_));
  adopt(init, *peer);
  const std::uint16_t mcp = own_mcp(from, *peer);
  if (!is_again) peer->set_mcp(std::min(mcp, init.mcp_max));
  last_from_ = link = peer;

  Init ready = make_init(InitStep::kReady, mcp, peer);
  ready.echo = init.nonce;
  send_init(from, ready);
  if (is_again) return;
  start_lanes(now, init, init.nonce, *peer);
  bring_up(now, *peer);
}

void Port::refuse(const Init& init, const PeerAddress& to, InitReason reason) {
  counters_.add(LinkCounter::kRefused);
  Init refusal = make_init(InitStep::kRefuse, init.mcp_max, nullptr);
  refusal.reason = reason;
  refusal.peer_instance = init.instance;
  refusal.echo = init.nonce;
  send_init(to, refusal);
}

// Client side. Each of these is believed because it echoes a number that went to that address.

void Port::send_hello(base::Time now, Link& link) {
  if (link.hello_nonce_ == 0) link.hello_nonce_ = random_.next() | 1;
  if (now - link.path_known_at_ > config_.path_known) link.path_stride_ = 0;
  Init hello = make_init(InitStep::kHello, own_mcp(link.address_, link), &link);
  hello.nonce = link.hello_nonce_;
  send_init(link.address_, hello);
  link.next_hello_ = now + link.hello_wait_;
  // In the full profile nothing but INIT brings a link back: one that was up is asked for often.
  const bool is_known = link.full_ != nullptr && link.peer_instance_ != 0;
  link.hello_wait_ =
      std::min(2 * link.hello_wait_, is_known ? 2 * config_.hello_min : config_.hello_max);
}

void Port::on_challenge(base::Time now, const Init& init, Link& link) {
  if (link.hello_nonce_ == 0 || init.echo != link.hello_nonce_) {
    return counters_.add(LinkCounter::kRxDropChallenge);
  }
  if (link.answer_nonce_ == 0) link.answer_nonce_ = random_.next() | 1;
  Init answer = make_init(InitStep::kAnswer, own_mcp(link.address_, link), &link);
  answer.peer_instance = init.instance;
  answer.nonce = link.answer_nonce_;
  answer.echo = init.nonce;
  send_init(link.address_, answer);
  link.last_sent_ = now;
}

void Port::on_ready(base::Time now, const Init& init, Link& link) {
  if (init.echo == 0 || (init.echo != link.hello_nonce_ && init.echo != link.answer_nonce_)) {
    return counters_.add(LinkCounter::kRxDropChallenge);
  }
  const InitReason reason = check_peer(init);
  if (reason != InitReason::kNone || init.offered_lid == Lid()) {
    return counters_.add(LinkCounter::kRxDropInit);
  }
  if (link.peer_instance_ != 0 &&
      (link.peer_instance_ != init.instance || link.peer_eui64_ != init.eui64)) {
    end_old_instance(link);
  }
  link.hello_nonce_ = link.answer_nonce_ = 0;
  link.local_lid_ = init.offered_lid;
  link.remote_lid_ = init.lid;
  adopt(init, link);
  link.set_mcp(std::min(own_mcp(link.address_, link), init.mcp_max));
  start_lanes(now, init, init.echo, link);
  bring_up(now, link);
}

void Port::on_refuse(base::Time now, const Init& init, Link& link) {
  if (init.echo == 0 || (init.echo != link.hello_nonce_ && init.echo != link.answer_nonce_)) {
    return counters_.add(LinkCounter::kRxDropChallenge);
  }
  counters_.add(LinkCounter::kRefused);
  link.refusal_ = init.reason;
  link.hello_wait_ = config_.hello_max;
  if (!link.up()) link.next_hello_ = now + config_.hello_max;
  observer_.on_refused(link, init.reason);
}

// Both sides.

void Port::on_bye(base::Time now, const Init& init, Link& link) {
  // Only the peer itself knows both numbers.
  if (init.instance != link.peer_instance_ || init.peer_instance != config_.instance) {
    return counters_.add(LinkCounter::kRxDropInit);
  }
  if (link.up()) take_down(now, link, LinkState::kConnecting, "the peer stopped");
  link.state_ = LinkState::kConnecting;
  link.said_bye_ = true;
}

void Port::on_probe(base::Time now, const Init& init, Link& link) {
  if (init.instance != link.peer_instance_) return counters_.add(LinkCounter::kRxDropInit);
  // Where only short datagrams pass, these are all that is heard.
  if (link.state_ != LinkState::kConnecting) heard(now, link);
  if (init.step == InitStep::kProbeReply) return link.probe_.on_reply(init.echo);
  Init reply = make_init(InitStep::kProbeReply, link.mcp_, &link);
  reply.echo = init.nonce;
  send_init(link.address_, reply);
}

// An INIT as any other, with zeros behind it that make its datagram as long as is asked about.
void Port::send_probes(base::Time now, Link& link) {
  for (const PathProbe::Probe& probe : link.probe_.on_time(now, random_)) {
    Init init = make_init(InitStep::kProbe, link.mcp_, &link);
    init.nonce = probe.nonce;
    std::array<std::byte, kInitBytes> payload;
    emit_init(payload.data(), init);
    const std::size_t bytes = std::max(probe.datagram_bytes, kFlitHeaderBytes + kInitBytes);
    if (probe_.size() < bytes) probe_.resize(bytes);
    FlitHeader header;
    header.type = FlitType::kInit;
    header.vl = kMgmtLane;
    emit_flit(probe_, header, payload);
    const base::Bytes datagram = base::Bytes(probe_).first(bytes);
    const bool sent = send_control(link.address_, datagram);
    counters_.add(sent ? LinkCounter::kTxInit : LinkCounter::kTxDropControl);
  }
  const auto stride = link.probe_.take_narrowed();
  if (stride) on_black_hole(now, *stride, link);
}

InitReason Port::check_peer(const Init& init) const {
  if (major_of(init.program_version) != major_of(config_.program_version)) {
    return InitReason::kVersion;
  }
  const Init own = make_init(InitStep::kHello, kMcpMin, nullptr);
  if (init.profile != own.profile || init.cell_crc != own.cell_crc) return InitReason::kProfile;
  const bool has_lanes = (init.lanes_mask & kLanesNeeded) == kLanesNeeded;
  if (init.profile == LinkProfile::kFull && !has_lanes) return InitReason::kProfile;
  if (init.eui64 == config_.eui64 || init.eui64 == Eui64()) return InitReason::kIdentity;
  return InitReason::kNone;
}

void Port::adopt(const Init& init, Link& link) {
  link.peer_eui64_ = init.eui64;
  link.peer_instance_ = init.instance;
  link.peer_receive_buffer_ = init.receive_buffer_bytes;
  link.crc_head_only_ = config_.crc_head_only;
}

// What both ends offered, and the numbers that both now know. The other profiles need none of it.
void Port::start_lanes(base::Time now, const Init& init, std::uint64_t nonce, Link& link) {
  if (profile() != LinkProfile::kFull) return;
  FullLinkConfig agreed = config_.full;
  agreed.cell_bytes_max = full_cell_bytes_max();
  agreed.lane_queue_bytes = std::max(agreed.lane_queue_bytes, 4 * agreed.cell_bytes_max);
  agreed.lanes_mask = config_.full.lanes_mask & init.lanes_mask;
  agreed.flit_payload_max = std::min<std::size_t>(agreed.flit_payload_max, init.flit_payload_max);
  agreed.peer_receive_blocks = init.initial_credit;
  link.start_lanes(now, agreed, full_counters_, *this, nonce);
}

void Port::end_old_instance(Link& link) {
  link.state_ = LinkState::kConnecting;
  link.drop_batch();
  cells_.clear();  // cells that came in the same batch were the old instance's
  counters_.add(LinkCounter::kPeerRestart);
  observer_.on_peer_restarted(link);
}

Challenge::Subject Port::subject_of(const Init& init, const PeerAddress& from) const {
  const Link* known = by_eui64(init.eui64);
  return {from, init.eui64, init.instance, known != nullptr ? known->peer_instance_ : 0};
}

Link* Port::by_eui64(Eui64 eui64) const {
  for (const auto& link : links_) {
    if (!link->is_client_ && link->state_ != LinkState::kFree && link->peer_eui64_ == eui64) {
      return link.get();
    }
  }
  return nullptr;
}

Link* Port::free_slot(base::Time now) {
  if (links_.size() < config_.links_max) {
    links_.push_back(std::make_unique<Link>(*this, underlay_, counters_, links_.size()));
    return links_.back().get();
  }
  Link* oldest = nullptr;
  for (auto& link : links_) {
    if (link->up() || link->is_client_) continue;
    if (!link->said_bye_ && now - link->last_heard_ < config_.forget_after) continue;
    if (oldest == nullptr || link->last_heard_ < oldest->last_heard_) oldest = link.get();
  }
  if (oldest != nullptr) {
    end_old_instance(*oldest);
    oldest->forget_peer();
  }
  return oldest;
}

std::uint16_t Port::own_mcp(const PeerAddress& peer, const Link& link) const {
  constexpr std::size_t kKept = kSessionReserveBytes + kStrideOverhead;
  std::size_t datagram = underlay_.datagram_bytes_max(peer);
  if (link.path_stride_ != 0) {
    datagram = std::min(datagram, link.path_stride_ + kSessionReserveBytes);
  }
  if (datagram < kKept + kMcpMin) return kMcpMin;
  const std::size_t stride =
      std::min({datagram - kSessionReserveBytes, kStrideMax, underlay_.batch_bytes_max()});
  const auto mcp = static_cast<std::uint16_t>((stride - kStrideOverhead) & ~std::size_t{3});
  if (config_.mcp_wanted == 0) {
    return profile() == LinkProfile::kFull ? std::min(mcp, kDefaultMcpFull) : mcp;
  }
  return std::max(kMcpMin, std::min(mcp, static_cast<std::uint16_t>(config_.mcp_wanted & ~3U)));
}

Init Port::make_init(InitStep step, std::uint16_t mcp, const Link* link) const {
  Init init;
  init.step = step;
  init.profile = profile();
  init.cell_crc = config_.crc_head_only ? CellCrcMode::kHeadOnly : CellCrcMode::kWholeCell;
  init.program_version = config_.program_version;
  init.lanes_mask = kLanesMask;
  init.mcp_max = mcp;
  init.flit_payload_max = static_cast<std::uint16_t>(
      std::clamp(mcp + kCellOverheadMax, kFlitPayloadMin, kFlitPayloadMax));
  if (init.profile == LinkProfile::kFull) {
    init.lanes_mask = config_.full.lanes_mask;
    init.flit_payload_max = static_cast<std::uint16_t>(config_.full.flit_payload_max);
    init.initial_credit = config_.full.receive_blocks;
  }
  init.receive_buffer_bytes = static_cast<std::uint32_t>(
      std::min<std::size_t>(underlay_.receive_buffer_bytes(), 0xFFFFFFFFU));
  init.eui64 = config_.eui64;
  init.instance = config_.instance;
  if (link != nullptr) {
    init.peer_instance = link->peer_instance_;
    init.lid = link->local_lid_;
    init.offered_lid = link->is_client_ ? Lid() : link->remote_lid_;
  }
  return init;
}

bool Port::send_init(const PeerAddress& to, const Init& init) {
  std::array<std::byte, kInitBytes> payload;
  emit_init(payload.data(), init);
  std::array<std::byte, kFlitHeaderBytes + kInitBytes> flit;
  FlitHeader header;
  header.type = FlitType::kInit;
  header.vl = kMgmtLane;
  emit_flit(flit, header, payload);
  const bool sent = send_control(to, flit);
  counters_.add(sent ? LinkCounter::kTxInit : LinkCounter::kTxDropControl);
  return sent;
}

// A datagram that overtakes the batch at hand.
bool Port::send_control(const PeerAddress& to, base::Bytes datagram) {
  if (Link* link = by_address(to)) link->give_back_room();
  return underlay_.send(to, datagram, datagram.size()) == Underlay::SendStatus::kSent;
}

}  // namespace splitnic::fabric
