#include "tools/raw_command.h"

#include "base/log.h"
#include "control/config/cli_app.h"
#include "control/identity.h"
#include "tools/raw_node.h"

namespace splitnic::tools {
namespace {

constexpr const char* kAbout =
    "IPv6 of this machine over the fabric, to the LAN at the leg of a switch";

void add_options(CLI::App& raw, RawArguments& into) {
  into.common.queues = "1";
  into.common.payload_crc = "on";
  raw.add_option("--connect", into.connect,
                 "The leg, by its name in the topology: udp://NAME:1?via=SWITCH:PORT or "
                 "shm://NAME?via=PORT")
      ->required()
      ->type_name("ADDR");
  raw.add_option("--interface", into.interface,
                 "The interface to create, or to use if it exists; its addresses are yours")
      ->required()
      ->type_name("tun:NAME");
  control::add_repeated(raw, "--peer", into.peers, "Public key of the switch; with --key-file",
                        "KEY");
  control::add_key_options(raw, into.common.keys, "Process");
  control::add_process_options(raw, into.common, "Process");
}

base::Result<RawOptions> check_raw(const RawArguments& typed) {
  RawOptions out;
  const auto common = control::check_common_options(typed.common, control::machine_name() + "-raw");
  if (!common) return common.error();
  out.common = *common;
  const auto leg = control::parse_peer_place(typed.connect);
  if (!leg) return leg.error().within("--connect");
  if (leg->node.empty()) {
    return base::Error("--connect: there is no switch between in " + typed.connect +
                       ": give udp://NAME:1?via=SWITCH:PORT");
  }
  if (leg->at.is_name()) {
    return base::Error("--connect: '" + leg->at.host + "' is a name: give the address");
  }
  out.leg = *leg;
  const auto interface = control::parse_tun(typed.interface);
  if (!interface) return interface.error().within("--interface");
  out.interface = *interface;
  auto keys = control::check_key_options(typed.common.keys, "--peer", typed.peers);
  if (!keys) return keys.error();
  out.common.keys = *std::move(keys);
  if (auto lab = control::check_lab(out.common.may_leave_machine(), "--connect", out.leg.at);
      !lab) {
    return lab.error();
  }
  if (out.common.keys.are_given() && out.leg.at.is_shm()) {
    return base::Error("--key-file: " + typed.connect +
                       " stays on this machine and has no keys: leave the option out");
  }
  if (out.common.keys.peers.size() > 1) {
    return base::Error("--peer: there is one switch, so give one key");
  }
  return out;
}

}  // namespace

void add_raw(CLI::App& app, RawArguments& into) {
  add_options(*app.add_subcommand("raw", kAbout), into);
}

int run_raw(int argc, const char* const* argv) {
  RawArguments typed;
  const auto app = control::make_app("splitnic raw", kAbout);
  app->set_version_flag();  // it is that of splitnic
  add_options(*app, typed);
  const auto outcome =
      control::parse_options<RawOptions>(*app, argc, argv, [&typed] { return check_raw(typed); });
  if (!outcome.options) return control::print_text(outcome.exit_code, outcome.text);
  base::set_log_level(outcome.options->common.log_level);
  return run_raw_node(*outcome.options);
}

}  // namespace splitnic::tools
