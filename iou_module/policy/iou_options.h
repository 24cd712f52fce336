// The command line and configuration file of splitnic-iou, as checked values. docs/CLI.md
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/config/parse_outcome.h"
#include "control/config/values.h"
#include "control/daemon/common_options.h"
#include "control/identity.h"

namespace splitnic::iou {

inline constexpr std::uint32_t kMaxHostsDefault = 64;
inline constexpr std::uint32_t kMaxHostsMax = 4096;
inline constexpr std::size_t kSwitchesMax = 4;  // that a unit is attached to

// The port of a switch.
struct SwitchOptions {
  control::Endpoint at;
  std::optional<fabric::session::PublicKey> key{};  // of the switch: over UDP, with keys

  // Whether the LID of a host behind the switch is proven, hop by hop.
  bool has_vouched_lids() const { return key.has_value(); }
};

struct IouOptions {
  std::vector<control::PortSpec> lan;     // NIC 0, 1, ...; at least one
  std::vector<control::Endpoint> listen;  // never a name; at least one, without `switches`
  std::vector<SwitchOptions> switches;
  std::uint32_t max_hosts = kMaxHostsDefault;
  std::vector<control::Cidr> allow;  // empty: all; shm hosts have no address and are allowed
  bool follows_lan_mtu = false;      // --lan-mtu follow: SET_MTU may change the NIC's own
  bool is_exclusive = false;         // --exclusive: a NIC has one host at a time
  bool follows_lan_mac = false;      // --lan-mac follow, which has is_exclusive
  std::string hosts_path;            // --hosts; "": no file
  bool is_announced = false;         // --announce: on the local network, with the first UDP port
  bool grants_sniff = false;         // --grant, to every host that is in no hosts file
  bool grants_forge = false;
  control::CommonOptions common;

  // The endpoint that is announced; end() of `listen` if none is at UDP.
  std::vector<control::Endpoint>::const_iterator announced() const {
    return std::ranges::find(listen, control::Endpoint::Kind::kUdp, &control::Endpoint::kind);
  }
  bool has_vouched_lids() const {
    return std::ranges::any_of(switches, &SwitchOptions::has_vouched_lids);
  }
};

// Pure, but for reading the --config file. `machine` is the first part of the default --name:
// MACHINE-iou.
control::ParseOutcome<IouOptions> parse(int argc, const char* const* argv,
                                        const std::string& machine = control::machine_name());

}  // namespace splitnic::iou
