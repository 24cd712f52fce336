#include "tools/counter_source.h"

#include <fnmatch.h>

#include <sstream>

#include "control/config/values.h"
#include "tools/commands.h"
#include "tools/several_replies.h"

namespace splitnic::tools {
namespace {

bool matches(const std::string& name, const std::string& pattern) {
  if (pattern.empty()) return true;
  if (pattern.find_first_of("*?[") == std::string::npos) {
    return name.find(pattern) != std::string::npos;
  }
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

// "NAME VALUE" per line.
control::CounterValues read_counters(const std::string& text, const std::string& pattern) {
  control::CounterValues counters;
  std::istringstream lines(text);
  std::string name;
  std::uint64_t value = 0;
  while (lines >> name >> value) {
    if (matches(name, pattern)) counters[name] = value;
  }
  return counters;
}

}  // namespace

base::Result<std::uint32_t> seconds_of(const std::string& interval) {
  return control::number_option("--interval", interval.empty() ? kIntervalDefault : interval, 1,
                                kIntervalMax);
}

base::Result<CounterSample> CounterSource::read() {
  if (!client_) {
    auto opened = connect(socket_);
    if (!opened) return opened.error();
    client_.emplace(*std::move(opened));
  }
  control::Request request;
  request.command = control::Command::kStats;
  const auto reply = client_->ask(request, kReplyTimeout);
  if (!reply || reply->status != control::ReplyStatus::kOk) {
    client_.reset();
    return reply ? refusal_of(socket_, *reply) : reply.error();
  }
  return CounterSample{read_counters(reply->text, pattern_), std::chrono::steady_clock::now()};
}

Pause::Pause(std::uint32_t seconds) : time_{static_cast<time_t>(seconds), 0} {
  sigemptyset(&stop_);
  sigaddset(&stop_, SIGINT);
  sigaddset(&stop_, SIGTERM);
  sigprocmask(SIG_BLOCK, &stop_, nullptr);
}

bool Pause::wait() const { return sigtimedwait(&stop_, nullptr, &time_) <= 0; }

}  // namespace splitnic::tools
