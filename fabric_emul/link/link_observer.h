// Callbacks about the life of links, implemented by the owner of a port. Called from inside
// Port::receive(), on_time(), flush(), on_writable() and send_bye(), on the data thread; a callback
// may write cells into links and must not call the port.
#pragma once

#include <string_view>

#include "fabric_emul/underlay/underlay.h"
#include "fabric_emul/wire/init.h"

namespace splitnic::fabric {

class Link;

class LinkObserver {
 public:
  virtual ~LinkObserver() = default;
  virtual void on_link_up(Link& link) = 0;
  // Ends nothing above the link: the peer may come back as the same instance.
  virtual void on_link_down(Link& link, std::string_view why) = 0;
  // The peer is another instance now, or the link gets other LIDs, or the slot goes to another
  // peer: end everything that belongs to the old one. peer_eui64(), peer_instance() and the LIDs
  // are still the old ones; the link is not up. on_link_up follows once INIT is complete; an
  // on_link_down need not come before.
  virtual void on_peer_restarted(Link& link) = 0;
  // The path carries less than before: it refused a datagram, or only short probes got replies.
  // mcp() is smaller now. Queue pairs with a larger MCP lose cells: their owner re-creates them.
  virtual void on_path_narrowed(Link& /*link*/) {}
  // Another peer of the EUI-64 of this link, which is alive, was refused at the address `from`.
  virtual void on_duplicate(Link& /*link*/, std::string_view /*from*/) {}
  virtual void on_refused(Link& /*link*/, InitReason /*reason*/) {}
  // A peer that PortConfig::is_expected does not take was refused, or its READY dropped. A refused
  // peer has not proven its address.
  virtual void on_unexpected(const Init& /*peer*/, const PeerAddress& /*from*/) {}
};

}  // namespace splitnic::fabric
