#include "host_module/host_options.h"

#include "control/config/cli_app.h"
#include "control/daemon/mdns.h"
#include "control/daemon/pool_options.h"

namespace splitnic::host {
namespace {

constexpr const char* kProgram = "splitnic-host";
const std::string kAny = "any";
constexpr std::uint32_t kTapFdMin = 3;  // behind stdin, stdout and stderr
constexpr std::uint32_t kTapFdMax = 65535;

struct Arguments {
  std::vector<std::string> connect;
  std::string failback = "60";
  std::string tap = "nic0";
  bool keeps_tap = false;
  bool has_uso = true;
  bool adopts_tap = false;
  std::string tap_fd;
  std::string net_namespace;
  std::string fabric_device;
  std::string nic = "0";
  std::string mac;
  std::string channels = "2";
  std::vector<std::string> peers;
  std::string idle_release = "0";
  std::optional<std::string> up, down;
  control::CommonArguments common;
};

void add_options(CLI::App& app, Arguments& into) {
  control::add_repeated(
      app, "--connect", into.connect,
      "Address of the I/O unit: udp://ADDRESS:PORT, udp://NAME:PORT (udp:// and :" +
          std::to_string(control::kUnitPort) +
          " may be left out) or shm://NAME. Through a fabric switch: udp://UNIT:1?via=SWITCH:PORT "
          "or shm://UNIT?via=NAME; &path=N selects another LID of the unit, and &path=all uses up "
          "to " +
          std::to_string(control::kUsedPathsMax) +
          " of its LIDs at once. any: find a unit that announces itself and has a key of --peer. "
          "May repeat, up to " +
          std::to_string(kUnitsMax) +
          " times, in order of preference: the next unit takes over when the one in use is silent",
      "ADDR")
      ->required();
  app.add_option("--failback", into.failback,
                 control::with_default(
                     "Return to a preferred I/O unit that has responded for this long, or never",
                     into.failback))
      ->type_name("SECONDS");
  app.add_option(
         "--tap", into.tap,
         control::with_default("The interface to create", into.tap) + ", or file:IN.pcap,OUT.pcap")
      ->type_name("NAME");
  app.add_flag("--keep-tap", into.keeps_tap, "Keep the interface after a clean stop");
  app.add_flag("--tap-adopt", into.adopts_tap, "Use an existing interface, and do not remove it");
  app.add_option("--tap-fd", into.tap_fd,
                 "The descriptor of the interface, with which the program was started")
      ->type_name("FD");
  app.add_option("--netns", into.net_namespace,
                 "The network namespace of the interface, as ip netns names it, or a path")
      ->type_name("NAME");
  app.add_option("--up", into.up,
                 "A command for /bin/sh, once the interface has its carrier for the first time; "
                 "SPLITNIC_TAP and others are in its environment")
      ->type_name("CMD");
  app.add_option("--down", into.down, "A command for /bin/sh, when the host has ended after that")
      ->type_name("CMD");
  app.add_option("--fabric-dev", into.fabric_device, "Keep the fabric on this interface")
      ->type_name("IF");
  control::add_repeated(app, "--peer", into.peers,
                        "Public key of the I/O unit, or of the switch that --connect leads "
                        "through; with --key-file, one for each --connect, in its order",
                        "KEY");
  app.add_option("--nic", into.nic, control::with_default("Which of the I/O unit's NICs", into.nic))
      ->type_name("K");
  app.add_option(
         "--mac", into.mac,
         "MAC address of the interface; nic: that of the LAN NIC (default: a stable local one)")
      ->type_name("MAC");
  app.add_option("--idle-release", into.idle_release,
                 control::with_default(
                     "Return memory of an idle NIC to the machine after this many seconds",
                     into.idle_release + ": never"))
      ->type_name("SECONDS");
  control::add_switch_off(app, "--no-uso", into.has_uso,
                          "Use no UDP segmentation offload (USO) on the interface");
  app.add_option("--channels", into.channels,
                 control::with_default(
                     "Channels of the connection: 2; 1 for messages and frames, in rdma mode; or "
                     "separate, a connection for each of two, in send mode",
                     into.channels))
      ->type_name("1|2|separate");
  control::add_common_options(app, into.common);
}

base::Result<MacChoice> check_mac(const std::string& text) {
  MacChoice choice;
  if (text.empty()) return choice;
  if (text == "nic") {
    choice.kind = MacChoice::Kind::kNic;
    return choice;
  }
  const auto mac = control::parse_mac(text);
  if (!mac) return mac.error().within("--mac");
  choice.kind = MacChoice::Kind::kGiven;
  choice.given = *mac;
  return choice;
}

// Units behind one port of a switch share the way there, with the key of that switch. Two ways to
// one announced unit would take the session with it from each other.
base::Status check_each_key(const Arguments& typed, const HostOptions& out) {
  const auto& keys = out.common.keys.peers;
  for (std::size_t i = 1; i < keys.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const UnitOptions& one = out.units[i];
      const UnitOptions& other = out.units[k];
      const bool is_same = keys[i] == keys[k];
      if (one.is_announced && is_same) {
        return base::Error("--peer: " + typed.peers[i] + " is given twice: name another I/O unit");
      }
      const bool is_shared =
          !one.node.empty() && !other.node.empty() && one.connect == other.connect;
      if (is_shared && !is_same) {
        return base::Error("--peer: " + other.text() + " and " + one.text() +
                           " are behind one port of a switch: give its key for both");
      }
    }
  }
  return {};
}

base::Status check_keys(const Arguments& typed, HostOptions& out) {
  auto keys = control::check_key_options(typed.common.keys, "--peer", typed.peers);
  if (!keys) return keys.error();
  out.common.keys = *std::move(keys);
  const bool has_keys = out.common.keys.are_given();
  for (const UnitOptions& unit : out.units) {
    if (has_keys && unit.connect.is_shm()) {
      return base::Error("--key-file: " + unit.connect.text() +
                         " stays on this machine and has no keys: leave the option out");
    }
    auto open = control::check_lab(out.common.may_leave_machine(), "--connect", unit.connect);
    if (!open) return open;
  }
  if (has_keys && out.common.keys.peers.size() != out.units.size()) {
    return base::Error("--peer: give one for each --connect, in the same order: there are " +
                       std::to_string(out.common.keys.peers.size()) + " for " +
                       std::to_string(out.units.size()));
  }
  return check_each_key(typed, out);
}

base::Result<UnitOptions> check_connect(const std::string& typed) {
  const auto place = control::parse_peer_place(typed);
  if (!place) return place.error().within("--connect");
  UnitOptions unit;
  unit.connect = place->at;
  unit.node = place->node;
  unit.path = place->path;
  return unit;
}

// --connect any: the I/O units whose keys are given, in their order.
base::Status check_announced(const Arguments& typed, HostOptions& out) {
  if (!control::kHasMdns) {
    return base::Error(
        "--connect any: this build finds no I/O units: build it with "
        "libavahi-core-dev, or give their addresses");
  }
  if (typed.common.keys.key_file.empty() || typed.peers.empty()) {
    return base::Error(
        "--connect any: give --key-file, and --peer with the key of each I/O unit "
        "that may be used");
  }
  if (typed.peers.size() > kUnitsMax) {
    return base::Error("--peer: at most " + std::to_string(kUnitsMax) + " I/O units");
  }
  UnitOptions unit;
  unit.is_announced = true;
  out.units.assign(typed.peers.size(), unit);
  return {};
}

base::Status check_failback(const Arguments& typed, HostOptions& out) {
  if (typed.failback == "never") return {};
  const auto failback = control::number_option("--failback", typed.failback, 0, kFailbackMax);
  if (!failback) return base::Error(failback.error().text() + ", or never");
  out.failback = *failback;
  return {};
}

base::Status check_units(const Arguments& typed, HostOptions& out) {
  if (typed.connect == std::vector{kAny}) return check_announced(typed, out);
  if (typed.connect.size() > kUnitsMax) {
    return base::Error("--connect: at most " + std::to_string(kUnitsMax) + " I/O units");
  }
  for (const std::string& text : typed.connect) {
    if (text == kAny) return base::Error("--connect any is for all units: give it alone");
    auto unit = check_connect(text);
    if (!unit) return unit.error();
    for (const UnitOptions& other : out.units) {
      if (other.text() == unit->text()) {
        return base::Error("--connect: " + text + " is given twice: name another I/O unit");
      }
      if (!other.node.empty() && other.node == unit->node && other.connect == unit->connect) {
        return base::Error("--connect: " + text + " and " + other.text() +
                           " are one I/O unit: give one of them, or one with &path=all");
      }
    }
    if (!unit->node.empty()) control::set_switched(typed.common, out.common);
    out.units.push_back(*std::move(unit));
  }
  return {};
}

base::Status check_tap(const Arguments& typed, HostOptions& out) {
  const auto tap = control::parse_tap(typed.tap);
  if (!tap) return tap.error().within("--tap");
  out.tap = *tap;
  out.keeps_tap = typed.keeps_tap;
  out.adopts_tap = typed.adopts_tap || !typed.tap_fd.empty();
  out.net_namespace = typed.net_namespace;
  const auto needs_interface = [&](bool is_given, const char* option) -> base::Status {
    if (!is_given || out.is_tap()) return {};
    return base::Error(std::string(option) + ": --tap is not an interface");
  };
  for (const auto& [command, option] : {std::pair{typed.up, "--up"}, {typed.down, "--down"}}) {
    if (auto needed = needs_interface(command.has_value(), option); !needed) return needed;
    if (command && command->empty()) return base::Error(std::string(option) + ": no command");
  }
  out.hooks = {typed.up.value_or(""), typed.down.value_or("")};
  const bool has_fd = !typed.tap_fd.empty();
  for (const auto& [is_given, option] :
       {std::pair{typed.keeps_tap, "--keep-tap"}, std::pair{typed.adopts_tap, "--tap-adopt"},
        std::pair{has_fd, "--tap-fd"}, std::pair{!typed.net_namespace.empty(), "--netns"}}) {
    if (auto needed = needs_interface(is_given, option); !needed) return needed;
  }
  if (!has_fd) return {};
  if (!out.net_namespace.empty()) {
    return base::Error(
        "--tap-fd: the descriptor leads to the interface wherever it is: leave "
        "--netns out");
  }
  const auto fd = control::number_option("--tap-fd", typed.tap_fd, kTapFdMin, kTapFdMax);
  if (!fd) return fd.error();
  out.tap_fd = static_cast<int>(*fd);
  return {};
}

// Every error here is bad usage.
base::Result<HostOptions> check(const Arguments& typed, const std::string& machine) {
  HostOptions out;
  if (auto tap = check_tap(typed, out); !tap) return tap.error();
  const auto common = control::check_common_options(
      typed.common, machine + "-" + (out.is_tap() ? out.tap.interface : std::string("host")));
  if (!common) return common.error();
  out.common = *common;
  if (auto channels = control::check_channels(typed.channels, out.common.pair); !channels) {
    return channels.error();
  }
  if (out.common.partitions.keys().size() > 1) {
    return base::Error("--partition: a host is in one: start another host for another partition");
  }
  if (auto units = check_units(typed, out); !units) return units.error();
  if (auto failback = check_failback(typed, out); !failback) return failback.error();
  if (auto keys = check_keys(typed, out); !keys) return keys.error();
  if (!typed.fabric_device.empty() && !control::is_interface_name(typed.fabric_device)) {
    return base::Error("--fabric-dev: '" + typed.fabric_device +
                       "' cannot be the name of an interface");
  }
  if (out.is_here() && typed.fabric_device == out.tap.interface) {
    return base::Error("--fabric-dev: the fabric cannot run over the interface it makes");
  }
  out.fabric_device = typed.fabric_device;
  const auto nic = control::number_option("--nic", typed.nic, 0, control::kNicsMax - 1);
  if (!nic) return nic.error();
  out.nic = *nic;
  out.has_uso = typed.has_uso;
  const auto mac = check_mac(typed.mac);
  if (!mac) return mac.error();
  out.mac = *mac;
  const auto idle =
      control::number_option("--idle-release", typed.idle_release, 0, kIdleReleaseMax);
  if (!idle) return idle.error();
  out.idle_release = *idle;
  return out;
}

}  // namespace

std::string UnitOptions::text() const {
  if (is_announced) return kAny;
  return control::PeerPlace{connect, node, path}.text();
}

control::ParseOutcome<HostOptions> parse(int argc, const char* const* argv,
                                         const std::string& machine) {
  Arguments typed;
  const auto app = control::make_app(
      kProgram, "The host of splitnic: gives this machine the NIC of an I/O unit.");
  add_options(*app, typed);
  return control::parse_options<HostOptions>(*app, argc, argv,
                                             [&] { return check(typed, machine); });
}

}  // namespace splitnic::host
