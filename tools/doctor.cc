#include "tools/doctor.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "control/config/parse_outcome.h"
#include "control/config/values.h"
#include "control/socket/unix_socket.h"
#include "tools/commands.h"

namespace splitnic::tools {
namespace {

constexpr std::chrono::milliseconds kLookAgainAfter{200};

// Returns nothing if the program does not respond, or refuses.
std::string ask(const std::string& path, const control::Request& request, base::Duration timeout) {
  auto client = control::Client::connect(path);
  if (!client) return {};
  const auto reply = client->ask(request, timeout);
  return reply && reply->status == control::ReplyStatus::kOk ? reply->text : std::string();
}

// Returns `before` unless copies were seen until then: their counters stay after the copy has
// stopped, so it must try again.
std::string stats_later(const std::string& path, const control::Request& stats,
                        const std::string& before) {
  if (!has_seen_copies("", before)) return before;
  std::string now;
  const auto until = std::chrono::steady_clock::now() + kCopyTriesWithin;
  while (!has_seen_copies(before, now) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kLookAgainAfter);
    now = ask(path, stats, kReplyTimeout);
  }
  return now;
}

std::vector<Finding> examine_at(const std::string& path) {
  control::Request stats, show, nic;
  stats.command = control::Command::kStats;
  show.command = control::Command::kShow;
  show.json = true;
  nic.command = control::Command::kNic;
  nic.what = "statistics";
  nic.value = "rmon";
  ProgramReplies replies;
  replies.stats = ask(path, stats, kReplyTimeout);
  replies.stats_later = stats_later(path, stats, replies.stats);
  replies.show = ask(path, show, kReplyTimeout);
  replies.nic = ask(path, nic, kNicReplyTimeout);
  return examine_program(path, replies);
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
