#include "switch_module/switch_options.h"

#include <algorithm>
#include <string_view>

#include "control/config/cli_app.h"
#include "control/daemon/key_options.h"
#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric_switch {
namespace {

constexpr const char* kProgram = "splitnic-switch";

struct Arguments {
  std::vector<std::string> ports;
  std::vector<std::string> topologies;
  std::string lan, manage;
  control::CommonArguments common;
};

void add_options(CLI::App& app, Arguments& into) {
  control::add_repeated(
      app, "--port", into.ports,
      "Ports 1, 2, ... of the switch: udp://ADDRESS:PORT or shm://NAME, where a node or another "
      "switch attaches; with ,connect behind it: the port of another switch to attach to",
      "ADDR")
      ->required();
  control::add_repeated(
      app, "--topology", into.topologies,
      "TOML file of the subnet: its switches, nodes and cables, with their keys "
      "(docs/topology_file.md); with several this is a router between their subnets",
      "FILE")
      ->required();
  app.add_option("--lan", into.lan,
                 "A leg to a LAN at the port behind the last --port: IPv6 datagrams of Raw queue "
                 "pairs pass between the node that the topology has there and the interface NAME")
      ->type_name("tun:NAME");
  app.add_option("--manage", into.manage,
                 "Run a subnet manager with this priority (0 to 255). The highest priority "
                 "manages; ties go to the lowest LID")
      ->type_name("[=PRIORITY]")
      ->expected(0, 1)
      ->default_str("0");
  control::add_link_options(app, into.common, "Options");
  control::add_key_options(app, into.common.keys, "Process");
  control::add_process_options(app, into.common, "Process");
}

base::Result<PortOption> parse_port(std::string text) {
  static constexpr std::string_view kConnect = ",connect";
  PortOption port;
  if (text.ends_with(kConnect)) {
    port.connects = true;
    text.resize(text.size() - kConnect.size());
  }
  const auto endpoint = control::parse_endpoint(text);
  if (!endpoint) return endpoint.error();
  if (endpoint->is_name() && !port.connects) {
    return base::Error("'" + text + "' is a name: give the address");
  }
  port.at = *endpoint;
  return port;
}

// A cell passes unchanged, and its CRC covers its payload over UDP, and its head over shm.
base::Status check_ports(const Arguments& typed, SwitchOptions& out) {
  if (typed.ports.size() > fabric::kSwitchPortsMax) {
    return base::Error("--port: more than " + std::to_string(fabric::kSwitchPortsMax) + " ports");
  }
  for (const std::string& text : typed.ports) {
    const auto port = parse_port(text);
    if (!port) return port.error().within("--port");
    if (auto lab = control::check_lab(out.common.may_leave_machine(), "--port", port->at); !lab) {
      return lab;
    }
    if (out.common.keys.are_given() && port->at.is_shm()) {
      return base::Error("--key-file: " + text +
                         " stays on this machine and has no keys: leave the option out");
    }
    for (const PortOption& other : out.ports) {
      if (other.at == port->at) return base::Error("--port: " + text + " is given twice");
      if (other.at.is_shm() != port->at.is_shm()) {
        return base::Error("--port: the ports of a switch are all udp:// or all shm://, because " +
                           std::string("the CRC of a cell covers its payload over UDP only"));
      }
    }
    out.ports.push_back(*port);
  }
  return {};
}

base::Status check_lan(const std::string& typed, SwitchOptions& out) {
  if (typed.empty()) return {};
  const auto name = control::parse_tun(typed);
  if (!name) return name.error().within("--lan");
  if (out.ports.size() >= fabric::kSwitchPortsMax) {
    return base::Error("--lan: there are " + std::to_string(out.ports.size()) +
                       " ports already, and the leg needs one");
  }
  out.lan = *name;
  return {};
}

base::Status check_manage(const std::string& typed, SwitchOptions& out) {
  if (typed.empty()) return {};
  const auto priority = control::number_option("--manage", typed, 0, UINT8_MAX);
  if (!priority) return priority.error();
  out.manage = static_cast<std::uint8_t>(*priority);
  return {};
}

base::Result<SwitchOptions> check(const Arguments& typed, const std::string& machine) {
  SwitchOptions out;
  const auto common = control::check_common_options(typed.common, machine + "-switch");
  if (!common) return common.error();
  out.common = *common;
  auto keys = control::check_key_options(typed.common.keys, "--topology", {}, true);
  if (!keys) return keys.error();
  out.common.keys = *std::move(keys);
  if (auto ports = check_ports(typed, out); !ports) return ports.error();
  if (auto lan = check_lan(typed.lan, out); !lan) return lan.error();
  if (auto manage = check_manage(typed.manage, out); !manage) return manage.error();
  out.topologies = typed.topologies;
  return out;
}

}  // namespace

control::ParseOutcome<SwitchOptions> parse(int argc, const char* const* argv,
                                           const std::string& machine) {
  Arguments typed;
  typed.common.queues = "1";
  typed.common.payload_crc = "on";
  const auto app = control::make_app(
      kProgram, "A fabric switch of splitnic: joins hosts, I/O units and other switches.");
  add_options(*app, typed);
  return control::parse_options<SwitchOptions>(*app, argc, argv,
                                               [&] { return check(typed, machine); });
}

}  // namespace splitnic::fabric_switch
