// The service levels of a host's frames by 802.1p priority and by DSCP (SET_QOS), and the queue of
// the connection that carries each: an additional queue per level, in ascending order of levels. A
// queue pair keeps its service level, so cells of one queue stay on one lane and in order.
// docs/protocol/cfgutil.md#service-levels Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace splitnic::messaging {

struct QosMap {
  static constexpr std::uint8_t kNone = 255;  // not mapped: queue 0, with the sender's own level
  static constexpr std::size_t kPriorities = 8;
  static constexpr std::size_t kCodePoints = 64;
  static constexpr std::size_t kLevelsMax = 3;  // different ones in a map
  // fabric::kSlMax, which this folder does not see (messaging/connection.cc compares them).
  static constexpr std::uint8_t kServiceLevelMax = 15;

  std::array<std::uint8_t, kPriorities> priorities = filled<kPriorities>();
  std::array<std::uint8_t, kCodePoints> code_points = filled<kCodePoints>();

  // Returns the map of these fields of SET_QOS, or nothing if one has neither its length nor none,
  // a level is neither 0 to 15 nor kNone, or there are more than kLevelsMax levels.
  static std::optional<QosMap> parse(std::string_view priorities, std::string_view code_points);
  // Returns the fields; "" where nothing is mapped.
  std::string priorities_field() const;
  std::string code_points_field() const;
  bool empty() const { return *this == QosMap{}; }
  // Returns the levels, each once, ascending.
  std::vector<std::uint8_t> levels() const;
  friend bool operator==(const QosMap&, const QosMap&) = default;

 private:
  template <std::size_t kSize>
  static constexpr std::array<std::uint8_t, kSize> filled() {
    std::array<std::uint8_t, kSize> all{};
    all.fill(kNone);
    return all;
  }
};

// The queue of each class of frames on one connection.
class QosQueues {
 public:
  QosQueues() = default;
  // `levels` are those of queues 1, 2 and so on. What has another level uses queue 0.
  QosQueues(const QosMap& map, const std::vector<std::uint8_t>& levels);

  // False: all frames use queue 0, or are distributed by flow.
  bool is_on() const { return is_on_; }
  // DSCP has precedence over 802.1p. REQUIRES priority < 8 and code_point < 64.
  std::size_t queue_of(std::optional<std::uint8_t> priority,
                       std::optional<std::uint8_t> code_point) const {
    if (code_point && by_code_point_[*code_point] != kUnmapped) return by_code_point_[*code_point];
    if (priority && by_priority_[*priority] != kUnmapped) return by_priority_[*priority];
    return 0;
  }
  // Returns the part of `map` that is in force on this connection: a level that no queue has is
  // not mapped.
  static QosMap in_force(const QosMap& map, const std::vector<std::uint8_t>& levels);

 private:
  static constexpr std::uint8_t kUnmapped = 255;

  std::array<std::uint8_t, QosMap::kPriorities> by_priority_{};
  std::array<std::uint8_t, QosMap::kCodePoints> by_code_point_{};
  bool is_on_ = false;
};

}  // namespace splitnic::messaging
