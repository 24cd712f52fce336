#include "control/daemon/hook_process.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <sstream>
#include <string_view>

#include "base/log.h"
#include "control/daemon/hook_command.h"
#include "control/report/text_table.h"

namespace splitnic::control {
namespace {

constexpr std::string_view kPrefix = "SPLITNIC_";
constexpr auto kHookVariables =
    std::to_array<std::string_view>({"NAME", "TAP", "NETNS", "UNIT", "UNIT_NAME", "MTU", "MAC"});

// They are of the program alone: a command that used them would speak to the service manager for
// it.
constexpr auto kKept = std::to_array<std::string_view>(
    {"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "FDSTORE", "LISTEN_PID", "LISTEN_FDS",
     "LISTEN_FDNAMES", "JOURNAL_STREAM"});

bool is_harmless(char c) {
  constexpr std::string_view kOthers = "._:/[]%@?=,+-#~";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.find(c) != std::string_view::npos;
}

// No blank, no quote and no option reaches a shell that forgets its own quotes.
std::string harmless(std::string value) {
  for (char& c : value) {
    if (!is_harmless(c)) c = '_';
  }
  if (value.starts_with('-')) value.front() = '_';
  return value;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> out;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view variable = *at;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (std::ranges::find(kKept, name) == kKept.end() && !name.starts_with(kPrefix)) {
      out.emplace_back(variable);
    }
  }
  return out;
}

// Of lines "NAME=VALUE" those that a command may have.
std::vector<std::string> variables_of(const std::string& packet) {
  std::vector<std::string> out;
  std::istringstream lines(packet);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find('=');
    if (at == std::string::npos) continue;
    const std::string name = line.substr(0, at);
    if (std::ranges::find(kHookVariables, name) == kHookVariables.end()) continue;
    out.push_back(std::string(kPrefix) + name + "=" + harmless(line.substr(at + 1)));
  }
  return out;
}

void run_hook(const std::string& event, const std::string& text, const std::string& packet,
              base::Duration limit) {
  if (text.empty()) return;
  HookCommand command{text, own_environment(), limit, event == "down"};
  command.environment.push_back(std::string(kPrefix) + "HOOK=" + event);
  for (std::string& variable : variables_of(packet)) {
    command.environment.push_back(std::move(variable));
  }
  const std::string end = run(command, [&](std::string_view line) {
    base::log_info("--" + event + ": " + printable(std::string(line)));
  });
  if (end.empty())
    base::log_info("--" + event + " has ended with status 0");
  else
    base::log_warn("--" + event + " " + end + ": " + printable(text));
}

void serve_hooks(SideProcess::Channel channel, const Hooks& hooks, bool gains_no_rights,
                 base::Duration limit) {
  if (gains_no_rights && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  const auto packet = channel.receive();
  if (!packet) return;  // the interface never had its carrier
  run_hook("up", hooks.up, *packet, limit);
  while (channel.receive()) {
  }
  run_hook("down", hooks.down, *packet, limit);
}

}  // namespace

base::Result<std::unique_ptr<HookProcess>> HookProcess::begin(Hooks hooks, bool gains_no_rights,
                                                              base::Duration limit) {
  auto begun = SideProcess::begin(
      "splitnic-hooks", std::nullopt,
      [hooks = std::move(hooks), gains_no_rights, limit](SideProcess::Channel channel) {
        serve_hooks(channel, hooks, gains_no_rights, limit);
      });
  if (!begun) return begun.error();
  return std::unique_ptr<HookProcess>(new HookProcess(*std::move(begun)));
}

void HookProcess::report_up(const Variables& variables) {
  std::string packet;
  for (const auto& [name, value] : variables) {
    const std::size_t begin = packet.size();
    packet.append(name).append("=").append(value);
    std::replace(packet.begin() + static_cast<std::ptrdiff_t>(begin), packet.end(), '\n', '_');
    packet += '\n';
  }
  packet.resize(std::min(packet.size(), SideProcess::kPacketBytesMax));
  if (!process_->send(packet)) base::log_warn("the process that runs --up and --down has ended");
}

}  // namespace splitnic::control
