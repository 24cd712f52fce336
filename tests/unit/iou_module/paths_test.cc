// A host that reaches the unit by several paths: each is a link, and a process has one connection.
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness::paths_test {
namespace {

// All links are of one node, as those of a host at several switches are.
class OneNode final : public RightsSource {
 public:
  HostId id_of(const fabric::Link&) const override { return {{}, HostId::Proof::kNode, 77}; }
  HostRights rights_of(const fabric::Link&) const override { return {}; }
  bool is_of_another(const lan::MacAddress&, const fabric::Link&) const override { return false; }
};

class PathsTest : public testing::Test {
 protected:
  // A link of the process of `first`, or of another one on its machine.
  TestHost& another_link(std::uint64_t seed) {
    TestHost& host = harness.add_host();
    host.random = base::SeededRandom(seed);
    host.start();
    return host;
  }

  const OneNode one_node{};
  UnitHarness harness{HarnessConfig{.hosts_max = 1, .rights = &one_node}};
  TestHost& first = harness.add_host();  // its random numbers have the seed 1
};

TEST_F(PathsTest, a_process_that_comes_by_another_path_takes_its_place_at_once) {
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  TestHost& second = another_link(1);
  ASSERT_TRUE(harness.run_until([&] { return second.link_up(); }));
  first.faults.set_cut(true);  // the unit does not know that yet
  ASSERT_TRUE(harness.attach(second, mac_number(1)));
  EXPECT_EQ(harness.count("iou.hosts.refused_full"), 0U);
  ASSERT_EQ(harness.unit->hosts_up(), 1U);
  harness.lan().queue(frame_of(mac_number(1), kPeer));
  EXPECT_TRUE(harness.run_until([&] { return second.got.size() == 1; }));
  EXPECT_EQ(harness.count("iou.hosts.ups"), 2U);
  EXPECT_EQ(harness.count("iou.hosts.downs"), 1U) << "the connection by the first path";
}

TEST_F(PathsTest, another_process_of_the_node_does_not) {
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  TestHost& other = another_link(2);
  EXPECT_FALSE(harness.connect(other));
  EXPECT_GT(harness.count("iou.hosts.refused_full"), 0U);
  EXPECT_TRUE(first.up());
}

}  // namespace
}  // namespace splitnic::iou::harness::paths_test
