// The LIDs of an attached port and of its peers: what the subnet manager asks and sets, and the
// questions of the port to its switch: its place in the network, names, and the LIDs of ports.
// docs/protocol/path.md#names docs/protocol/network.md#place
#include <algorithm>
#include <array>
#include <utility>

#include "base/endian.h"
#include "base/event.h"
#include "base/log.h"
#include "fabric_emul/switching/attachment.h"
#include "fabric_emul/switching/path_cell.h"
#include "fabric_emul/switching/topology.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {
namespace {

// A control datagram in a management cell is as long on the link as one that holds cells: a path
// probe is cut by what surrounds it.
constexpr std::size_t kAround = kFlitHeaderBytes + kMacHeaderBytes + kCrcBytes;

base::Bytes without_surroundings(base::Bytes datagram) {
  constexpr std::size_t kWhole = kFlitHeaderBytes + kInitBytes;
  if (datagram.size() <= kWhole) return datagram;
  return datagram.first(
      std::max(kWhole, (datagram.size() - std::min(datagram.size(), kAround)) & ~std::size_t{3}));
}

// The LMC in the reply to the question for the LIDs of the port with this base; nothing: it is not
// whole. No private data, of a switch that knows no such question: the port has one LID.
std::optional<std::uint8_t> lmc_in(base::Bytes reply, Lid expected) {
  constexpr std::size_t kLids = 2 * sizeof(std::uint16_t);
  if (reply.empty()) return std::uint8_t{0};
  if (reply.size() != kLids) return std::nullopt;
  const auto lmc = base::load_be<std::uint16_t>(&reply[sizeof(std::uint16_t)]);
  if (Lid(base::load_be<std::uint16_t>(reply.data())) != expected || lmc > kLmcMax ||
      expected.value % (1U << lmc) != 0) {
    return std::nullopt;
  }
  return static_cast<std::uint8_t>(lmc);
}

}  // namespace

// Returns false if it is no SMP. A switch sends them to no LID: the port may have none yet.
bool Attachment::takes_smp(const ReceivedCell& cell, Lid from) {
  const auto smp = payload_of_path_cell(cell.bytes, kSubnetQpn, cell.crc_head_only);
  if (!smp || link_->peer_port() == 0 || from != link_->remote_lid()) return false;
  const PortLids before = agent_.given();
  std::array<std::byte, kSmpBytesMax> reply;
  const std::size_t bytes = agent_.serve(*smp, *link_, reply);
  counters_.add(bytes != 0 ? AttachmentCounter::kSmp : AttachmentCounter::kRxDropSmp);
  if (bytes != 0) {
    send_path_cell(*link_, Lid(), link_->remote_lid(), kSubnetQpn, base::Bytes(reply).first(bytes));
  }
  if (agent_.given() != before) on_lids();
  return true;
}

// It has them by the link that is up.
void Attachment::on_lids() {
  if (!has_place_of_queue()) {
    is_misplaced_ = true;
    return;
  }
  base::log_info({base::EventKind::kLinkUp, link_->peer_name()},
                 "attached to port " + std::to_string(link_->peer_port()) + " of the switch at " +
                     link_->peer_name() + " as LID " + std::to_string(base_lid().value));
  is_place_known_ = is_lmc_known_ = false;
  for (auto& [peer, paths] : paths_) paths.is_known = false;
  for (Named& named : named_) named.is_asked = false;
  resolve_at_ = clock_.now();
}

void Attachment::on_mgmt(base::Bytes payload) {
  Mgmt m;
  if (parse_mgmt(payload, m) == MgmtError::kNone && m.kind == MgmtKind::kResolved) {
    if (m.transaction == kOwnPlace && network_.learn(m.private_data, base_lid())) {
      is_place_known_ = true;
      return;
    }
    if (m.transaction == kOwnLids) return on_own_lids(m.private_data);
    if (m.transaction >= kLidsOfPeer && m.transaction - kLidsOfPeer <= UINT16_MAX) {
      return on_lids_of(Lid(static_cast<std::uint16_t>(m.transaction - kLidsOfPeer)),
                        m.private_data);
    }
    if (m.transaction < named_.size()) return on_resolved(named_[m.transaction], m.private_data);
  }
  counters_.add(AttachmentCounter::kRxDropCell);
}

void Attachment::on_own_lids(base::Bytes reply) {
  const auto lmc = lmc_in(reply, base_lid());
  if (!lmc) return counters_.add(AttachmentCounter::kRxDropCell);
  lmc_ = *lmc;
  is_lmc_known_ = true;
}

void Attachment::on_lids_of(Lid peer, base::Bytes reply) {
  const auto at = paths_.find(peer);
  const auto lmc = lmc_in(reply, peer);
  if (!lmc || at == paths_.end()) return counters_.add(AttachmentCounter::kRxDropCell);
  at->second.lmc = *lmc;
  at->second.is_known = true;
}

const Attachment::Named* Attachment::named_at(Lid peer) const {
  const auto at = std::ranges::find(named_, peer, &Named::lid);
  return at == named_.end() ? nullptr : &*at;
}

Lid Attachment::own_lid_to(Lid peer) const {
  const auto at = called_at_.find(peer);
  return at != called_at_.end() && own_lids().has(at->second) ? at->second : base_lid();
}

// The end that names a peer decides; the peer does the same.
void Attachment::use_all_paths(Lid peer, base::Time now) {
  const Named* named = named_at(peer);
  if (named != nullptr && !named->uses_all_paths) return;
  const auto [at, is_new] = paths_.try_emplace(peer);
  at->second.used_at = now;
  // No more often than other questions are repeated.
  if (is_new) resolve_at_ = std::min(resolve_at_, std::max(now, asked_at_ + kResolveEvery));
}

unsigned Attachment::paths_to(Lid peer) const {
  const auto at = paths_.find(peer);
  if (at == paths_.end()) return 1;
  const bool is_used =
      clock_.now() - at->second.used_at < kPathsUnused || named_at(peer) != nullptr;
  return is_used ? PortLids{peer, at->second.lmc}.count() : 1;
}

// HELLO and ANSWER take the first path, since the peer replies from the LID that they came to.
unsigned Attachment::paths_of_control(Lid peer, base::Bytes datagram) const {
  return begins_a_link(datagram) ? 1 : std::min(paths_to(peer), kUsedPathsMax);
}

// By all paths: one that is lost would be missed, and so would a probe on a path that is silent.
bool Attachment::send_control(const LinkLids& lids, base::Bytes datagram) {
  counters_.add(AttachmentCounter::kTxControl);
  const Lid to = lids.remote;
  const base::Bytes payload = without_surroundings(datagram);
  if (NetworkLayer::is_peer(to)) {
    const Gnh gnh = network_.gnh_to(to, 0, static_cast<std::uint16_t>(payload.size()));
    return send_path_cell(*link_, lids.local, network_.router_to(to), kPathQpn, payload,
                          partition_to(to), &gnh);
  }
  bool is_sent = false;
  for (unsigned path = 0; path < paths_of_control(to, datagram); ++path) {
    is_sent |=
        send_path_cell(*link_, lids.local, path_of(to, path), kPathQpn, payload, partition_to(to));
  }
  return is_sent;
}

// Nothing, the LID of a node, or the place of one in another subnet.
void Attachment::on_resolved(Named& named, base::Bytes reply) {
  constexpr std::size_t kLidBytes = sizeof(std::uint16_t);
  Lid lid;
  if (reply.size() == kLidBytes) lid = Lid(base::load_be<std::uint16_t>(reply.data()));
  if (reply.size() > kLidBytes) lid = network_.resolved(reply);
  if (NetworkLayer::is_peer(lid) != (reply.size() > kLidBytes)) {
    return counters_.add(AttachmentCounter::kRxDropCell);
  }
  named.is_asked = true;
  named.lid = lid;
  if (reply.size() < kLidBytes) {
    if (!std::exchange(named.is_unknown, true)) {
      base::log_warn("the switch at " + below_.name_of(switch_at_) + " cannot resolve node '" +
                     named.name + "': is it in the topology file?");
    }
    return;
  }
  named.is_unknown = false;
  if (named.uses_all_paths && !NetworkLayer::is_peer(lid)) use_all_paths(lid, clock_.now());
  counters_.add(AttachmentCounter::kResolved);
}

// The place first: a name in another subnet needs it.
void Attachment::resolve(base::Time now) {
  if (now < resolve_at_ || !is_attached()) return;
  resolve_at_ = base::kNever;
  if (!is_place_known_) ask(kOwnPlace, {});
  if (!is_lmc_known_) ask(kOwnLids, kOwnLidsName);
  for (std::size_t i = 0; i < named_.size(); ++i) {
    if (!named_[i].is_asked) ask(i, named_[i].name);
  }
  for (const auto& [peer, paths] : paths_) {
    if (!paths.is_known) ask(kLidsOfPeer + peer.value, lids_name_of(peer));
  }
}

void Attachment::ask(std::uint64_t transaction, std::string_view name) {
  Mgmt m;
  m.kind = MgmtKind::kResolve;
  m.transaction = transaction;
  m.eui64 = link_->local_eui64();
  m.instance = link_->local_instance();
  m.private_data = base::as_bytes(name);
  send_mgmt(*link_, base_lid(), link_->remote_lid(), m, partitions_.first());
  asked_at_ = clock_.now();
  resolve_at_ = asked_at_ + kResolveEvery;
}

}  // namespace splitnic::fabric
