#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/event_log.h"
#include "base/log_limit.h"
#include "base/stderr_sink.h"

namespace splitnic::base {
namespace {

int priority_of(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::debug:
      return LOG_DEBUG;
    case spdlog::level::warn:
      return LOG_WARNING;
    case spdlog::level::err:
      return LOG_ERR;
    default:
      return LOG_INFO;
  }
}

// The pattern flag that writes "<N>", from which the journal takes the priority of a line
// (sd-daemon(3)).
class PriorityFlag final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string prefix = "<" + std::to_string(priority_of(message.level)) + ">";
    out.append(prefix.data(), prefix.data() + prefix.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PriorityFlag>();
  }
};

// The service manager names the stream that it connected to stderr. A program below may have
// redirected it since.
bool is_journal() {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat now {};
  if (stream == nullptr || ::fstat(STDERR_FILENO, &now) != 0) return false;
  return stream == std::to_string(now.st_dev) + ":" + std::to_string(now.st_ino);
}

constexpr std::array kLevels = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                spdlog::level::err};
static_assert(kLevels.size() == kLogLevels.size());

std::string_view level_name(spdlog::level::level_enum level) {
  return kLogLevels[static_cast<std::size_t>(std::ranges::find(kLevels, level) - kLevels.begin())];
}

class Log {
 public:
  Log() : sink_(std::make_shared<StderrSink>()), logger_("splitnic", sink_) {
    if (is_journal()) {
      auto formatter = std::make_unique<spdlog::pattern_formatter>();
      formatter->add_flag<PriorityFlag>('*').set_pattern("%*%v");
      logger_.set_formatter(std::move(formatter));
    } else {
      logger_.set_pattern("%H:%M:%S.%e %l %v");
    }
  }
  void set_level(spdlog::level::level_enum level) { logger_.set_level(level); }
  void write(spdlog::level::level_enum level, const Topic& topic, const std::string& line,
             const boost::source_location& at) {
    const LogCause cause{at.file_name(), at.line()};
    const Time now = std::chrono::steady_clock::now();
    if (level != spdlog::level::debug) add_event(level, topic, line, cause, now);
    if (!logger_.should_log(level)) return;
    const std::lock_guard lock(mutex_);
    const bool passes =
        limit_.pass(cause, line, now, [&](std::string_view first, std::uint64_t count) {
          logger_.warn("{}", report_of(first, count));
        });
    if (passes) logger_.log(level, "{}", line);
  }
  LogDrops drops() {
    const std::lock_guard lock(mutex_);
    return {limit_.left_out(), sink_->dropped()};
  }

 private:
  static std::string report_of(std::string_view first, std::uint64_t count) {
    return "and " + std::to_string(count) + " more like: " + std::string(first);
  }
  // Without the mutex where it calls those who wait for events: they may log.
  void add_event(spdlog::level::level_enum level, const Topic& topic, const std::string& line,
                 const LogCause& cause, Time now) {
    std::vector<std::string> reports;
    bool passes = false;
    {
      const std::lock_guard lock(mutex_);
      passes =
          event_limit_.pass(cause, line, now, [&](std::string_view first, std::uint64_t count) {
            reports.push_back(report_of(first, count));
          });
    }
    const auto at = std::chrono::system_clock::now();
    for (std::string& report : reports) {
      events().add({0, at, level_name(spdlog::level::warn), {}, std::move(report)});
    }
    if (passes) events().add({0, at, level_name(level), topic, line, cause});
  }

  std::shared_ptr<StderrSink> sink_;
  spdlog::logger logger_;
  std::mutex mutex_;
  LogLimit limit_;                                       // guarded by mutex_
  LogLimit event_limit_{kEventsPerCause, kEventsInAll};  // guarded by mutex_
};

Log& log() {
  static Log instance;
  return instance;
}

}  // namespace

bool set_log_level(std::string_view level) {
  const auto found = std::ranges::find(kLogLevels, level);
  if (found == kLogLevels.end()) return false;
  log().set_level(kLevels[static_cast<std::size_t>(found - kLogLevels.begin())]);
  return true;
}

void log_info(const std::string& line, const boost::source_location& at) {
  log_info(Topic{}, line, at);
}
void log_warn(const std::string& line, const boost::source_location& at) {
  log_warn(Topic{}, line, at);
}
void log_error(const std::string& line, const boost::source_location& at) {
  log_error(Topic{}, line, at);
}
void log_debug(const std::string& line, const boost::source_location& at) {
  log().write(spdlog::level::debug, {}, line, at);
}
void log_info(const Topic& topic, const std::string& line, const boost::source_location& at) {
  log().write(spdlog::level::info, topic, line, at);
}
void log_warn(const Topic& topic, const std::string& line, const boost::source_location& at) {
  log().write(spdlog::level::warn, topic, line, at);
}
void log_error(const Topic& topic, const std::string& line, const boost::source_location& at) {
  log().write(spdlog::level::err, topic, line, at);
}

std::string_view error_priority() { return is_journal() ? "<3>" : ""; }

LogDrops log_drops() { return log().drops(); }

}  // namespace splitnic::base
