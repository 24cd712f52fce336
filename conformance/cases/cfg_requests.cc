#include "conformance/cases/cfg_requests.h"

#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::conformance {

namespace cfg = messaging::cfg;

std::string mac_request(std::string_view mac) {
  return data_of<cfg::SetMacRequest>([&](auto& m) { m.set_mac(std::string(mac)); });
}
std::string mtu_request(std::uint32_t mtu) {
  return data_of<cfg::SetMtuRequest>([&](auto& m) { m.set_mtu(mtu); });
}
std::string vlan_request(std::uint32_t id) {
  return data_of<cfg::VlanAddRequest>([&](auto& m) { m.set_vlan_id(id); });
}
std::string init_request(std::uint64_t features) {
  return data_of<cfg::InitNicRequest>([&](auto& m) { m.set_features_wanted(features); });
}

}  // namespace splitnic::conformance
