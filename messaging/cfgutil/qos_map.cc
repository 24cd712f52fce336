#include "messaging/cfgutil/qos_map.h"

#include <algorithm>
#include <span>

namespace splitnic::messaging {
namespace {

bool read(std::string_view field, std::span<std::uint8_t> to) {
  if (field.empty()) return true;
  if (field.size() != to.size()) return false;
  std::ranges::transform(field, to.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
  return std::ranges::all_of(to, [](std::uint8_t level) {
    return level <= QosMap::kServiceLevelMax || level == QosMap::kNone;
  });
}

std::string field_of(std::span<const std::uint8_t> levels) {
  const bool is_mapped =
      std::ranges::any_of(levels, [](std::uint8_t level) { return level != QosMap::kNone; });
  return is_mapped ? std::string(levels.begin(), levels.end()) : std::string();
}

}  // namespace

std::optional<QosMap> QosMap::parse(std::string_view priorities, std::string_view code_points) {
  QosMap map;
  if (!read(priorities, map.priorities) || !read(code_points, map.code_points) ||
      map.levels().size() > kLevelsMax) {
    return std::nullopt;
  }
  return map;
}

std::string QosMap::priorities_field() const { return field_of(priorities); }
std::string QosMap::code_points_field() const { return field_of(code_points); }

std::vector<std::uint8_t> QosMap::levels() const {
  std::vector<std::uint8_t> all(priorities.begin(), priorities.end());
  all.insert(all.end(), code_points.begin(), code_points.end());
  std::erase(all, kNone);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// A frame whose DSCP is not mapped goes by its priority, and one with a level of no queue to queue
// 0.
QosQueues::QosQueues(const QosMap& map, const std::vector<std::uint8_t>& levels)
    : is_on_(!map.empty()) {
  const auto queue_of = [&](std::uint8_t level) {
    if (level == QosMap::kNone) return kUnmapped;
    const auto at = std::ranges::find(levels, level);
    return at == levels.end() ? std::uint8_t{0}
                              : static_cast<std::uint8_t>(at - levels.begin() + 1);
  };
  std::ranges::transform(map.priorities, by_priority_.begin(), queue_of);
  std::ranges::transform(map.code_points, by_code_point_.begin(), queue_of);
}

QosMap QosQueues::in_force(const QosMap& map, const std::vector<std::uint8_t>& levels) {
  QosMap out = map;
  const auto limit = [&](std::uint8_t& level) {
    if (std::ranges::find(levels, level) == levels.end()) level = QosMap::kNone;
  };
  std::ranges::for_each(out.priorities, limit);
  std::ranges::for_each(out.code_points, limit);
  return out;
}

}  // namespace splitnic::messaging
