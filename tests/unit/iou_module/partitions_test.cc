// Hosts of several partitions at one I/O unit, and the service level of what it sends to each.
#include "tests/unit/iou_module/rights_fixture.h"

namespace splitnic::iou::harness::partitions_test {
namespace {

constexpr fabric::PartitionKey kOffice(0x8001), kLab(0x8002), kLabGuest(0x0002);

struct UnitPartitionsTest : testing::Test {
  RightsByHost source;
  UnitHarness harness{
      {.rights = &source, .partitions = fabric::PartitionTable({kOffice, kLab}), .sl = 1}};
  TestHost& office = harness.add_host({.partition = kOffice});
  TestHost& guest = harness.add_host({.partition = kLabGuest});
  TestHost& stranger = harness.add_host();
};

TEST_F(UnitPartitionsTest, S004_20_a_unit_serves_hosts_of_its_partitions) {
  ASSERT_TRUE(harness.attach(office, mac_number(1)));
  ASSERT_TRUE(harness.attach(guest, mac_number(2)));
  for (TestHost* host : {&office, &guest}) {
    harness.lan().queue(frame_of(mac_number(host == &office ? 1 : 2), kPeer));
    harness.run(5ms);
    EXPECT_EQ(host->got.size(), 1U);
  }
  std::vector<fabric::PartitionKey> partitions;
  for (const AttachedHost* host : harness.unit->hosts()) partitions.push_back(host->partition());
  EXPECT_EQ(partitions, (std::vector{kOffice, kLab}));
}

TEST_F(UnitPartitionsTest, S004_20_a_host_of_no_partition_of_the_unit_gets_no_reply) {
  ASSERT_TRUE(harness.run_until([&] { return stranger.link_up(); }));
  EXPECT_FALSE(harness.connect(stranger));
  EXPECT_TRUE(stranger.refusal.empty()) << stranger.refusal;
  EXPECT_TRUE(harness.unit->hosts().empty());
  EXPECT_GE(harness.count("iou.hosts.refused_partition"), 1U);
  // Its DISC is dropped, too.
  EXPECT_LE(harness.count("iou.hosts.refused_partition"),
            harness.count("fabric.mgmt.drop.partition"));
}

TEST_F(UnitPartitionsTest, S004_20_a_host_connects_in_the_partitions_of_its_rights) {
  source.rights[1].partitions = {kLabGuest, fabric::as_limited_member(kOffice)};
  source.rights[2].partitions = {kOffice};
  ASSERT_TRUE(harness.attach(office, mac_number(1)));
  ASSERT_TRUE(harness.run_until([&] { return guest.link_up(); }));
  EXPECT_FALSE(harness.connect(guest));
  EXPECT_NE(guest.refusal.find("may not use partition 0x8002"), std::string::npos) << guest.refusal;
  EXPECT_GE(harness.count("iou.hosts.refused_rights"), 1U);
}

TEST_F(UnitPartitionsTest, S004_20_a_partition_that_is_withdrawn_is_lost_at_once) {
  ASSERT_TRUE(harness.attach(office, mac_number(1)));
  ASSERT_TRUE(harness.attach(guest, mac_number(2)));
  source.rights[1].partitions = {kLab};
  source.rights[2].partitions = {kLab};
  harness.unit->update_rights(harness.clock.now());
  ASSERT_TRUE(harness.run_until([&] { return !office.up(); }, 5ms));
  EXPECT_TRUE(guest.up());
}

// Channel 1 is the queue pair that has receives for the elements of pools.
TEST_F(UnitPartitionsTest, S004_21_a_host_gets_its_service_level) {
  source.rights[2].sl = 6;
  ASSERT_TRUE(harness.attach(office, mac_number(1)));
  ASSERT_TRUE(harness.attach(guest, mac_number(2)));
  std::vector<std::pair<std::uint8_t, std::uint8_t>> levels;
  for (AttachedHost* host : harness.unit->hosts()) {
    const auto level_of = [&](unsigned channel) {
      return harness.adapter->find_qp(host->connection().first().qpn(channel))->attr().sl;
    };
    levels.emplace_back(level_of(0), level_of(1));
  }
  EXPECT_EQ(levels, (std::vector<std::pair<std::uint8_t, std::uint8_t>>{{3, 1}, {3, 6}}));
}

}  // namespace
}  // namespace splitnic::iou::harness::partitions_test
