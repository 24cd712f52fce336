// The LIDs of a link without a topology and with one: those that a listener assigns, those of a
// READY that a client takes, and when a link has got others.
#include "fabric_emul/link/lid_terms.h"

#include <gtest/gtest.h>

#include <optional>

namespace splitnic::fabric::lid_terms_test {

const LinkLids kOurs{Lid(300), Lid(7)};
const PeerAddress kPeer{};

Init ready_with(Lid offered, Lid own, std::uint8_t port = 0) {
  Init init;
  init.step = InitStep::kReady;
  init.offered_lid = offered;
  init.lid = own;
  init.port = port;
  return init;
}

PortConfig with_topology(std::optional<LinkLids> lids) {
  PortConfig config;
  config.lids = [lids](const PeerAddress&) { return lids; };
  return config;
}

TEST(LidTermsTest, S001_29_without_a_topology_a_listener_counts_from_its_base) {
  PortConfig config;
  config.lid_base = 100;
  const LidTerms terms(config);
  EXPECT_EQ(terms.of_topology(kPeer), std::nullopt);
  EXPECT_EQ(terms.assign(kPeer, 0), (LinkLids{Lid(101), Lid(102)}));
  EXPECT_EQ(terms.assign(kPeer, 5), (LinkLids{Lid(101), Lid(107)}));
  EXPECT_FALSE(terms.have_changed(kOurs, kPeer));
  EXPECT_FALSE(terms.is_in_other_subnet(Lid(kPortLidMax + 1)));
}

TEST(LidTermsTest, without_a_topology_a_client_takes_what_the_listener_states) {
  const PortConfig config{};
  const LidTerms terms(config);
  EXPECT_EQ(terms.accept(ready_with(Lid(2), Lid(1)), kPeer), (LinkLids{Lid(2), Lid(1)}));
  EXPECT_EQ(terms.accept(ready_with(Lid(), Lid(1)), kPeer), std::nullopt);
}

TEST(LidTermsTest, a_client_takes_no_lid_of_a_switch_only) {
  PortConfig config;
  config.takes_no_lid = true;
  const LidTerms terms(config);
  EXPECT_EQ(terms.accept(ready_with(Lid(), Lid(1), 3), kPeer), (LinkLids{Lid(), Lid(1)}));
  EXPECT_EQ(terms.accept(ready_with(Lid(), Lid(1)), kPeer), std::nullopt) << "an end node";
}

TEST(LidTermsTest, S000_34_the_lids_of_a_topology_are_those_of_both_ends) {
  const PortConfig config = with_topology(kOurs);
  const LidTerms terms(config);
  EXPECT_EQ(terms.of_topology(kPeer), kOurs);
  EXPECT_EQ(terms.assign(kPeer, 5), kOurs);
  EXPECT_EQ(terms.accept(ready_with(Lid(300), Lid(7)), kPeer), kOurs);
  EXPECT_EQ(terms.accept(ready_with(Lid(301), Lid(7)), kPeer), std::nullopt);
  EXPECT_EQ(terms.accept(ready_with(Lid(300), Lid(8)), kPeer), std::nullopt);
}

TEST(LidTermsTest, S000_34_a_peer_that_the_topology_does_not_have_gets_no_lids) {
  const PortConfig config = with_topology(std::nullopt);
  const LidTerms terms(config);
  EXPECT_EQ(terms.of_topology(kPeer), std::nullopt);
  EXPECT_EQ(terms.assign(kPeer, 0), std::nullopt);
  EXPECT_EQ(terms.accept(ready_with(Lid(300), Lid(7)), kPeer), std::nullopt);
  EXPECT_FALSE(terms.have_changed(kOurs, kPeer)) << "its switch may be away";
}

// Each end numbers the peers in other subnets for itself.
TEST(LidTermsTest, S000_33_a_peer_in_another_subnet_states_other_lids) {
  const LinkLids lids{Lid(300), Lid(kPortLidMax + 1)};
  const PortConfig config = with_topology(lids);
  const LidTerms terms(config);
  EXPECT_FALSE(terms.is_in_other_subnet(Lid(kPortLidMax)));
  EXPECT_TRUE(terms.is_in_other_subnet(lids.remote));
  EXPECT_EQ(terms.accept(ready_with(Lid(kPortLidMax + 4), Lid(20)), kPeer), lids);
}

TEST(LidTermsTest, S000_34_a_link_that_had_lids_has_others_if_either_changes) {
  EXPECT_FALSE(LidTerms::are_others(kOurs, kOurs));
  EXPECT_TRUE(LidTerms::are_others(kOurs, {Lid(301), Lid(7)}));
  EXPECT_TRUE(LidTerms::are_others(kOurs, {Lid(300), Lid(8)}));
  EXPECT_FALSE(LidTerms::are_others({}, kOurs)) << "it had none";
  EXPECT_FALSE(LidTerms::are_others({Lid(), Lid(7)}, kOurs)) << "nor has a client before READY";
  const PortConfig config = with_topology(LinkLids{Lid(300), Lid(8)});
  const LidTerms terms(config);
  EXPECT_TRUE(terms.have_changed(kOurs, kPeer));
  EXPECT_FALSE(terms.have_changed({Lid(300), Lid(8)}, kPeer));
}

}  // namespace splitnic::fabric::lid_terms_test
