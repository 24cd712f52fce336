#include "fabric_emul/switching/peer_paths.h"

namespace splitnic::fabric {

bool PeerPaths::on_heard(Lid peer, PartitionKey key) {
  const auto own = partitions_.own(key);
  if (!own) return false;
  if (*own == partitions_.first())
    in_partition_.erase(peer);
  else
    in_partition_[peer] = *own;
  return true;
}

PartitionKey PeerPaths::partition_to(Lid peer) const {
  const auto at = in_partition_.find(peer);
  return at == in_partition_.end() ? partitions_.first() : at->second;
}

void PeerPaths::on_link_begun(Lid peer, Lid own, Lid base) {
  if (own == base)
    called_at_.erase(peer);
  else
    called_at_[peer] = own;
}

Lid PeerPaths::own_lid_to(Lid peer, const PortLids& own) const {
  const auto at = called_at_.find(peer);
  return at != called_at_.end() && own.has(at->second) ? at->second : own.base;
}

bool PeerPaths::use_all(Lid peer, base::Time now) {
  const auto [at, is_new] = paths_.try_emplace(peer);
  at->second.used_at = now;
  return is_new;
}

bool PeerPaths::set_lmc(Lid peer, std::uint8_t lmc) {
  const auto at = paths_.find(peer);
  if (at == paths_.end()) return false;
  at->second.lmc = lmc;
  at->second.is_known = true;
  return true;
}

unsigned PeerPaths::count_to(Lid peer, bool is_named, base::Time now) const {
  const auto at = paths_.find(peer);
  if (at == paths_.end()) return 1;
  const bool is_used = is_named || now - at->second.used_at < kUnusedAfter;
  return is_used ? PortLids{peer, at->second.lmc}.count() : 1;
}

}  // namespace splitnic::fabric
