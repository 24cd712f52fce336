#include "fabric_emul/session/session_table.h"

#include <algorithm>

#include "base/check.h"
#include "fabric_emul/session/keys.h"
#include "fabric_emul/underlay/udp_address.h"

namespace splitnic::fabric::session {
namespace {

// A process that is started again has another port there.
bool is_same_machine(const PeerAddress& one, const PeerAddress& other) {
  const UdpAddress a(one), b(other);
  if (a.family() != b.family()) return false;
  if (a.family() == AF_INET) {
    const auto ip = [](const UdpAddress& at) {
      return reinterpret_cast<const sockaddr_in*>(at.get())->sin_addr.s_addr;
    };
    return ip(a) == ip(b);
  }
  if (a.family() != AF_INET6) return one == other;
  return IN6_ARE_ADDR_EQUAL(&a.v6().sin6_addr, &b.v6().sin6_addr) &&
         a.v6().sin6_scope_id == b.v6().sin6_scope_id;  // of link-local addresses, else 0
}

}  // namespace

SessionTable::SessionTable(const SessionConfig& config, base::Random& random, Send send)
    : config_(config),
      random_(random),
      send_(std::move(send)),
      own_(config.private_key),
      own_macs_(own_.public_key),
      indexes_(random),
      gate_(config_, own_macs_, random, counters_) {}

base::Status SessionTable::allow(const PeerConfig& peer) {
  const std::string name = base64_of(peer.key.bytes);
  if (peer.key == own_.public_key) {
    return base::Error("the key " + name + " is this node's own: give the peer's public key");
  }
  const auto shared = x25519(own_.private_key, peer.key);
  if (!shared) return base::Error("the key " + name + " is not the public key of anybody");
  auto made = std::make_unique<Peer>(own_, peer, *shared, config_, counters_);
  Peer* const added = made.get();
  if (!peers_.emplace(peer.key, std::move(made)).second) {
    return base::Error("the key " + name + " is given twice");
  }
  by_address_.emplace(added->address(), added);
  is_responder_ |= !added->is_initiator();
  return {};
}

void SessionTable::disallow(const PublicKey& key) {
  const auto found = peers_.find(key);
  if (found == peers_.end()) return;
  const Peer* const peer = found->second.get();
  by_address_.erase(peer->address());
  std::erase_if(by_endpoint_, [&](const auto& entry) { return entry.second == peer; });
  last_ = nullptr;
  peers_.erase(found);
}

Peer* SessionTable::by_key(const PublicKey& key) const {
  const auto found = peers_.find(key);
  return found == peers_.end() ? nullptr : found->second.get();
}

Peer* SessionTable::by_address(const PeerAddress& address) {
  if (last_ != nullptr && last_->address() == address) return last_;
  const auto found = by_address_.find(address);
  return found == by_address_.end() ? nullptr : last_ = found->second;
}

const Peer* SessionTable::by_address(const PeerAddress& address) const {
  const auto found = by_address_.find(address);
  return found == by_address_.end() ? nullptr : found->second;
}

void SessionTable::on_message(base::Time now, MessageType type, base::Bytes message,
                              const PeerAddress& from) {
  switch (type) {
    case MessageType::kInitiation:
      return on_initiation(now, message, from);
    case MessageType::kResponse:
      return on_response(now, message);
    case MessageType::kCookie:
      return on_cookie(now, message);
    case MessageType::kData:
      break;
  }
  CHECK(false);
}

// Responder.

void SessionTable::on_initiation(base::Time now, base::Bytes message, const PeerAddress& from) {
  if (!is_responder_ && !config_.on_unknown_key)
    return counters_.add(SessionCounter::kRxDropUnknownKey);
  switch (gate_.check(now, message, from, by_endpoint_.contains(from))) {
    case HandshakeGate::Verdict::kDrop:
      return;
    case HandshakeGate::Verdict::kCookie:
      counters_.add(SessionCounter::kTxCookie);
      return send_(from, gate_.cookie_for(now, message, from));
    case HandshakeGate::Verdict::kPass:
      return accept(now, message, from);
  }
}

void SessionTable::accept(base::Time now, base::Bytes message, const PeerAddress& from) {
  const base::Bytes noise_bytes = Initiation::noise(message);
  NoiseResponder noise(own_, prologue_for(own_.public_key));
  const auto key = noise.read_static(noise_bytes);
  if (!key) return counters_.add(SessionCounter::kRxDropHandshake);
  Peer* const found = by_key(*key);
  if (found == nullptr || found->is_initiator()) {
    if (found == nullptr && config_.on_unknown_key) config_.on_unknown_key(*key, from);
    return counters_.add(SessionCounter::kRxDropUnknownKey);
  }
  Peer& peer = *found;
  if (!may_be_at(peer, from)) {
    counters_.add(SessionCounter::kRxDropAddress);
    return report(HandshakeFault::kAddress, peer, from);
  }
  std::array<std::byte, kInitiationPayloadBytes> payload{};
  if (!noise.read_payload(noise_bytes, peer.keys().shared, payload)) {
    return counters_.add(SessionCounter::kRxDropHandshake);
  }
  const InitiationPayload initiation = InitiationPayload::parse(payload);
  if (initiation.stamp <= peer.stamp()) {
    counters_.add(SessionCounter::kRxDropStamp);
    const bool is_repeated = initiation.stamp == peer.stamp() || peer.is_in_use(now);
    if (!is_repeated) report(HandshakeFault::kStamp, peer, from);
    return;
  }
  if (peer.is_in_use(now) && !peer.is_with(initiation.instance) &&
      !is_same_machine(*peer.endpoint(), from)) {
    peer.report_second_process(from);
    return counters_.add(SessionCounter::kRxDropSecond);
  }

  IndexTable::Index local = indexes_.draw(peer);
  const std::uint32_t remote = Initiation::sender(message);
  std::array<std::byte, kResponseBytes> response{};
  const base::MutableBytes room = begin_response(response, local.value(), remote);
  const auto keys = noise.write_response(random_private_key(random_), peer.keys().psk,
                                         ResponsePayload{config_.instance}.emit(), room);
  if (!keys) return counters_.add(SessionCounter::kRxDropHandshake);
  put_macs(response, peer.keys().macs, nullptr);
  counters_.add(SessionCounter::kRxInitiation);
  peer.offer(
      initiation.stamp,
      std::make_unique<RecordKeys>(
          config_, *keys, RecordKeys::Origin{std::move(local), remote, now, initiation.instance}));
  call_for(peer);
  counters_.add(SessionCounter::kTxResponse);
  send_(from, response);
}

void SessionTable::report(HandshakeFault fault, const Peer& peer, const PeerAddress& from) const {
  if (config_.on_fault) config_.on_fault(fault, peer.keys().peer, from);
}

void SessionTable::on_record(base::Time now, Peer& peer, const RecordKeys& keys, bool is_highest,
                             std::uint8_t flags, const PeerAddress& from) {
  if (peer.on_record(now, keys, is_highest, flags, from)) {
    std::erase_if(by_endpoint_, [&](const auto& entry) { return entry.second == &peer; });
    by_endpoint_.insert_or_assign(from, &peer);
  }
  call_for(peer);
}

// Initiator.

Peer* SessionTable::initiating(std::uint32_t index, bool has_mac1) {
  Peer* const peer = indexes_.find(index);
  const bool is_pending = peer != nullptr && peer->attempt();
  if (is_pending && peer->attempt()->index() == index) return peer;
  const bool is_late = is_pending && has_mac1 && peer->attempt()->notices_late(index);
  counters_.add(is_late ? SessionCounter::kRxDropHandshake : SessionCounter::kRxDropIndex);
  return nullptr;
}

void SessionTable::on_response(base::Time now, base::Bytes message) {
  if (!has_mac1(message, own_macs_)) return counters_.add(SessionCounter::kRxDropMac);
  Peer* const peer = initiating(Response::receiver(message), true);
  if (peer == nullptr || !gate_.may_agree(now)) return;
  ResponsePayload payload;
  const auto keys = peer->attempt()->read(message, payload);
  if (!keys) {
    counters_.add(SessionCounter::kRxDropHandshake);
    return report(HandshakeFault::kResponse, *peer, *peer->endpoint());
  }
  counters_.add(SessionCounter::kRxResponse);
  peer->install(now, std::make_unique<RecordKeys>(
                         config_, *keys,
                         RecordKeys::Origin{peer->attempt()->take_index(),
                                            Response::sender(message), now, payload.instance}));
  call_for(*peer);
  // The first record confirms the keys: what has waited for them, or nothing.
  send_record(now, *peer, *peer->sealing(now, 1), peer->kept());
  peer->keep({});
}

void SessionTable::on_cookie(base::Time now, base::Bytes message) {
  Peer* const peer = initiating(Cookie::receiver(message), false);
  if (peer == nullptr) return;
  if (!peer->attempt()->take_cookie(now, message)) {
    return counters_.add(SessionCounter::kRxDropHandshake);
  }
  counters_.add(SessionCounter::kRxCookie);
}

void SessionTable::on_sending(base::Time now, Peer& peer) {
  if (peer.wants_attempt(now)) begin_attempt(now, peer);
}

void SessionTable::begin_attempt(base::Time now, Peer& peer) {
  peer.attempt().emplace(peer.keys(), config_, random_, peer.may_return(), peer.responds_in());
  send_initiation(now, peer);
}

void SessionTable::send_initiation(base::Time now, Peer& peer) {
  const auto message = peer.attempt()->next(now, indexes_.draw(peer));
  call_for(peer);
  counters_.add(SessionCounter::kTxInitiation);
  send_(*peer.endpoint(), message);
}

void SessionTable::send_record(base::Time now, Peer& peer, RecordKeys& keys, base::Bytes plain) {
  record_.resize(plain.size() + kDataOverheadBytes);
  keys.seal(record_, plain, peer.flags(now));
  counters_.add(SessionCounter::kTxRecord);
  send_(*peer.endpoint(), record_);
}

void SessionTable::on_time(base::Time now) {
  if (now < deadline_) return;
  deadline_ = base::kNever;
  for (const auto& [key, peer] : peers_) {
    peer->on_time(now);
    if (peer->attempt() && now >= peer->attempt()->deadline()) {
      send_initiation(now, *peer);
    } else if (peer->is_rekey_due(now)) {
      begin_attempt(now, *peer);
    }
    call_for(*peer);
  }
}

}  // namespace splitnic::fabric::session
