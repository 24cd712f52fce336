#include "fabric_emul/link/lid_terms.h"

#include <cstdint>

namespace splitnic::fabric {

std::optional<LinkLids> LidTerms::of_topology(const PeerAddress& peer) const {
  return config_.lids ? config_.lids(peer) : std::nullopt;
}

std::optional<LinkLids> LidTerms::assign(const PeerAddress& peer, std::size_t slot) const {
  if (config_.lids) return config_.lids(peer);
  const unsigned own_lid = config_.lid_base + 1U;
  return LinkLids{Lid(static_cast<std::uint16_t>(own_lid)),
                  Lid(static_cast<std::uint16_t>(own_lid + 1 + slot))};
}

std::optional<LinkLids> LidTerms::accept(const Init& ready, const PeerAddress& peer) const {
  const bool may_have_none = config_.takes_no_lid && ready.port != 0;
  if (ready.offered_lid == Lid() && !may_have_none) return std::nullopt;
  const LinkLids stated{ready.offered_lid, ready.lid};
  if (!config_.lids) return stated;
  const auto lids = config_.lids(peer);
  if (!lids || is_in_other_subnet(lids->remote) || *lids == stated) return lids;
  return std::nullopt;
}

bool LidTerms::are_others(const LinkLids& had, const LinkLids& now) {
  return had.local != Lid() && had.remote != Lid() && had != now;
}

bool LidTerms::have_changed(const LinkLids& had, const PeerAddress& peer) const {
  const auto lids = of_topology(peer);
  return lids && are_others(had, *lids);
}

}  // namespace splitnic::fabric
