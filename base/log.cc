#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace splitnic::base {
namespace {

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = spdlog::stderr_logger_mt("splitnic");
    made->set_pattern("%H:%M:%S.%e %l %v");
    return made;
  }();
  return *instance;
}

}  // namespace

bool set_log_level(std::string_view level) {
  if (level == "debug")
    logger().set_level(spdlog::level::debug);
  else if (level == "info")
    logger().set_level(spdlog::level::info);
  else if (level == "warn")
    logger().set_level(spdlog::level::warn);
  else if (level == "error")
    logger().set_level(spdlog::level::err);
  else
    return false;
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
