#include "tools/nic_commands.h"

#include "control/config/nic_request.h"
#include "control/socket/client.h"
#include "control/socket/unix_socket.h"
#include "tools/commands.h"

namespace splitnic::tools {
namespace {

int ask_nic(const std::string& socket, const NicArguments& typed, const std::string& what,
            const std::string& value) {
  // The program would refuse it as bad usage, too.
  if (const auto good = control::parse_nic_request(what, value); !good) {
    return bad_usage(good.error().text());
  }
  control::Request request;
  request.command = control::Command::kNic;
  request.what = what;
  request.value = value;
  request.interface = typed.interface;
  request.json = typed.json;
  if (!socket.empty()) return ask_and_print(socket, request, kNicReplyTimeout);
  const auto found = control::socket_of_interface(control::kControlFolder, typed.interface);
  if (!found) return fail(found.error().text());
  return ask_and_print(*found, request, kNicReplyTimeout);
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

void add_interface(CLI::App& command, NicArguments& into) {
  command.add_option("interface", into.interface, "The interface of the host")
      ->required()
      ->type_name("NAME");
}

void add_json(CLI::App& command, NicArguments& into) {
  command.add_flag("-j,--json", into.json, "As one JSON object");
}

// A command about a list that the NIC has for the host: `words` change it, without them it is
// shown.
CLI::App* add_list_command(CLI::App& app, NicArguments& into, const char* name,
                           const char* description, const char* words, const char* words_help) {
  CLI::App* const command = app.add_subcommand(name, description);
  add_interface(*command, into);
  command->add_option("words", into.words, words_help)->type_name(words);
  add_json(*command, into);
  return command;
}

CLI::App* add_ethtool(CLI::App& app, NicArguments& into) {
  using Coalescing = control::NicRequest::CoalescingChange;
  auto* ethtool = app.add_subcommand(
      "ethtool", "The NIC at the I/O unit, as ethtool shows one: speed, duplex, link and address");
  add_interface(*ethtool, into);
  ethtool
      ->add_option("words", into.words,
                   "Of -S: a group; of -K: FEATURE on|off ...; of -L and -C: NAME VALUE ...")
      ->type_name("...");
  auto* forms = ethtool->add_option_group("Instead of the link");
  forms->require_option(0, 1);
  forms->add_flag("-i,--driver", into.driver, "Versions of both programs");
  forms->add_flag("-P,--show-permaddr", into.address, "The NIC's own address");
  forms->add_flag("-l,--show-channels", into.channels, "Queues");
  forms->add_flag("-L,--set-channels", into.set_channels, "How many queues are used: combined N");
  forms->add_flag("-g,--show-ring", into.rings,
                  "Frames that may be on their way to this host (RX) and from it (TX)");
  forms->add_flag("-c,--show-coalesce", into.coalescing,
                  "How long frames of the LAN wait for others before they are delivered");
  forms->add_flag("-C,--coalesce", into.set_coalescing,
                  "Set coalescing: adaptive-rx on|off, rx-usecs N (0 to " +
                      std::to_string(Coalescing::kMicrosecondsMax) + "), rx-frames N (0 to " +
                      std::to_string(Coalescing::kFramesMax) + "), rx-bytes N (0 to " +
                      std::to_string(Coalescing::kBytesMax) + ")");
  forms->add_flag("-k,--show-features", into.features, "Offloads in force between both ends");
  forms->add_flag("-K,--features", into.set_features,
                  "Switch offloads between both ends: tx, tso, tso6, uso");
  forms->add_flag("-S,--statistics", into.statistics,
                  "Counters of this host's part of the NIC; with a group (basic, rmon, drops, "
                  "pools, queues) only these");
  forms->add_flag("--clear-statistics", into.clear_statistics,
                  "Set the counters to 0, or those of a group; other hosts keep theirs");
  forms->add_flag("--reset", into.reset,
                  "Restore the values of a new NIC; the host then sets it up as it was");
  add_json(*ethtool, into);
  return ethtool;
}

}  // namespace

std::vector<CLI::App*> add_nic_commands(CLI::App& app, NicArguments& into) {
  CLI::App* const ethtool = add_ethtool(app, into);
  CLI::App* const vlan = add_list_command(
      app, into, "vlan",
      "The VLANs that the NIC at the I/O unit passes to this host; without more, lists them",
      "add|del|pvid ID",
      "add ID or del ID: the list (empty: all); pvid ID: untagged frames are of this VLAN (0: "
      "none)");
  CLI::App* const qos = add_list_command(
      app, into, "qos",
      "The service levels of the host's frames by 802.1p priority and DSCP, in both directions; "
      "without more, lists them",
      "set|clear ...",
      "set pcp PRIORITY LEVEL or dscp NUMBER LEVEL, and more of them: up to 3 different levels of "
      "0 to 15, or none; clear: none has a level");
  CLI::App* const filter = add_list_command(
      app, into, "filter",
      "The addresses that the NIC at the I/O unit receives for this host besides the interface's "
      "own; without more, lists them",
      "add|del|multicast ...",
      "add MAC or del MAC: an address or a group; multicast all or listed: all groups pass, or "
      "those of the list");
  return {ethtool, vlan, filter, qos};
}

int run_ethtool(const std::string& socket, const NicArguments& typed) {
  const char* what = typed.driver             ? "driver"
                     : typed.address          ? "address"
                     : typed.channels         ? "channels"
                     : typed.rings            ? "rings"
                     : typed.set_channels     ? "set-channels"
                     : typed.coalescing       ? "coalescing"
                     : typed.set_coalescing   ? "set-coalescing"
                     : typed.features         ? "features"
                     : typed.set_features     ? "set-features"
                     : typed.statistics       ? "statistics"
                     : typed.clear_statistics ? "clear-statistics"
                     : typed.reset            ? "reset"
                                              : "link";
  return ask_nic(socket, typed, what, joined(typed.words));
}

int run_qos(const std::string& socket, const NicArguments& typed) {
  if (typed.words.empty()) return ask_nic(socket, typed, "qos", "");
  const std::string& verb = typed.words.front();
  if (verb != "set" && verb != "clear")
    return bad_usage("qos: set pcp|dscp NUMBER LEVEL, or clear");
  return ask_nic(socket, typed, verb + "-qos",
                 joined({typed.words.begin() + 1, typed.words.end()}));
}

int run_list_of_host(const std::string& socket, const std::string& interface, bool json) {
  NicArguments typed;
  typed.interface = interface;
  typed.json = json;
  return ask_nic(socket, typed, "list", "");
}

int run_filter(const std::string& socket, const NicArguments& typed) {
  if (typed.words.empty()) return ask_nic(socket, typed, "filter", "");
  const std::string& verb = typed.words.front();
  if ((verb != "add" && verb != "del" && verb != "multicast") || typed.words.size() != 2) {
    return bad_usage("filter: add MAC, del MAC, or multicast all|listed");
  }
  return ask_nic(socket, typed, "filter-" + verb, typed.words.back());
}

int run_vlan(const std::string& socket, const NicArguments& typed) {
  if (typed.words.empty()) return ask_nic(socket, typed, "vlans", "");
  const std::string& verb = typed.words.front();
  if ((verb != "add" && verb != "del" && verb != "pvid") || typed.words.size() != 2) {
    return bad_usage("vlan: add ID, del ID or pvid ID");
  }
  return ask_nic(socket, typed, verb == "pvid" ? verb : "vlan-" + verb, typed.words.back());
}

}  // namespace splitnic::tools
