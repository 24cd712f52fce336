#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

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

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = spdlog::stderr_logger_mt("splitnic");
    if (is_journal()) {
      auto formatter = std::make_unique<spdlog::pattern_formatter>();
      formatter->add_flag<PriorityFlag>('*').set_pattern("%*%v");
      made->set_formatter(std::move(formatter));
    } else {
      made->set_pattern("%H:%M:%S.%e %l %v");
    }
    return made;
  }();
  return *instance;
}

}  // namespace

bool set_log_level(std::string_view level) {
  constexpr std::array kLevels = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                  spdlog::level::err};
  static_assert(kLevels.size() == kLogLevels.size());
  const auto found = std::ranges::find(kLogLevels, level);
  if (found == kLogLevels.end()) return false;
  logger().set_level(kLevels[static_cast<std::size_t>(found - kLogLevels.begin())]);
  return true;
}

void log_info(const std::string& line) { logger().info("{}", line); }
void log_warn(const std::string& line) { logger().warn("{}", line); }
void log_error(const std::string& line) { logger().error("{}", line); }
void log_debug(const std::string& line) { logger().debug("{}", line); }

bool LogLimit::pass(Time now) {
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    lines_ = 0;
  }
  return ++lines_ <= kLinesPerSecond;
}

}  // namespace splitnic::base
