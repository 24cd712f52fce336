// The owner of an address: a host takes none from the LAN, from the NIC or from another host,
// whether that is here or may come back.
#include <cstring>

#include "base/crc32c.h"
#include "tests/unit/iou_module/rights_fixture.h"

namespace splitnic::iou::harness::address_rights_test {
namespace {

struct AddressRightsTest : RightsFixture {};

TEST_F(AddressRightsTest, H_1_an_address_that_the_lan_has_used_is_refused) {
  attach_both();
  lan_sends(mac_number(2), kGateway);
  EXPECT_EQ(refusal_of(host, kGateway), cfg::OF_THE_LAN);
  EXPECT_EQ(filter_refusal_of(host, {kGateway}), cfg::OF_THE_LAN);
  EXPECT_EQ(filter_refusal_of(host, {mac_number(5), kGateway}), cfg::OF_THE_LAN);
  EXPECT_EQ(nic_of(host).mac, mac_number(1));
  EXPECT_TRUE(nic_of(host).filter.unicast.empty());
  EXPECT_EQ(harness.count("iou.from_host.refused_address"), 3U);
  EXPECT_EQ(harness.count("host.host1.iou.from_host.refused_address"), 3U);
  ASSERT_TRUE(other.push(frame_of(kGateway, mac_number(2), 7)));
  harness.run(5ms);
  EXPECT_EQ(harness.written[0], std::vector<Frame>{frame_of(kGateway, mac_number(2), 7)});
  EXPECT_TRUE(host.got.empty());
}

TEST_F(AddressRightsTest, H_1_five_minutes_after_its_last_frame_an_address_is_free) {
  attach_both();
  for (int i = 0; i < 8; ++i) {
    lan_sends(mac_number(2), kGateway);
    harness.run(60s);
  }
  EXPECT_EQ(refusal_of(host, kGateway), cfg::OF_THE_LAN);
  harness.run(LanAddresses::kUsedFor - 60s);
  EXPECT_EQ(refusal_of(host, kGateway), std::nullopt);
}

// It has claimed the address while the LAN was silent.
TEST_F(AddressRightsTest,
       H_1_frames_for_a_machine_on_the_lan_go_there_whatever_a_host_has_claimed) {
  attach_both();
  ASSERT_EQ(filter_refusal_of(host, {kGateway}), std::nullopt);
  EXPECT_FALSE(sends(other, frame_of(kGateway, mac_number(2), 1)));
  EXPECT_EQ(host.got.size(), 1U);
  lan_sends(mac_number(2), kGateway);
  EXPECT_TRUE(sends(other, frame_of(kGateway, mac_number(2), 2)));
  EXPECT_EQ(host.got.size(), 1U) << "and not to the host";
}

// A broadcast is all that it can send: the frames for it go to the host.
TEST_F(AddressRightsTest, H_1_a_machine_that_is_heard_by_group_frames_only_gets_its_address_back) {
  attach_both();
  ASSERT_EQ(filter_refusal_of(host, {kGateway}), std::nullopt);
  lan_sends(kBroadcast, kGateway);
  const std::size_t got = host.got.size();
  EXPECT_TRUE(sends(other, frame_of(kGateway, mac_number(2), 2)));
  EXPECT_EQ(host.got.size(), got) << "and not to the host";
}

TEST_F(AddressRightsTest, H_1_a_frame_that_the_lan_returns_to_its_sender_takes_nothing_from_it) {
  attach_both();
  ASSERT_TRUE(sends(host, frame_of(kBroadcast, mac_number(1), 1)));
  harness.lan().queue(frame_of(kBroadcast, mac_number(1), 1));
  harness.run(5ms);
  EXPECT_FALSE(sends(other, frame_of(mac_number(1), mac_number(2), 1)));
  EXPECT_EQ(refusal_of(host, mac_number(1)), std::nullopt);
  // Another frame, or the same much later, is of another machine.
  harness.run(2s);
  harness.lan().queue(frame_of(kBroadcast, mac_number(1), 1));
  harness.run(5ms);
  EXPECT_TRUE(sends(other, frame_of(mac_number(1), mac_number(2), 2)));
}

// Frames that are short have padding when they return.
TEST_F(AddressRightsTest, H_1_a_short_frame_that_the_lan_returns_takes_nothing_from_its_sender) {
  attach_both();
  ASSERT_TRUE(sends(host, frame_of(kBroadcast, mac_number(1), 1, 0, 12 + 42)));
  harness.lan().queue(frame_of(kBroadcast, mac_number(1), 1, 0, 12 + 60));
  harness.run(5ms);
  EXPECT_FALSE(sends(other, frame_of(mac_number(1), mac_number(2), 1)));
}

// The last four bytes that are compared, so that the CRC of all is that of another frame.
void force_crc(Frame& frame, const Frame& other) {
  constexpr std::uint32_t kPolynomial = 0x82F63B78;
  const auto head = [](const Frame& of, std::size_t bytes) {
    return base::Bytes(of).subspan(lan::kVnetHeaderBytes, bytes);
  };
  std::uint32_t wanted = ~base::crc32c(head(other, 40));
  for (int i = 0; i < 32; ++i) {
    const bool is_set = (wanted & 0x80000000U) != 0;
    wanted = is_set ? (wanted ^ kPolynomial) << 1U | 1U : wanted << 1U;
  }
  wanted ^= ~base::crc32c(head(frame, 36));
  std::memcpy(frame.data() + lan::kVnetHeaderBytes + 36, &wanted, sizeof wanted);
  ASSERT_EQ(base::crc32c(head(frame, 40)), base::crc32c(head(other, 40)));
}

// A host cannot make the unit take the frames of a machine on the LAN for its own.
TEST_F(AddressRightsTest, H_1_a_frame_of_another_machine_is_no_returned_one) {
  attach_both();
  ASSERT_EQ(filter_refusal_of(host, {kGateway}), std::nullopt);
  const Frame of_gateway = frame_of(kBroadcast, kGateway, 7);
  Frame forged = frame_of(kBroadcast, mac_number(1), 7);
  force_crc(forged, of_gateway);
  ASSERT_TRUE(sends(host, forged));
  harness.lan().queue(of_gateway);
  harness.run(5ms);
  const std::size_t got = host.got.size();
  EXPECT_TRUE(sends(other, frame_of(kGateway, mac_number(2), 2)));
  EXPECT_EQ(host.got.size(), got) << "and not to the host";
}

// Another host cannot make the unit forget what a host has sent.
TEST_F(AddressRightsTest, H_1_each_host_is_known_by_its_own_group_frames) {
  attach_both();
  ASSERT_TRUE(sends(host, frame_of(kBroadcast, mac_number(1), 1)));
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(other.push(frame_of(kBroadcast, mac_number(2), i)));
  }
  harness.run(5ms);
  harness.lan().queue(frame_of(kBroadcast, mac_number(1), 1));
  harness.run(5ms);
  EXPECT_FALSE(sends(other, frame_of(mac_number(1), mac_number(2), 1)));
}

TEST_F(AddressRightsTest, H_1_the_nics_own_address_needs_a_right) {
  attach_both();
  EXPECT_EQ(refusal_of(host, kNicMac), cfg::OF_THE_NIC);
  EXPECT_EQ(filter_refusal_of(host, {kNicMac}), cfg::OF_THE_NIC);
  for (const HostRights& rights : {HostRights{.macs = {kNicMac}}, HostRights{.may_forge = true}}) {
    source.rights[1] = rights;
    harness.unit->update_rights(harness.clock.now());
    EXPECT_EQ(refusal_of(host, kNicMac), std::nullopt);
    ASSERT_EQ(refusal_of(host, mac_number(1)), std::nullopt);
  }
}

TEST_F(AddressRightsTest, H_1_a_listed_address_is_the_hosts_alone) {
  source.rights[1].macs = {mac_number(9), kGateway};
  attach_both();
  EXPECT_EQ(refusal_of(other, mac_number(9)), cfg::RESERVED);
  EXPECT_EQ(filter_refusal_of(other, {mac_number(9)}), cfg::RESERVED);
  lan_sends(mac_number(2), kGateway);
  EXPECT_EQ(refusal_of(host, kGateway), std::nullopt) << "whatever the LAN uses";
  EXPECT_FALSE(sends(other, frame_of(kGateway, mac_number(2), 1)));
  EXPECT_EQ(host.got.size(), 1U);
}

TEST_F(AddressRightsTest, H_1_an_address_that_is_listed_for_a_host_that_is_not_here_is_refused) {
  source.rights[77].macs = {mac_number(9)};
  attach_both();
  EXPECT_EQ(refusal_of(host, mac_number(9)), cfg::RESERVED);
}

TEST_F(AddressRightsTest, H_1_a_host_has_as_many_addresses_as_its_rights_give_it) {
  source.rights[1].mac_count = 2;
  source.rights[1].macs = {mac_number(20), mac_number(21)};
  attach_both();
  EXPECT_EQ(filter_refusal_of(host, {mac_number(11), mac_number(12)}), cfg::TOO_MANY);
  EXPECT_EQ(filter_refusal_of(host, {mac_number(11), mac_number(20), mac_number(21)}),
            std::nullopt);
  EXPECT_EQ(filter_refusal_of(host, {mac_number(1), mac_number(11)}), std::nullopt)
      << "its MAC is counted once";
  EXPECT_EQ(refusal_of(host, mac_number(13)), cfg::TOO_MANY);
  EXPECT_EQ(refusal_of(host, mac_number(20)), std::nullopt) << "listed ones are not counted";
  ASSERT_EQ(filter_refusal_of(host, {mac_number(11)}), std::nullopt);
  EXPECT_EQ(refusal_of(host, mac_number(13)), std::nullopt);
}

// It has attached and claimed, and never starts its NIC.
TEST_F(AddressRightsTest, H_1_a_host_that_is_not_started_blocks_an_address_for_a_minute_only) {
  attach_both();
  ASSERT_EQ(harness.ask(host, CfgCode::kStop).status, CfgStatus::kOk);
  ASSERT_EQ(refusal_of(host, mac_number(9)), std::nullopt);
  EXPECT_EQ(refusal_of(other, mac_number(9)), cfg::OF_ANOTHER_HOST);
  harness.run(kClaimedFor / 2);
  ASSERT_EQ(harness.ask(host, CfgCode::kStop).status, CfgStatus::kOk) << "which gains no time";
  ASSERT_EQ(refusal_of(host, mac_number(9)), std::nullopt);
  harness.run(kClaimedFor / 2);
  EXPECT_EQ(refusal_of(other, mac_number(9)), std::nullopt);
  ASSERT_TRUE(harness.run_until([&] { return !host.up(); })) << "it has to find out";
  ASSERT_TRUE(harness.connect(host));
  EXPECT_EQ(refusal_of(host, mac_number(9)), cfg::OF_ANOTHER_HOST);
}

// Its process restarts, or its path fails, and another host asks for its address all the time.
TEST_F(AddressRightsTest, H_1_an_address_stays_that_of_its_last_host_for_five_minutes) {
  attach_both();
  other.end();
  harness.run(1s);
  EXPECT_EQ(refusal_of(host, mac_number(2)), cfg::OF_ANOTHER_HOST);
  EXPECT_EQ(filter_refusal_of(host, {mac_number(2)}), cfg::OF_ANOTHER_HOST);
  other.start();
  ASSERT_TRUE(harness.attach(other, mac_number(2))) << "another process of it";
  other.end();
  harness.run(LanAddresses::kUsedFor);
  EXPECT_EQ(refusal_of(host, mac_number(2)), std::nullopt);
}

// A host cannot collect addresses by leaving.
TEST_F(AddressRightsTest, H_1_a_host_that_is_gone_keeps_what_it_had_last_only) {
  attach_both();
  ASSERT_EQ(refusal_of(other, mac_number(3)), std::nullopt);
  EXPECT_EQ(refusal_of(host, mac_number(2)), std::nullopt) << "given up";
  other.end();
  harness.run(1s);
  ASSERT_TRUE(harness.attach(other, mac_number(4)));
  EXPECT_EQ(refusal_of(host, mac_number(3)), std::nullopt) << "it has started with another";
}

TEST_F(AddressRightsTest, H_1_an_address_of_the_rights_is_free_as_soon_as_its_last_host_is_gone) {
  attach_both();
  other.end();
  harness.run(1s);
  source.rights[1].macs = {mac_number(2)};
  harness.unit->update_rights(harness.clock.now());
  EXPECT_EQ(refusal_of(host, mac_number(2)), std::nullopt);
}

TEST_F(AddressRightsTest, H_1_a_started_host_keeps_its_address) {
  attach_both();
  harness.run(10 * kClaimedFor);
  EXPECT_EQ(refusal_of(other, mac_number(1)), cfg::OF_ANOTHER_HOST);
}

TEST_F(AddressRightsTest, H_1_an_address_that_is_listed_for_another_host_later_is_taken_away) {
  attach_both();
  source.rights[2].macs = {mac_number(1)};
  harness.unit->update_rights(harness.clock.now());
  EXPECT_EQ(refusal_of(other, mac_number(1)), std::nullopt);
  ASSERT_TRUE(harness.run_until([&] { return !host.up(); }));
}

}  // namespace
}  // namespace splitnic::iou::harness::address_rights_test
