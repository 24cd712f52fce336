#include "fabric_emul/transport/path_set.h"

namespace splitnic::fabric {

// On a keyed link only a holder of the key knows the instance. A process of another user, where the
// kernel reports it, is another node [M-8].
bool lead_to_one_node(const Link& one, const Link& other) {
  return one.peer_instance() == other.peer_instance() &&
         one.local_instance() == other.local_instance() &&
         one.peer_instance() != one.local_instance() && one.is_keyed() == other.is_keyed() &&
         one.peer_key() == other.peer_key() && one.peer_user() == other.peer_user();
}

bool PathSet::add(Link& link) {
  if (!spans_ || has(link) || !link.up() || link.mcp() < mcp_) return false;
  if (link.crosses_routers() != own_->crosses_routers() || !lead_to_one_node(*own_, link)) {
    return false;
  }
  const unsigned free = slot_of(nullptr);
  if (free == kLinksMax) return false;
  links_[free] = &link;
  slots_ = std::max(slots_, free + 1);
  return true;
}

void PathSet::remove(const Link& link) {
  const unsigned slot = slot_of(&link);
  if (slot == slots_) return;
  links_[slot] = nullptr;
}

Link* PathSet::other_up(const Link& than) const {
  for (unsigned slot = 0; spans_ && slot < slots_; ++slot) {
    Link* link = links_[slot];
    if (link != nullptr && link != &than && link->up()) return link;
  }
  return nullptr;
}

Lid PathSet::lid_of(unsigned path) const {
  const Link& link = link_of(path);
  if (!spans_) return path_of(link.remote_lid(), path);
  return path_of(link.remote_lid(), number_in_link(path) < link.paths() ? number_in_link(path) : 0);
}

// A path that has narrowed carries longer cells in fragments.
bool PathSet::is_ready(unsigned path) const {
  const Link* link = links_[path / kLidsOfSeveral];
  if (link == nullptr || !link->up() || number_in_link(path) >= link->paths()) return false;
  const bool is_wide = link->mcp() >= mcp_ || (link->is_path_narrowed() && link->uses_fragments());
  return is_wide && !link->blocked(link->lane_of(sl_));
}

bool PathSet::is_any_ready() const {
  for (unsigned path = 0; path < count(); ++path) {
    if (is_ready(path)) return true;
  }
  return false;
}

bool PathSet::is_avoided(unsigned path, base::Time now) const {
  if (spans_ && !is_ready(path)) return true;
  return health_of(path).is_avoided(number_in_link(path), now);
}

base::Time PathSet::silent_at(unsigned path) const {
  if (spans_ && !is_ready(path)) return base::kNever;
  return health_of(path).silent_at(number_in_link(path));
}

void PathSet::on_arrived(PathMask paths) {
  if (!spans_) return own_->path_health().on_arrived(paths);
  for (unsigned slot = 0; slot < slots_; ++slot) {
    const unsigned of_link = unsigned{paths} >> (slot * kLidsOfSeveral) & kMaskOfLink;
    if (of_link != 0 && links_[slot] != nullptr) {
      links_[slot]->path_health().on_arrived(static_cast<PathMask>(of_link));
    }
  }
}

void PathSet::on_silent(PathMask paths, base::Time now) {
  if (!spans_) return own_->path_health().on_silent(paths, now);
  for (unsigned slot = 0; slot < slots_; ++slot) {
    const unsigned of_link = unsigned{paths} >> (slot * kLidsOfSeveral) & kMaskOfLink;
    if (of_link != 0 && links_[slot] != nullptr) {
      links_[slot]->path_health().on_silent(static_cast<PathMask>(of_link), now);
    }
  }
}

PathSet::Way PathSet::next_reply() {
  if (!spans_) return {own_, own_->next_remote_lid()};
  const unsigned paths = count();
  for (unsigned tries = 0; tries < paths; ++tries) {
    const unsigned path = next_reply_++ % paths;
    if (is_ready(path)) return {&link_of(path), lid_of(path)};
  }
  return {own_, own_->remote_lid()};
}

}  // namespace splitnic::fabric
