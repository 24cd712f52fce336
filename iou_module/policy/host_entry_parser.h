// One table [hosts.NAME] of the hosts file: every field with its type, range and default. Pure.
// docs/hosts_file.md#fields
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "control/config/toml.h"
#include "iou_module/policy/hosts_file.h"

namespace splitnic::iou {

// The properties of the hosts before, each with its host: "[hosts.office] in line 3".
struct TakenByHosts {
  std::map<Credential, std::string> credentials;
  std::map<lan::MacAddress, std::string> macs;
};

// `table` is the value of hosts.NAME. Adds those of this host to `taken`.
base::Result<HostEntry> parse_host_entry(const control::TomlValue& table, const UnitFacts& unit,
                                         TakenByHosts& taken);

}  // namespace splitnic::iou
