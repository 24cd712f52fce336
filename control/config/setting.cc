#include "control/config/setting.h"

#include "control/config/values.h"
#include "lan_bridge/frame/mtu.h"

namespace splitnic::control {

base::Result<Setting> parse_setting(const std::string& what, const std::string& value) {
  Setting out;
  if (what == "mac") {
    const auto mac = parse_mac(value);
    if (!mac) return mac.error();
    out.kind = Setting::Kind::kMac;
    out.mac = *mac;
  } else if (what == "mtu") {
    const auto mtu = number_option("set mtu", value, lan::kMtuMin, lan::kTapMtuMax);
    if (!mtu) return mtu.error();
    out.kind = Setting::Kind::kMtu;
    out.mtu = *mtu;
  } else if (what == "filter") {
    if (value != "promisc" && value != "normal") {
      return base::Error("set filter: promisc or normal");
    }
    out.kind = Setting::Kind::kFilter;
    out.is_promiscuous = value == "promisc";
  } else if (what == "link") {
    if (value != "up" && value != "down") return base::Error("set link: up or down");
    out.kind = Setting::Kind::kLink;
    out.is_up = value == "up";
  } else {
    return base::Error("set: '" + what + "' is none of mac, mtu, filter and link");
  }
  return out;
}

}  // namespace splitnic::control
