// The questions of an attached port to its switch: its place in the network, and names.
// docs/protocol/path.md#names docs/protocol/network.md#place
#include <utility>

#include "base/endian.h"
#include "base/log.h"
#include "fabric_emul/switching/attachment.h"
#include "fabric_emul/switching/path_cell.h"
#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric {

void Attachment::on_mgmt(base::Bytes payload) {
  Mgmt m;
  if (parse_mgmt(payload, m) == MgmtError::kNone && m.kind == MgmtKind::kResolved) {
    if (m.transaction == kOwnPlace && network_.learn(m.private_data, link_->local_lid())) {
      is_place_known_ = true;
      return;
    }
    if (m.transaction == kOwnLids) return on_own_lids(m.private_data);
    if (m.transaction < named_.size()) return on_resolved(named_[m.transaction], m.private_data);
  }
  counters_.add(AttachmentCounter::kRxDropCell);
}

// Nothing, from a switch that knows no such question: the port has one LID.
void Attachment::on_own_lids(base::Bytes reply) {
  constexpr std::size_t kLids = 2 * sizeof(std::uint16_t);
  std::uint16_t lmc = 0;
  if (!reply.empty()) {
    const bool is_whole = reply.size() == kLids;
    if (is_whole) lmc = base::load_be<std::uint16_t>(&reply[sizeof(std::uint16_t)]);
    if (!is_whole || Lid(base::load_be<std::uint16_t>(reply.data())) != link_->local_lid() ||
        lmc > kLmcMax || link_->local_lid().value % (1U << lmc) != 0) {
      return counters_.add(AttachmentCounter::kRxDropCell);
    }
  }
  lmc_ = static_cast<std::uint8_t>(lmc);
  is_lmc_known_ = true;
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
      base::log_warn("the switch at " + below_.name_of(switch_at_) + " knows no node '" +
                     named.name + "': is it in the topology file?");
    }
    return;
  }
  named.is_unknown = false;
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
}

void Attachment::ask(std::uint64_t transaction, std::string_view name) {
  Mgmt m;
  m.kind = MgmtKind::kResolve;
  m.transaction = transaction;
  m.eui64 = link_->local_eui64();
  m.instance = link_->local_instance();
  m.private_data = base::as_bytes(name);
  send_mgmt(*link_, link_->local_lid(), link_->remote_lid(), m, partitions_.first());
  resolve_at_ = clock_.now() + kResolveEvery;
}

}  // namespace splitnic::fabric
