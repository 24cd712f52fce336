#include "fabric_emul/switching/resolver.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/endian.h"
#include "base/log.h"
#include "fabric_emul/switching/path_cell.h"
#include "fabric_emul/switching/topology.h"
#include "fabric_emul/wire/mgmt.h"

namespace splitnic::fabric {
namespace {

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

Resolver::Resolver(Link& hop, PeerNames& names, PeerPaths& paths, NetworkLayer& network,
                   base::Counters<AttachmentCounter>& counters)
    : hop_(hop), names_(names), paths_(paths), network_(network), counters_(counters) {}

void Resolver::start(Lid base, base::Time now) {
  if (std::exchange(base_, base) != base) lmc_ = 0;  // other LIDs: their number is not known yet
  is_place_known_ = is_lmc_known_ = false;
  for (auto& [peer, paths] : paths_.all()) paths.is_known = false;
  for (PeerNames::Named& named : names_.all()) named.is_asked = false;
  ask_at_ = now;
}

// The end that names a peer decides; the peer does the same. A question is asked no more often than
// others are repeated.
void Resolver::use_all_paths(Lid peer, base::Time now) {
  const PeerNames::Named* named = names_.at(peer);
  if (named != nullptr && !named->uses_all_paths) return;
  if (!paths_.use_all(peer, now)) return;
  ask_at_ = std::min(ask_at_, std::max(now, asked_at_ + kRepeatAfter));
}

// The place first: a name in another subnet needs it.
void Resolver::step(base::Time now) {
  if (now < ask_at_) return;
  ask_at_ = base::kNever;
  if (!is_place_known_) ask(kOwnPlace, {}, now);
  if (!is_lmc_known_) ask(kOwnLids, kOwnLidsName, now);
  for (std::size_t i = 0; i < names_.all().size(); ++i) {
    if (!names_.all()[i].is_asked) ask(i, names_.all()[i].name, now);
  }
  for (const auto& [peer, paths] : paths_.all()) {
    if (!paths.is_known) ask(kLidsOfPeer + peer.value, lids_name_of(peer), now);
  }
}

void Resolver::ask(std::uint64_t transaction, std::string_view name, base::Time now) {
  Mgmt m;
  m.kind = MgmtKind::kResolve;
  m.transaction = transaction;
  m.eui64 = hop_.local_eui64();
  m.instance = hop_.local_instance();
  m.private_data = base::as_bytes(name);
  if (!send_mgmt(hop_, base_, hop_.remote_lid(), m, paths_.first_partition())) {
    counters_.add(AttachmentCounter::kTxDropBlocked);
  }
  asked_at_ = now;
  ask_at_ = now + kRepeatAfter;
}

void Resolver::on_mgmt(base::Bytes payload, base::Time now) {
  Mgmt m;
  const bool is_valid = parse_mgmt(payload, m) == MgmtError::kNone &&
                        m.kind == MgmtKind::kResolved && take(m.transaction, m.private_data, now);
  if (!is_valid) counters_.add(AttachmentCounter::kRxDropCell);
}

bool Resolver::take(std::uint64_t transaction, base::Bytes reply, base::Time now) {
  if (transaction == kOwnPlace) return on_place(reply);
  if (transaction == kOwnLids) return on_own_lids(reply);
  if (transaction >= kLidsOfPeer && transaction - kLidsOfPeer <= UINT16_MAX) {
    return on_lids_of(Lid(static_cast<std::uint16_t>(transaction - kLidsOfPeer)), reply);
  }
  return transaction < names_.all().size() && on_name(names_.all()[transaction], reply, now);
}

bool Resolver::on_place(base::Bytes reply) {
  if (!network_.learn(reply, base_)) return false;
  is_place_known_ = true;
  return true;
}

bool Resolver::on_own_lids(base::Bytes reply) {
  const auto lmc = lmc_in(reply, base_);
  if (!lmc) return false;
  lmc_ = *lmc;
  is_lmc_known_ = true;
  return true;
}

bool Resolver::on_lids_of(Lid peer, base::Bytes reply) {
  const auto lmc = lmc_in(reply, peer);
  return lmc && paths_.set_lmc(peer, *lmc);
}

// Nothing, the LID of a node, or the place of one in another subnet.
bool Resolver::on_name(PeerNames::Named& named, base::Bytes reply, base::Time now) {
  constexpr std::size_t kLidBytes = sizeof(std::uint16_t);
  Lid lid;
  if (reply.size() == kLidBytes) lid = Lid(base::load_be<std::uint16_t>(reply.data()));
  if (reply.size() > kLidBytes) lid = network_.resolved(reply);
  if (NetworkLayer::is_peer(lid) != (reply.size() > kLidBytes)) return false;
  named.is_asked = true;
  named.lid = lid;
  if (reply.size() < kLidBytes) {
    if (!std::exchange(named.is_unknown, true)) {
      base::log_warn("the switch at " + hop_.peer_name() + " cannot resolve node '" + named.name +
                     "': is it in the topology file?");
    }
    return true;
  }
  named.is_unknown = false;
  if (named.uses_all_paths && !NetworkLayer::is_peer(lid)) use_all_paths(lid, now);
  counters_.add(AttachmentCounter::kResolved);
  return true;
}

}  // namespace splitnic::fabric
