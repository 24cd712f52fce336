#include "iou_module/hosts/host_identity.h"

#include <gtest/gtest.h>

#include <string>

namespace splitnic::iou::host_identity_test {

struct HostIdentityTest : ::testing::Test {
  HostRights rights;
  std::string stated = "unknown";
  HostIdentity host{{HostId{fabric::Eui64(0x2a)}, 7}, rights, stated};
};

TEST_F(HostIdentityTest, L_7_has_the_name_that_it_states_last) {
  EXPECT_EQ(host.name(), "unknown");
  stated = "office";
  EXPECT_EQ(host.name(), "office");
  EXPECT_EQ(host.stated_name(), "office");
}

TEST_F(HostIdentityTest, L_7_has_its_eui64_behind_the_name_of_another_host) {
  stated = "office";
  host.set_states_name_of_another(true);
  EXPECT_TRUE(host.states_name_of_another());
  EXPECT_EQ(host.name(), "office#000000000000002a");
  EXPECT_EQ(host.stated_name(), "office");
  host.set_states_name_of_another(false);
  EXPECT_FALSE(host.states_name_of_another());
  EXPECT_EQ(host.name(), "office");
}

TEST_F(HostIdentityTest, L_7_the_hosts_file_names_it_whatever_it_states) {
  stated = "office";
  host.set_states_name_of_another(true);
  rights.name = "lab";
  EXPECT_EQ(host.name(), "lab");
  rights.name.clear();
  EXPECT_EQ(host.name(), "office#000000000000002a");
}

}  // namespace splitnic::iou::host_identity_test
