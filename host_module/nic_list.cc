#include "host_module/nic_list.h"

#include <cstring>

#include "control/config/values.h"
#include "control/daemon/common_options.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::host {

bool add_nics(const std::string& data, NicReport& report) {
  messaging::cfg::ListNicsReply reply;
  if (!reply.ParseFromString(data)) return false;
  for (const auto& nic : reply.nics()) {
    lan::MacAddress mac{};
    if (nic.mac().size() != mac.size() || report.nics.size() == control::kNicsMax) return false;
    std::memcpy(mac.data(), nic.mac().data(), nic.mac().size());
    report.nics.push_back({nic.number(), nic.mtu(), nic.link().speed_mbps(), control::mac_text(mac),
                           nic.link().up(), nic.link().full_duplex(), nic.in_use()});
  }
  return true;
}

}  // namespace splitnic::host
