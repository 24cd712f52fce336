// The command line and configuration file of splitnic-host, as checked values. docs/CLI.md
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/config/parse_outcome.h"
#include "control/config/values.h"
#include "control/daemon/common_options.h"
#include "control/daemon/hook_process.h"
#include "control/identity.h"

namespace splitnic::host {

// The MAC of the host's interface: our stable one, the one given, or the LAN NIC's.
struct MacChoice {
  enum class Kind : std::uint8_t { kStable, kGiven, kNic };
  Kind kind = Kind::kStable;
  lan::MacAddress given{};
  friend bool operator==(const MacChoice&, const MacChoice&) = default;
};

// An I/O unit, as --connect names it.
struct UnitOptions {
  control::Endpoint connect;  // may be a name, to be resolved; with `node`, a port of a switch
  std::string node{};         // the name of the I/O unit on the fabric; "": it is at `connect`
  std::uint32_t path = 0;     // to `node`, as in control::PeerPlace
  bool is_announced = false;  // it is where it announces itself; `connect` is empty

  std::string text() const;  // as one types it
};

struct HostOptions {
  // In order of preference. With keys, common.keys.peers has the key of each at the same place.
  std::vector<UnitOptions> units;
  std::optional<std::uint32_t> failback;  // seconds; none: never
  control::PortSpec tap;                  // kind kTap or kFile
  bool keeps_tap = false;
  bool has_uso = true;        // the interface has UDP segmentation offload
  bool adopts_tap = false;    // the interface is there, whoever made it
  int tap_fd = -1;            // its descriptor, which the program was started with; -1: none
  std::string net_namespace;  // of the interface, as lan::NetNamespace::open() takes it; "": ours
  std::string fabric_device;  // "": none
  std::uint32_t nic = 0;
  MacChoice mac;
  std::uint32_t idle_release = 0;  // seconds; 0: never
  control::Hooks hooks;
  control::CommonOptions common;

  bool is_tap() const { return tap.kind == control::PortSpec::Kind::kTap; }
  // Whether it is an interface of the program's network namespace, as far as the options know.
  bool is_here() const { return is_tap() && net_namespace.empty() && tap_fd < 0; }
};

inline constexpr std::uint32_t kIdleReleaseMax = 86400;
inline constexpr std::uint32_t kFailbackMax = 86400;
inline constexpr std::size_t kUnitsMax = 4;

// Pure, but for reading the --config file. `machine` is the first part of the default --name:
// MACHINE-TAP.
control::ParseOutcome<HostOptions> parse(int argc, const char* const* argv,
                                         const std::string& machine = control::machine_name());

}  // namespace splitnic::host
