#include "tools/doctor.h"

#include <algorithm>
#include <cstdio>

#include "control/parse_outcome.h"
#include "control/unix_socket.h"
#include "control/values.h"
#include "tools/commands.h"

namespace splitnic::tools {
namespace {

// Returns nothing if the program does not respond, or refuses.
std::string ask(const std::string& path, const control::Request& request, base::Duration timeout) {
  auto client = control::Client::connect(path);
  if (!client) return {};
  const auto reply = client->ask(request, timeout);
  return reply && reply->status == control::ReplyStatus::kOk ? reply->text : std::string();
}

std::vector<Finding> examine_at(const std::string& path) {
  control::Request stats, show, nic;
  stats.command = control::Command::kStats;
  show.command = control::Command::kShow;
  show.json = true;
  nic.command = control::Command::kNic;
  nic.what = "statistics";
  nic.value = "rmon";
  return examine_program(path, ask(path, stats, kReplyTimeout), ask(path, show, kReplyTimeout),
                         ask(path, nic, kNicReplyTimeout));
}

void append(std::vector<Finding>& to, std::vector<Finding> more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

int run_doctor(const std::string& socket, const std::string& unit) {
  if (!unit.empty()) {
    const auto endpoint = control::parse_unit_endpoint(unit);
    if (!endpoint) return bad_usage("doctor: " + endpoint.error().text());
    if (endpoint->is_shm()) return bad_usage("doctor: name the I/O unit as udp://ADDRESS:PORT");
  }
  std::vector<Finding> all = examine_machine();
  if (!unit.empty()) append(all, examine_unit(control::parse_unit_endpoint(unit)->text()));
  const std::vector<std::string> programs =
      socket.empty() ? control::sockets_in(control::kControlFolder)
                     : std::vector{control::socket_path(control::kControlFolder, socket)};
  for (const std::string& path : programs) append(all, examine_at(path));
  for (const Finding& finding : all) {
    std::printf("%-6s%s: %s\n", finding.is_good ? "ok" : "wrong", finding.subject.c_str(),
                finding.text.c_str());
  }
  if (std::fflush(stdout) != 0) return fail("cannot write to the standard output");
  const bool is_good = std::ranges::all_of(all, &Finding::is_good);
  return is_good ? control::kExitOk : control::kExitFailed;
}

}  // namespace splitnic::tools
