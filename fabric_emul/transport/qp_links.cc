// The links of a queue pair that spans those of several ports [S000-46] [S000-47].
// docs/protocol/path.md#several-ports
#include "fabric_emul/transport/qp.h"

namespace splitnic::fabric {

void Qp::use_as_own(Link& link) {
  context_.paths.set_own(link);
  context_.link = &link;
  context_.attr.remote_lid = link.remote_lid();
}

bool Qp::join_link(Link& link) {
  if (!context_.paths.spans()) return false;
  const bool is_known = context_.paths.has(link) || context_.paths.add(link);
  if (!is_known || context_.link == &link || context_.link->up()) return false;
  use_as_own(link);
  return true;
}

bool Qp::lose_link(const Link& link) {
  if (!context_.paths.spans() || !context_.paths.has(link)) return false;
  Link* other = context_.paths.other_up(link);
  if (other == nullptr) return false;
  requester_.lose_paths(context_.paths.paths_of(link));
  if (context_.link != &link) return false;
  use_as_own(*other);
  return true;
}

bool Qp::leave_link(const Link& link) {
  PathSet& paths = context_.paths;
  if (!paths.spans() || !paths.has(link)) return false;
  if (context_.link == &link && paths.other_up(link) == nullptr) {
    paths.begin(*context_.link);  // the others are of the peer that this link has no more
    return false;
  }
  requester_.lose_paths(paths.paths_of(link));
  static_cast<void>(lose_link(link));
  paths.remove(link);
  return true;
}

}  // namespace splitnic::fabric
