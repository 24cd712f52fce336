// The options of `splitnic conform`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "conformance/selection.h"
#include "conformance/subnet.h"
#include "conformance/switch_suite.h"
#include "tools/conform_command.h"
#include "tools/end_options.h"

namespace splitnic::tools {
namespace {

using conformance::Role;

constexpr double kTimeoutMin = 0.05;
constexpr double kTimeoutMax = 60;
constexpr std::size_t kKeysMax = 64;

// The roles of the suite, as --as names them.
constexpr std::array<std::pair<std::string_view, Role>, 4> kRoles{{{"host", Role::kHost},
                                                                   {"iou", Role::kUnit},
                                                                   {"switch", Role::kNodes},
                                                                   {"manager", Role::kSubnet}}};

bool has_ports(Role role) { return role == Role::kNodes || role == Role::kSubnet; }

base::Result<base::Duration> parse_timeout(const std::string& text) {
  const auto value = seconds_option("--timeout", text, kTimeoutMin, kTimeoutMax);
  if (!value) return value.error();
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(*value));
}

// One line per case: its id or a pattern, and behind the first blank the reason.
base::Result<std::map<std::string, std::string>> read_skips(const std::string& path) {
  constexpr const char* kBlanks = " \t";
  std::map<std::string, std::string> skips;
  std::ifstream file(path);
  if (!file) return base::Error::from_errno("--skip " + path, errno);
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    const std::size_t space = line.find_first_of(kBlanks);
    const std::size_t reason = line.find_first_not_of(kBlanks, space);
    if (space == std::string::npos || reason == std::string::npos) {
      return base::Error(
          fmt::format("--skip {}, line {}: the reason is missing behind '{}'", path, number, line));
    }
    skips[line.substr(0, space)] = conformance::printable(line.substr(reason));
  }
  // The end of the file, and no other reason, ends the loop: a directory can be opened too.
  if (!file.eof()) return base::Error("--skip " + path + ": cannot be read");
  return skips;
}

base::Status check_patterns(const std::vector<std::string>& patterns, const std::string& option,
                            Role role) {
  const auto all = conformance::cases(role);
  for (const std::string& pattern : patterns) {
    const bool is_known = std::ranges::any_of(
        all, [&](const auto& one) { return conformance::is_named(one, pattern); });
    if (!is_known)
      return base::Error(fmt::format("{}: no case is named '{}' (see --list)", option, pattern));
  }
  return {};
}

// The ports of a switch, separated by commas; behind the first one udp:// may be left out.
base::Result<std::vector<control::Endpoint>> parse_ports(const std::string& typed, Role role) {
  std::vector<control::Endpoint> ports;
  for (std::size_t at = 0; at <= typed.size();) {
    const std::size_t end = std::min(typed.find(',', at), typed.size());
    std::string one = typed.substr(at, end - at);
    if (!ports.empty() && one.find("://") == std::string::npos) one.insert(0, "udp://");
    auto port = endpoint_option("--target", one);
    if (!port) return port.error();
    if (port->is_shm()) return base::Error("--target: a switch is checked at its UDP ports");
    ports.push_back(*std::move(port));
    at = end + 1;
  }
  if (ports.size() > conformance::kSwitchPorts) {
    return base::Error(fmt::format("--target: {} ports, and a switch is checked at {}",
                                   ports.size(), conformance::kSwitchPorts));
  }
  if (role == Role::kSubnet && ports.size() != conformance::kManagerPorts) {
    return base::Error(fmt::format("--target: {} ports, and a switch that manages is checked at {}",
                                   ports.size(), conformance::kManagerPorts));
  }
  return ports;
}

base::Status check_keys(const ConformArguments& typed, const ConformOptions& options) {
  const std::size_t keys = typed.key_files.size();
  if (options.role == Role::kUnit && keys > 1)
    return base::Error("--key-file: an I/O unit has one");
  if (keys > kKeysMax) return base::Error("--key-file: more than 64 files");
  if (has_ports(options.role) && keys > 0 && keys != options.ports.size()) {
    return base::Error("--key-file: as many as ports are needed, in their order");
  }
  if (typed.key_files.empty() != typed.peer.empty()) {
    return base::Error(typed.peer.empty() ? "--key-file: --peer is missing"
                                          : "--peer: --key-file is missing");
  }
  if (!typed.psk_file.empty() && typed.key_files.empty()) {
    return base::Error("--psk-file: --key-file is missing");
  }
  if (keys > 0 && options.target.is_shm()) {
    return base::Error("--key-file: shared memory has no keys");
  }
  return {};
}

base::Status check_reports(const ConformArguments& typed) {
  std::vector<std::string> reports{typed.junit, typed.json, typed.html};
  std::erase(reports, "");
  std::ranges::sort(reports);
  const auto twice = std::ranges::adjacent_find(reports);
  if (twice == reports.end()) return {};
  return base::Error("two reports cannot have the file " + *twice);
}

}  // namespace

void add_conform(CLI::App& app, ConformArguments& into) {
  auto* conform = app.add_subcommand(
      "conform", "Check an implementation of the protocol against its specification");
  add_endpoint(*conform, "--target", into.target,
               "An I/O unit: udp://ADDRESS:PORT or shm://NAME; of a switch up to four ports, "
               "udp://ADDRESS:PORT,ADDRESS:PORT");
  add_endpoint(*conform, "--listen", into.listen,
               "Where a host is to connect to: udp://ADDRESS:PORT or shm://NAME");
  conform
      ->add_option(
          "--as", into.role,
          "Role of the suite: host (with --target), iou (with --listen), switch: the "
          "nodes around a switch (with --target), or manager: the switches around one that "
          "manages")
      ->type_name("ROLE");
  conform->add_flag("--list", into.list, "Print the cases with their clauses, and stop");
  conform->add_flag("--print-topology", into.print_topology,
                    "Print the topology file that the switch must have, and stop");
  control::add_repeated(*conform, "--select", into.select,
                        "Run only these: an id, a group, or a pattern with *; may repeat", "CASE");
  conform
      ->add_option("--skip", into.skip,
                   "File of cases that are not run: lines with an id or pattern and the reason")
      ->type_name("FILE");
  conform
      ->add_option("--timeout", into.timeout,
                   control::with_default("Seconds to wait for one reply", into.timeout))
      ->type_name("S");
  conform
      ->add_option("--seed", into.seed,
                   control::with_default("Seed of the random numbers", into.seed))
      ->type_name("N");
  conform->add_option("--junit", into.junit, "Write a report in JUnit's XML")->type_name("FILE");
  conform->add_option("--json", into.json, "Write a report in JSON")->type_name("FILE");
  conform->add_option("--html", into.html, "Write a page with the messages of each case")
      ->type_name("FILE");
  control::add_repeated(
      *conform, "--key-file", into.key_files,
      "File of the suite's private key; of a host may repeat: as many hosts; of a "
      "switch one for each port",
      "FILE");
  conform->add_option("--peer", into.peer, "Public key of the target, with --key-file")
      ->type_name("KEY");
  conform->add_option("--psk-file", into.psk_file, "File of a pre-shared key (default: none)")
      ->type_name("FILE");
  add_insecure_lab(*conform, into.insecure_lab);
}

base::Result<ConformOptions> check_conform(const ConformArguments& typed) {
  ConformOptions out;
  const auto role = std::ranges::find(kRoles, typed.role, &decltype(kRoles)::value_type::first);
  out.has_role = role != kRoles.end();
  if (out.has_role) out.role = role->second;
  const bool is_unit = out.has_role && out.role == Role::kUnit;
  out.is_list = typed.list;
  const base::Error bad_role("conform: --as must be host, iou, switch or manager");
  if (!out.has_role && !typed.role.empty()) return bad_role;
  if (out.is_list) return out;
  if (typed.target.empty() && typed.listen.empty()) {
    return base::Error("conform: --target or --listen is missing");
  }
  if (!out.has_role) return bad_role;
  if (is_unit ? !typed.target.empty() : !typed.listen.empty()) {
    return base::Error(is_unit ? "conform: --as iou takes --listen, not --target"
                               : "conform: --as " + typed.role + " takes --target, not --listen");
  }
  const std::string option = is_unit ? "--listen" : "--target";
  if (has_ports(out.role)) {
    auto ports = parse_ports(typed.target, out.role);
    if (!ports) return ports.error();
    out.ports = *std::move(ports);
    out.target = out.ports.front();
  } else {
    auto target = endpoint_option(option, is_unit ? typed.listen : typed.target);
    if (!target) return target.error();
    out.target = *std::move(target);
  }
  if (auto keys = check_keys(typed, out); !keys) return keys.error();
  out.key_files = typed.key_files;
  out.peer = typed.peer;
  out.prints_topology = typed.print_topology;
  if (out.prints_topology) {
    if (!has_ports(out.role)) {
      return base::Error("--print-topology: is for --as switch and --as manager");
    }
    return out;
  }
  if (typed.key_files.empty()) {
    if (auto lab = control::check_lab(typed.insecure_lab, option, out.target); !lab) {
      return lab.error();
    }
  }
  const auto timeout = parse_timeout(typed.timeout);
  if (!timeout) return timeout.error();
  out.timeout = *timeout;
  const auto seed = control::number_option("--seed", typed.seed, 0, 0xFFFFFFFF);
  if (!seed) return seed.error();
  out.seed = *seed;
  if (auto known = check_patterns(typed.select, "--select", out.role); !known) return known.error();
  out.select = typed.select;
  if (!typed.skip.empty()) {
    auto skips = read_skips(typed.skip);
    if (!skips) return skips.error();
    out.skips = *std::move(skips);
    std::vector<std::string> patterns;
    for (const auto& [pattern, why] : out.skips) patterns.push_back(pattern);
    if (auto known = check_patterns(patterns, "--skip", out.role); !known) return known.error();
  }
  if (auto reports = check_reports(typed); !reports) return reports.error();
  out.junit = typed.junit;
  out.json = typed.json;
  out.html = typed.html;
  out.psk_file = typed.psk_file;
  return out;
}

std::string ConformOptions::target_text() const {
  if (ports.empty()) return target.text();
  std::string text;
  for (const control::Endpoint& port : ports) text += (text.empty() ? "" : ",") + port.text();
  return text;
}

}  // namespace splitnic::tools
