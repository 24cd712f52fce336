// `splitnic stats --watch`.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <map>
#include <sstream>

#include "control/client.h"
#include "control/parse_outcome.h"
#include "tools/commands.h"

namespace splitnic::tools {
namespace {

using Counters = std::map<std::string, std::uint64_t>;

// "NAME VALUE" a line.
Counters read_counters(const std::string& text) {
  Counters counters;
  std::istringstream lines(text);
  std::string name;
  std::uint64_t value = 0;
  while (lines >> name >> value) counters[name] = value;
  return counters;
}

void print_changes(const Counters& before, const Counters& now) {
  bool has_changed = false;
  for (const auto& [name, value] : now) {
    const auto old = before.find(name);
    const std::uint64_t was = old == before.end() ? 0 : old->second;
    if (value == was) continue;
    const auto change = static_cast<long long>(value - was);
    std::printf("%s %llu (%+lld)\n", name.c_str(), static_cast<unsigned long long>(value), change);
    has_changed = true;
  }
  std::puts(has_changed ? "" : "(no change)\n");
}

}  // namespace

int watch_stats(const std::string& socket, bool json) {
  // Blocked, so that sigtimedwait is both the pause and the way out.
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  sigprocmask(SIG_BLOCK, &stop, nullptr);

  auto client = connect(socket);
  if (!client) return fail(client.error().text());
  Counters before;
  for (bool is_first = true;; is_first = false) {
    control::Request request;
    request.command = control::Command::kStats;
    request.json = json;
    const auto reply = client->ask(request, kReplyTimeout);
    if (!reply) return fail(reply.error().text());
    if (reply->status != control::ReplyStatus::kOk) return fail(reply->text);
    if (json) {
      std::fputs(reply->text.c_str(), stdout);
    } else {
      Counters now = read_counters(reply->text);
      if (is_first) {
        std::printf("%s\n", reply->text.c_str());
      } else {
        print_changes(before, now);
      }
      before = std::move(now);
    }
    if (std::fflush(stdout) != 0) return fail("cannot write to the standard output");
    const timespec second{1, 0};
    if (sigtimedwait(&stop, nullptr, &second) > 0) return control::kExitOk;
  }
}

}  // namespace splitnic::tools
