#include "host_module/refusal_text.h"

#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::host {

namespace cfg = messaging::cfg;

std::string refusal_text(cfg::Refusal refusal) {
  switch (refusal) {
    case cfg::OF_ANOTHER_HOST:
      return "another host has it";
    case cfg::RESERVED:
      return "it is listed for another host there";
    case cfg::OF_THE_LAN:
      return "a machine on the LAN has used it within 5 minutes; if that was this one, wait, or "
             "list the address for this host in the hosts file of the I/O unit";
    case cfg::OF_THE_NIC:
      return "it is that of the NIC itself; start splitnic-iou with --grant forge or --max-hosts "
             "1, or list the address for this host in its hosts file";
    case cfg::TOO_MANY:
      return "this host has as many as it may have";
    default:
      return "another host has it?";
  }
}

}  // namespace splitnic::host
