// The paths by which one queue pair sends: the LIDs of the peer's port over its own link. A queue
// pair that spans links has instead the first two LIDs of each link between the two nodes, of up to
// four, over whatever ports [S000-46] [S000-47]. A path keeps its number as long as its link is in
// the set; some numbers may have no path. Thread: the data thread.
// docs/protocol/path.md#several-ports
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/clock.h"
#include "fabric_emul/link/link.h"
#include "fabric_emul/link/path_health.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

// Whether the same process is at the far end of both links, and another one than this. REQUIRES
// that both were up.
bool lead_to_one_node(const Link& one, const Link& other);

class PathSet {
 public:
  static constexpr unsigned kLinksMax = 4;
  static constexpr unsigned kLidsOfSeveral = kUsedPathsMax / kLinksMax;
  // The link and the destination of a cell.
  struct Way {
    Link* link;
    Lid lid;
    friend bool operator==(const Way&, const Way&) = default;
  };

  // All paths are those of this link.
  void begin(Link& own) {
    *this = PathSet();
    own_ = links_[0] = &own;
    slots_ = 1;
  }
  // Other links may be added, for cells of this service level with up to `mcp` bytes of payload.
  // REQUIRES begin().
  void span(std::uint8_t sl, std::uint16_t mcp) {
    spans_ = true;
    sl_ = sl;
    mcp_ = mcp;
  }
  bool spans() const { return spans_; }
  // Adds a link that is up and leads to the same node. Returns false where the set has it, spans
  // none, has no room, or the link is of another kind or takes shorter cells only.
  bool add(Link& link);
  // REQUIRES that it is not the own one.
  void remove(const Link& link);
  // The link that stands for the queue pair from now on. REQUIRES that the set has it.
  void set_own(Link& link) { own_ = &link; }
  bool has(const Link& link) const {
    return spans_ ? slot_of(&link) < slots_ : own_ != nullptr && own_ == &link;
  }
  // The peer may send by this link, be it one that the set has no room for. REQUIRES spans().
  bool takes(const Link& link) const { return has(link) || lead_to_one_node(*own_, link); }
  // The numbers of its paths. REQUIRES spans() and has().
  PathMask paths_of(const Link& link) const {
    return static_cast<PathMask>(kMaskOfLink << (slot_of(&link) * kLidsOfSeveral));
  }
  // Another link of the set that is up; null if there is none.
  Link* other_up(const Link& than) const;
  bool is_any_up() const {
    return own_ != nullptr && (own_->up() || (spans_ && other_up(*own_) != nullptr));
  }

  // Of the rest, all REQUIRE begin() and path < count().
  // The numbers of paths in use are below this one.
  unsigned count() const {
    if (!spans_) return std::min(own_->paths(), kUsedPathsMax);
    if (slots_ == 1) return std::min(own_->paths(), kLidsOfSeveral);
    return slots_ * kLidsOfSeveral;
  }
  // The link of a path, and the peer's LID there; of a number without a path something of the set.
  Link& link_of(unsigned path) const {
    Link* link = spans_ ? links_[path / kLidsOfSeveral] : own_;
    return link != nullptr ? *link : *own_;
  }
  Lid lid_of(unsigned path) const;
  // A cell that is written now leaves by this path. REQUIRES spans().
  bool is_ready(unsigned path) const;
  // The same by any. REQUIRES spans().
  bool is_any_ready() const;

  // As those of PathHealth. Of several links those that carry nothing now are avoided too.
  bool is_avoided(unsigned path, base::Time now) const;
  base::Time silent_at(unsigned path) const;
  void on_arrived(PathMask paths);
  void on_silent(PathMask paths, base::Time now);

  // Another path each time, for ACK and NAK.
  Way next_reply();

 private:
  static constexpr unsigned kMaskOfLink = (1U << kLidsOfSeveral) - 1;

  // slots_: none. Null: the first that is free.
  unsigned slot_of(const Link* link) const {
    unsigned slot = 0;
    while (slot < slots_ && links_[slot] != link) ++slot;
    return slot;
  }
  PathHealth& health_of(unsigned path) const { return link_of(path).path_health(); }
  // Its number for the health of its link, which all queue pairs of the link share.
  unsigned number_in_link(unsigned path) const { return spans_ ? path % kLidsOfSeveral : path; }

  Link* own_ = nullptr;
  std::array<Link*, kLinksMax> links_{};
  unsigned slots_ = 0;  // used ones of links_ are below it
  unsigned next_reply_ = 0;
  std::uint16_t mcp_ = 0;
  std::uint8_t sl_ = 0;
  bool spans_ = false;
};

}  // namespace splitnic::fabric
