// Who may have sessions on which carrier of a program.
#include "control/daemon/keyed_carriers.h"

#include <gtest/gtest.h>

#include "fabric_emul/session/keys.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "tests/support/temp_folder.h"

namespace splitnic::control {
namespace keyed_carriers_test {

namespace session = fabric::session;

session::Secret secret_of(std::uint64_t number) {
  base::SeededRandom random(number);
  return session::random_private_key(random);
}

// A unit that listens, and is attached to a switch: its hosts come to the one, and only the switch
// is at the other, whatever the hosts file becomes.
TEST(KeyedCarriersTest, S_56_hosts_have_no_sessions_on_a_carrier_that_connects) {
  const support::TempFolder folder;
  KeyOptions options;
  options.key_file = folder.path("own.key");
  ASSERT_TRUE(session::write_key_file(options.key_file, secret_of(1)));
  base::ManualClock clock;
  base::SeededRandom random(5);
  fabric::InProcessHub hub;
  fabric::InProcessUnderlay& listening = hub.add_endpoint();
  fabric::InProcessUnderlay& connecting = hub.add_endpoint();
  KeyedCarriers carriers(options, 1, 0, clock, random);
  EXPECT_TRUE(carriers.empty());

  const session::PublicKey of_switch = session::public_key_of(secret_of(2));
  const session::PublicKey of_host = session::public_key_of(secret_of(3));
  const auto to_switch = carriers.add(connecting, {&of_switch, 1}, listening.address());
  const auto for_hosts = carriers.add(listening, {}, std::nullopt);
  ASSERT_TRUE(to_switch && for_hosts);
  ASSERT_EQ(to_switch->peers.size(), 1U);
  EXPECT_TRUE(for_hosts->peers.empty());
  ASSERT_TRUE(carriers.allow(of_host));
  const fabric::PeerAddress host = session::address_of(of_host);
  EXPECT_EQ(for_hosts->underlay->path_kind(host), fabric::PathKind::kSealed);
  EXPECT_EQ(to_switch->underlay->path_kind(host), fabric::PathKind::kNetwork);
  EXPECT_TRUE(carriers.view_of(of_host));
  EXPECT_FALSE(carriers.view_of(of_switch));
  carriers.disallow(of_switch);
  carriers.disallow(of_host);
  EXPECT_EQ(for_hosts->underlay->path_kind(host), fabric::PathKind::kNetwork);
  EXPECT_EQ(to_switch->underlay->path_kind(to_switch->peers.front()), fabric::PathKind::kSealed);
}

}  // namespace keyed_carriers_test
}  // namespace splitnic::control
