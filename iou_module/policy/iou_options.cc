#include "iou_module/policy/iou_options.h"

#include <algorithm>
#include <span>

#include "control/config/cli_app.h"
#include "control/daemon/mdns.h"
#include "fabric_emul/session/keys.h"

namespace splitnic::iou {
namespace {

constexpr const char* kProgram = "splitnic-iou";

std::string default_listen() { return "udp://[::]:" + std::to_string(control::kUnitPort); }

struct Arguments {
  std::vector<std::string> lan;
  std::vector<std::string> listen;
  std::string max_hosts = std::to_string(kMaxHostsDefault);
  std::vector<std::string> allow, allow_keys;
  std::vector<std::string> attach, peers;
  std::string hosts;
  std::string lan_mtu = "keep";
  std::string lan_mac = "keep";
  bool is_exclusive = false;
  std::vector<std::string> grants;
  bool is_announced = false;
  control::CommonArguments common;
};

void add_options(CLI::App& app, Arguments& into) {
  control::add_repeated(app, "--lan", into.lan,
                        "The LAN NIC: [pcap:]IF[,inject=packet|pcap], packet:IF, tap:NAME, "
                        "file:IN.pcap,OUT.pcap; may repeat, one NIC each",
                        "PORT")
      ->required();
  control::add_repeated(
      app, "--listen", into.listen,
      control::with_default("Where hosts attach: udp://ADDRESS:PORT or shm://NAME (udp:// and :" +
                                std::to_string(control::kUnitPort) +
                                " may be left out); may repeat",
                            default_listen() + ", which is every address, IPv4 too"),
      "ADDR");
  control::add_repeated(
      app, "--attach", into.attach,
      "Port of a fabric switch to attach to, udp://SWITCH:PORT or shm://NAME, as of --listen: "
      "hosts that the switch leads to may attach, and without --listen no others; may repeat, up "
      "to " +
          std::to_string(kSwitchesMax) + ", for several paths to each host",
      "ADDR");
  control::add_repeated(app, "--peer", into.peers,
                        "Public key of the switch of --attach; with --key-file, one for each "
                        "--attach, in its order",
                        "KEY");
  app.add_option("--max-hosts", into.max_hosts,
                 control::with_default("Maximum number of hosts", into.max_hosts))
      ->type_name("N");
  control::add_repeated(app, "--allow", into.allow,
                        "Addresses that may attach; may repeat (default all)", "CIDR");
  control::add_repeated(
      app, "--allow-key", into.allow_keys,
      "Public key of a host that may attach over UDP; may repeat; with --key-file", "KEY");
  app.add_option("--hosts", into.hosts,
                 "TOML file of the hosts that may attach and of their rights; SIGHUP and splitnic "
                 "reload read it again (docs/hosts_file.md)")
      ->type_name("FILE");
  app.add_option(
         "--lan-mtu", into.lan_mtu,
         control::with_default(
             "Whether a host may change the MTU of the NIC itself: keep or follow", into.lan_mtu))
      ->type_name("RULE");
  app.add_flag("--exclusive", into.is_exclusive,
               "Serve one host per NIC at a time and refuse others until it leaves");
  app.add_option("--lan-mac", into.lan_mac,
                 control::with_default(
                     "Whether the NIC's own address is that of its host: keep or follow, which "
                     "needs --exclusive and a pcap: or packet: port",
                     into.lan_mac))
      ->type_name("RULE");
  app.add_flag(
      "--announce", into.is_announced,
      "Announce the unit on the local network by multicast DNS: its name, its port and the "
      "hash of its public key; hosts find it with --connect any");
  control::add_repeated(
      app, "--grant", into.grants,
      "Rights of every host: sniff (promiscuous mode), forge (any source address), or sniff,forge "
      "as a bridge needs (default with --max-hosts 1: both; else none)",
      "RIGHTS");
  control::add_common_options(app, into.common);
}

bool is_same(const control::PortSpec& a, const control::PortSpec& b) {
  return (!a.interface.empty() && a.interface == b.interface) ||
         (!a.output.empty() && a.output == b.output);
}

base::Status check_lan(const Arguments& typed, IouOptions& out) {
  if (typed.lan.size() > control::kNicsMax)
    return base::Error("--lan: more than " + std::to_string(control::kNicsMax) + " NICs");
  for (const std::string& text : typed.lan) {
    auto port = control::parse_lan_port(text);
    if (!port) return port.error().within("--lan");
    if (std::ranges::any_of(out.lan, [&](const auto& other) { return is_same(other, *port); })) {
      return base::Error("--lan: " + text + " is given twice");
    }
    out.lan.push_back(*std::move(port));
  }
  return {};
}

base::Result<bool> follows(const std::string& option, const std::string& rule) {
  if (rule == "keep" || rule == "follow") return rule == "follow";
  return base::Error(option + ": '" + rule + "' is neither keep nor follow");
}

// The address of a TAP is that of the other end of its link, and a capture file has none.
base::Status check_ownership(const Arguments& typed, IouOptions& out) {
  const auto mac = follows("--lan-mac", typed.lan_mac);
  if (!mac) return mac.error();
  out.follows_lan_mac = *mac;
  out.is_exclusive = typed.is_exclusive;
  if (!out.follows_lan_mac) return {};
  if (!out.is_exclusive) {
    return base::Error("--lan-mac follow: --exclusive is missing: a NIC has one address");
  }
  using Kind = control::PortSpec::Kind;
  const auto at = std::ranges::find_if(out.lan, [](const control::PortSpec& lan) {
    return lan.kind != Kind::kPacket && lan.kind != Kind::kPcap;
  });
  if (at == out.lan.end()) return {};
  return base::Error("--lan-mac follow: " + at->text +
                     " is not a NIC whose address can follow: use packet: or pcap:");
}

// Whether hosts come by UDP without a switch between, which need their keys.
bool listens_at_udp(const Arguments& typed) {
  if (typed.listen.empty()) return typed.attach.empty();
  return std::ranges::any_of(typed.listen,
                             [](const auto& at) { return !at.starts_with("shm://"); });
}

// Over UDP a host is known by its key.
base::Status check_hosts(const Arguments& typed, IouOptions& out) {
  out.hosts_path = typed.hosts;
  if (typed.hosts.empty() || out.common.keys.are_given()) return {};
  const auto udp = std::ranges::find_if(out.listen, [](const auto& at) { return !at.is_shm(); });
  if (udp == out.listen.end()) return {};
  return base::Error("--hosts: --key-file is missing: hosts at " + udp->text() +
                     " are known by their keys");
}

// [::] has the port at every address of the machine. [B-14]
base::Status check_apart(const control::Endpoint& a, const control::Endpoint& b) {
  if (a.is_shm() || b.is_shm() || a.port != b.port) return {};
  const bool is_all = a.host == "::";
  if (!is_all && b.host != "::") return {};
  return base::Error("--listen: " + (is_all ? a : b).text() +
                     " is every address, IPv4 and IPv6: leave " + (is_all ? b : a).text() + " out");
}

base::Status check_listen(const Arguments& typed, IouOptions& out) {
  std::vector<std::string> all = typed.listen;
  if (all.empty() && typed.attach.empty()) all.push_back(default_listen());
  for (const std::string& text : all) {
    const auto endpoint = control::parse_unit_endpoint(text);
    if (!endpoint) return endpoint.error().within("--listen");
    if (endpoint->is_name()) {
      return base::Error("--listen: '" + text + "' is a name: give the address");
    }
    if (auto lab = control::check_lab(out.common.may_leave_machine(), "--listen", *endpoint); !lab)
      return lab;
    if (std::find(out.listen.begin(), out.listen.end(), *endpoint) != out.listen.end()) {
      return base::Error("--listen: " + text + " is given twice");
    }
    for (const control::Endpoint& other : out.listen) {
      if (auto apart = check_apart(other, *endpoint); !apart) return apart;
    }
    out.listen.push_back(*endpoint);
  }
  return {};
}

// The keys of the switches, without which a keyed unit would not know to whom it listens.
base::Status check_switch_keys(const Arguments& typed, IouOptions& out) {
  if (!out.common.keys.are_given()) {
    return typed.peers.empty() ? base::Status() : base::Error("--peer: --key-file is missing");
  }
  std::size_t next = 0;
  for (SwitchOptions& one : out.switches) {
    if (one.at.is_shm()) continue;
    if (next == typed.peers.size()) {
      return base::Error("--key-file: --peer is missing, the key of the switch at " +
                         one.at.text());
    }
    const auto key = fabric::session::parse_public_key(typed.peers[next++]);
    if (!key) return key.error().within("--peer");
    one.key = *key;
  }
  if (next == typed.peers.size()) return {};
  return base::Error("--peer: there is no switch at udp:// in --attach for " + typed.peers[next]);
}

base::Status check_switches(const Arguments& typed, IouOptions& out) {
  if (typed.attach.size() > kSwitchesMax) {
    return base::Error("--attach: at most " + std::to_string(kSwitchesMax) + " switches");
  }
  for (const std::string& text : typed.attach) {
    const auto at = control::parse_unit_endpoint(text);
    if (!at) return at.error().within("--attach");
    if (std::ranges::find(out.switches, *at, &SwitchOptions::at) != out.switches.end()) {
      return base::Error("--attach: " + text + " is given twice");
    }
    if (auto lab = control::check_lab(out.common.may_leave_machine(), "--attach", *at); !lab)
      return lab;
    out.switches.push_back({*at});
  }
  return check_switch_keys(typed, out);
}

// A host behind a switch has neither an address nor a key here: it is known by the LID of its port,
// which the switch attests if it has proven to be that switch.
base::Status check_attach(const Arguments& typed, IouOptions& out) {
  if (auto switches = check_switches(typed, out); !switches) return switches;
  if (typed.attach.empty()) return {};
  if (!typed.allow.empty()) {
    return base::Error("--attach: hosts behind a switch have no address: leave out --allow");
  }
  if (!typed.allow_keys.empty() && !listens_at_udp(typed)) {
    return base::Error("--attach: hosts behind a switch have no key here: leave out --allow-key");
  }
  for (const SwitchOptions& one : out.switches) {
    if (typed.hosts.empty() || one.has_vouched_lids()) continue;
    return base::Error("--hosts: " + one.at.text() + " is a switch without keys, which does not " +
                       "prove the LIDs of hosts: give --key-file and --peer, or leave out --hosts");
  }
  control::set_switched(typed.common, out.common);
  return {};
}

base::Status check_grants(const Arguments& typed, IouOptions& out) {
  for (const std::string& text : typed.grants) {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      const std::string right = text.substr(at, end - at);
      if (right != "sniff" && right != "forge")
        return base::Error("--grant: '" + right + "' is neither sniff nor forge");
      (right == "sniff" ? out.grants_sniff : out.grants_forge) = true;
      at = end + 1;
    }
  }
  return {};
}

base::Status check_once(std::span<const fabric::session::PublicKey> keys) {
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const auto before = keys.first(i);
    if (std::ranges::find(before, keys[i]) == before.end()) continue;
    return base::Error(fabric::session::base64_of(keys[i].bytes) + " is given twice")
        .within("--allow-key");
  }
  return {};
}

base::Status check_announce(const Arguments& typed, IouOptions& out) {
  out.is_announced = typed.is_announced;
  if (!typed.is_announced) return {};
  if (!control::kHasMdns) {
    return base::Error("--announce: this build cannot: build it with libavahi-core-dev");
  }
  if (!out.common.keys.are_given()) {
    return base::Error("--announce: --key-file is missing: hosts find the unit by its key");
  }
  if (out.announced() == out.listen.end()) {
    return base::Error("--announce: there is no udp:// in --listen for hosts to attach at");
  }
  return {};
}

base::Result<IouOptions> check_options(const Arguments& typed, const std::string& machine) {
  IouOptions out;
  const auto common = control::check_common_options(typed.common, machine + "-iou");
  if (!common) return common.error();
  out.common = *common;
  if (auto lan = check_lan(typed, out); !lan) return lan.error();
  auto keys = control::check_key_options(
      typed.common.keys, "--allow-key", typed.allow_keys,
      !typed.hosts.empty() || (!typed.attach.empty() && !listens_at_udp(typed)));
  if (!keys) return keys.error();
  out.common.keys = *std::move(keys);
  if (auto once = check_once(out.common.keys.peers); !once) return once.error();
  if (auto listen = check_listen(typed, out); !listen) return listen.error();
  if (auto attach = check_attach(typed, out); !attach) return attach.error();
  if (auto known = check_hosts(typed, out); !known) return known.error();
  if (auto announce = check_announce(typed, out); !announce) return announce.error();
  const auto hosts = control::number_option("--max-hosts", typed.max_hosts, 1, kMaxHostsMax);
  if (!hosts) return hosts.error();
  out.max_hosts = *hosts;
  for (const std::string& text : typed.allow) {
    const auto block = control::parse_cidr(text);
    if (!block) return block.error().within("--allow");
    out.allow.push_back(*block);
  }
  const auto mtu = follows("--lan-mtu", typed.lan_mtu);
  if (!mtu) return mtu.error();
  out.follows_lan_mtu = *mtu;
  if (auto owned = check_ownership(typed, out); !owned) return owned.error();
  if (auto grants = check_grants(typed, out); !grants) return grants.error();
  return out;
}

}  // namespace

control::ParseOutcome<IouOptions> parse(int argc, const char* const* argv,
                                        const std::string& machine) {
  Arguments typed;
  const auto app = control::make_app(
      kProgram, "The I/O unit of splitnic: lends this machine's LAN NIC to hosts on the fabric.");
  add_options(*app, typed);
  return control::parse_options<IouOptions>(*app, argc, argv,
                                            [&] { return check_options(typed, machine); });
}

}  // namespace splitnic::iou
