#include "tools/list_command.h"

#include <cstdio>

#include "control/config/parse_outcome.h"
#include "control/config/values.h"
#include "host_module/nic_list.h"
#include "tools/commands.h"
#include "tools/end_options.h"
#include "tools/nic_commands.h"
#include "tools/unit_session.h"

namespace splitnic::tools {
namespace {

constexpr base::Duration kReplyPatience = std::chrono::seconds(3);

// The name of an interface may be one of a machine, too: that is a unit only with scheme or port.
bool is_unit(const std::string& from) {
  if (from.find("://") != std::string::npos) return true;
  const auto unit = control::parse_unit_endpoint(from);
  return unit && (!unit->is_name() || from.find(':') != std::string::npos);
}

base::Result<control::KeyOptions> check_keys(const ListArguments& typed,
                                             const control::Endpoint& unit) {
  std::vector<std::string> peers;
  if (!typed.peer.empty()) peers.push_back(typed.peer);
  auto keys = control::check_key_options(typed.keys, "--peer", peers);
  if (!keys) return keys.error();
  if (keys->are_given() && unit.is_shm()) {
    return base::Error("--key-file: " + unit.text() +
                       " stays on this machine and has no keys: leave the option out");
  }
  const bool may_leave_machine = keys->are_given() || typed.is_insecure_lab;
  if (auto open = control::check_lab(may_leave_machine, "list", unit); !open) return open.error();
  return keys;
}

int list_unit(const ListArguments& typed) {
  const auto unit = control::parse_unit_endpoint(typed.from);
  if (!unit) return bad_usage("list: " + unit.error().text());
  const auto keys = check_keys(typed, *unit);
  if (!keys) return bad_usage(keys.error().text());
  UnitSession session(*unit, *keys);
  if (auto opened = session.open(); !opened) return fail(opened.error().text());
  const auto reply = session.ask(messaging::CfgCode::kListNics, kReplyPatience);
  if (!reply) return fail(reply.error().text());
  host::NicReport report;
  if (!host::add_nics(*reply, report)) return fail("the reply of the I/O unit is malformed");
  for (host::ReportedNic& nic : report.nics) nic.is_in_use = false;  // by this connection only
  const std::string text = typed.json ? report.json() : report.text();
  const bool is_written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  return is_written ? control::kExitOk : fail("cannot write to the standard output");
}

int list_of_host(const std::string& socket, const ListArguments& typed) {
  for (const CLI::Option* option : typed.for_unit) {
    if (option->count() == 0) continue;
    return bad_usage(option->get_name() +
                     ": list connects by it to the address of an I/O unit only: leave the option "
                     "out for a host that runs");
  }
  return run_list_of_host(socket, typed.from, typed.json);
}

}  // namespace

CLI::App* add_list(CLI::App& app, ListArguments& into) {
  auto* list = app.add_subcommand(
      "list",
      "The NICs that an I/O unit lends, by number: to a host that runs here, or, with the address "
      "of the unit, to whoever would connect to it with these keys");
  list->add_option("from", into.from,
                   "The interface of the host (default: its only one), or the I/O unit: "
                   "udp://ADDRESS:PORT, udp://NAME:PORT or shm://NAME, with the options about keys")
      ->type_name("NAME|UNIT");
  control::add_key_options(*list, into.keys, "Options");
  list->add_option("--peer", into.peer, "Public key of the I/O unit, with --key-file")
      ->type_name("KEY");
  add_insecure_lab(*list, into.is_insecure_lab);
  list->add_flag("-j,--json", into.json, "As one JSON object");
  for (const char* name :
       {"--key-file", "--psk-file", "--key-log", "--aead", "--peer", "--insecure-lab"}) {
    into.for_unit.push_back(list->get_option(name));
  }
  return list;
}

int run_list(const std::string& socket, const ListArguments& typed) {
  if (!is_unit(typed.from)) return list_of_host(socket, typed);
  if (!socket.empty()) return bad_usage("list: name the I/O unit or a host's socket, not both");
  return list_unit(typed);
}

}  // namespace splitnic::tools
