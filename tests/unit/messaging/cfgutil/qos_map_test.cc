// Service levels by priority and DSCP.
#include "messaging/cfgutil/qos_map.h"

#include <gtest/gtest.h>

namespace splitnic::messaging::qos_map_test {
namespace {

constexpr char kNone = '\xFF';

std::string priorities(const std::string& at, char level) {
  std::string all(QosMap::kPriorities, kNone);
  for (const char digit : at) all[static_cast<std::size_t>(digit - '0')] = level;
  return all;
}

TEST(QosMapTest, S001_49_fields_have_all_of_their_bytes_or_none) {
  const std::string points(QosMap::kCodePoints, '\x02');
  EXPECT_TRUE(QosMap::parse("", "").has_value());
  EXPECT_TRUE(QosMap::parse(priorities("5", 3), points).has_value());
  EXPECT_FALSE(QosMap::parse(std::string(7, 1), "").has_value());
  EXPECT_FALSE(QosMap::parse(std::string(9, 1), "").has_value());
  EXPECT_FALSE(QosMap::parse("", points.substr(1)).has_value());
  EXPECT_TRUE(QosMap::parse(priorities("5", 15), "").has_value());
  EXPECT_FALSE(QosMap::parse(priorities("5", 16), "").has_value());
  EXPECT_FALSE(QosMap::parse(priorities("5", '\xFE'), "").has_value());
}

TEST(QosMapTest, S001_49_a_map_has_three_levels_at_most) {
  std::string three(8, kNone);
  three[0] = 9;
  three[3] = 1;
  three[7] = 4;
  const auto map = QosMap::parse(three, "");
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(map->levels(), (std::vector<std::uint8_t>{1, 4, 9}));
  three[1] = 2;
  EXPECT_FALSE(QosMap::parse(three, "").has_value());
}

TEST(QosMapTest, what_is_not_mapped_has_no_field) {
  EXPECT_TRUE(QosMap{}.empty());
  EXPECT_EQ(QosMap{}.priorities_field(), "");
  EXPECT_EQ(QosMap{}.code_points_field(), "");
  const auto map = QosMap::parse(priorities("5", 3), "");
  EXPECT_FALSE(map->empty());
  EXPECT_EQ(map->priorities_field(), priorities("5", 3));
  EXPECT_EQ(map->code_points_field(), "");
}

TEST(QosMapTest, S001_49_each_class_has_the_queue_of_its_level) {
  QosMap map;
  map.priorities[5] = 3;
  map.priorities[6] = 7;
  map.code_points[46] = 7;
  const QosQueues queues(map, {3, 7});
  EXPECT_TRUE(queues.is_on());
  EXPECT_EQ(queues.queue_of({}, {}), 0U);
  EXPECT_EQ(queues.queue_of(5, {}), 1U);
  EXPECT_EQ(queues.queue_of(6, {}), 2U);
  EXPECT_EQ(queues.queue_of({}, 46), 2U);
  EXPECT_EQ(queues.queue_of(5, 46), 2U) << "DSCP has precedence";
  EXPECT_EQ(queues.queue_of(5, 0), 1U) << "a DSCP that is not mapped";
  EXPECT_EQ(queues.queue_of(4, 45), 0U);
  EXPECT_FALSE(QosQueues(QosMap{}, {3, 7}).is_on());
}

TEST(QosMapTest, S001_49_a_level_without_a_queue_is_not_in_force) {
  QosMap map;
  map.priorities[5] = 3;
  map.code_points[46] = 7;
  EXPECT_EQ(QosQueues(map, {7}).queue_of(5, {}), 0U);
  EXPECT_EQ(QosQueues(map, {7}).queue_of(5, 46), 1U);
  const QosMap in_force = QosQueues::in_force(map, {7});
  EXPECT_EQ(in_force.levels(), std::vector<std::uint8_t>{7});
  EXPECT_TRUE(QosQueues::in_force(map, {}).empty());
}

}  // namespace
}  // namespace splitnic::messaging::qos_map_test
