// Queue pairs that span links follow the links of their node [S000-46] [S000-47].
// docs/protocol/path.md#several-ports
#include "fabric_emul/transport/path_set.h"
#include "fabric_emul/verbs/adapter.h"

namespace splitnic::fabric {

void Adapter::span_links(Qp& qp, std::uint16_t mcp) {
  qp.span_links(mcp);
  for (const auto& port : ports_) {
    port->for_each_link([&](Link& link) { static_cast<void>(qp.join_link(link)); });
  }
}

void Adapter::use_link(Qp& qp, Link& link) {
  const Link* before = qp.link();
  if (qp.join_link(link)) connections_.move(*before, link);
}

void Adapter::lose_link(Qp& qp, const Link& link) {
  if (!qp.paths().spans()) return;
  if (qp.lose_link(link)) connections_.move(link, *qp.link());
  if (!qp.is_in_active_list && qp.is_active()) activate(qp);
}

bool Adapter::leave_link(Qp& qp, const Link& link) {
  if (!qp.leave_link(link)) return false;
  connections_.move(link, *qp.link());
  return true;
}

// No queue pair moves a connection that has none left, and its DISC takes another link too.
void Adapter::move_closing(const Link& from) {
  Link* to = nullptr;
  for (const auto& port : ports_) {
    port->for_each_link([&](Link& link) {
      if (link.up() && lead_to_one_node(from, link)) to = &link;
    });
  }
  if (to != nullptr) connections_.move_closing(from, *to);
}

}  // namespace splitnic::fabric
