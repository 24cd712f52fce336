// Tests the admission of hosts at a queue, their rights, and what a reload changes. Host N is a
// process of user 1000 + N on this machine.
#include "iou_module/admission.h"

#include "tests/support/log_lines.h"
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness {
namespace {

class AdmissionTest : public testing::Test {
 protected:
  using Known = std::shared_ptr<const KnownHosts>;

  AdmissionTest() : first(harness.add_host()), second(harness.add_host()) {
    admission.attach(*harness.unit);
  }

  static HostEntry entry(std::uint32_t number, const std::string& name, std::uint8_t mac = 0) {
    HostEntry host{UserId{1000 + number}, {}};
    host.rights.name = name;
    if (mac != 0) host.rights.macs = {mac_number(mac)};
    return host;
  }
  static Known known(std::vector<HostEntry> hosts) {
    return std::make_shared<KnownHosts>(HostsFile{std::move(hosts)},
                                        std::vector<fabric::session::PublicKey>());
  }
  void replace(std::vector<HostEntry> hosts) {
    admission.replace(known(std::move(hosts)), harness.clock.now());
    harness.run(1ms);
    while (admission.step(harness.clock.now())) continue;
  }
  control::KnownPeer row(const std::string& name) {
    for (const control::KnownPeer& peer : admission.peers()) {
      if (peer.name == name) return peer;
    }
    ADD_FAILURE() << "no peer " << name;
    return {};
  }
  fabric::Link& link_of(const TestHost& host) {
    for (AttachedHost* attached : harness.unit->hosts()) {
      if (attached->link().address() == host.endpoint.address()) return attached->link();
    }
    ADD_FAILURE() << host.name << " is not attached";
    return harness.unit->hosts().at(0)->link();
  }

  base::ManualClock clock;
  const control::KeyOptions no_keys;
  base::SeededRandom random{1};
  control::KeyedCarriers keyed{no_keys, 1, 0, clock, random};
  std::vector<std::pair<std::string, HostRights>> new_rights;
  Admission admission{keyed, clock, known({entry(1, "office", 1), entry(2, "lab")}),
                      [this](const fabric::Link& link, const HostRights& rights) {
                        new_rights.emplace_back(link.peer_name(), rights);
                      }};
  UnitHarness harness{HarnessConfig{.admission = &admission, .rights = &admission}};
  TestHost& first;
  TestHost& second;
};

TEST_F(AdmissionTest, S_56_who_is_not_in_the_file_is_refused_with_a_reason) {
  TestHost& stranger = harness.add_host();
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  EXPECT_FALSE(harness.connect(stranger));
  EXPECT_NE(stranger.refusal.find("not in the hosts file"), std::string::npos) << stranger.refusal;
  EXPECT_GT(harness.count("iou.hosts.refused_unknown"), 0U);
  replace({entry(1, "office", 1), entry(3, "guest")});
  EXPECT_TRUE(harness.connect(stranger));
  EXPECT_TRUE(first.up());
}

TEST_F(AdmissionTest, without_a_file_everybody_has_the_default_rights) {
  admission.set_known(
      std::make_shared<KnownHosts>(std::nullopt, std::vector<fabric::session::PublicKey>()));
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  EXPECT_EQ(admission.rights_of(link_of(first)), HostRights{});
  const auto peers = admission.peers();
  ASSERT_EQ(peers.size(), 1U);
  EXPECT_EQ(peers[0].name, first.name);
  EXPECT_EQ(peers[0].user, 1001U);
  EXPECT_EQ(peers[0].state, "up");
  EXPECT_TRUE(admission.evict(first.name, harness.clock.now()));
}

TEST_F(AdmissionTest, S_56_a_host_that_is_gone_from_the_file_is_disconnected_and_others_are_not) {
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  ASSERT_TRUE(harness.attach(second, mac_number(2)));
  replace({entry(1, "office", 1)});
  EXPECT_FALSE(second.up());
  EXPECT_TRUE(first.up());
  EXPECT_EQ(harness.count("iou.hosts.downs"), 1U);
  EXPECT_FALSE(harness.connect(second));
  harness.lan().queue(frame_of(mac_number(1), kPeer));
  EXPECT_TRUE(harness.run_until([&] { return first.got.size() == 1; }));
  replace({entry(1, "office", 1), entry(2, "lab")});
  EXPECT_TRUE(harness.connect(second));
}

TEST_F(AdmissionTest, a_change_of_rights_is_handed_on_and_ends_nothing) {
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  ASSERT_TRUE(harness.attach(second, mac_number(2)));
  EXPECT_EQ(admission.rights_of(link_of(first)).name, "office");
  HostEntry changed = entry(1, "head-office", 9);
  changed.rights.may_sniff = true;
  replace({changed, entry(2, "lab")});
  ASSERT_EQ(new_rights.size(), 1U) << "the other has the same as before";
  EXPECT_EQ(new_rights[0].first, link_of(first).peer_name());
  EXPECT_EQ(new_rights[0].second, changed.rights);
  EXPECT_EQ(admission.rights_of(link_of(first)), changed.rights);
  EXPECT_TRUE(admission.is_of_another(mac_number(9), link_of(second)));
  EXPECT_FALSE(admission.is_of_another(mac_number(9), link_of(first)));
  EXPECT_FALSE(admission.is_of_another(mac_number(1), link_of(second)))
      << "not in the list any more";
  EXPECT_TRUE(first.up());
  EXPECT_TRUE(second.up());
  EXPECT_EQ(row("head-office").rights, "macs=1 sniff");
}

TEST_F(AdmissionTest, H_2_rights_that_a_reload_takes_away_end_at_once) {
  HostEntry sniffer = entry(1, "office", 1);
  sniffer.rights.may_sniff = true;
  replace({sniffer, entry(2, "lab")});
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  ASSERT_TRUE(harness.attach(second, mac_number(2)));
  ASSERT_EQ(harness.filter(first, {}, true).status, CfgStatus::kOk);
  ASSERT_TRUE(second.push(frame_of(kPeer, mac_number(2), 1)));
  ASSERT_TRUE(harness.run_until([&] { return first.got.size() == 1; }));
  const support::LogLines log;
  replace({entry(1, "office", 1), entry(2, "lab")});
  EXPECT_FALSE(first.up()) << "it has to find out";
  EXPECT_EQ(harness.count("iou.hosts.downs"), 1U);
  EXPECT_EQ(log.count("detached: its rights do not permit all of its settings any more"), 1U);
  ASSERT_TRUE(second.push(frame_of(kPeer, mac_number(2), 2)));
  harness.run(5ms);
  EXPECT_EQ(first.got.size(), 1U);
  harness.run(Iou::kAttachInterval);
  ASSERT_TRUE(harness.connect(first));
  EXPECT_EQ(harness.filter(first, {}, true).status, CfgStatus::kNotPermitted);
}

TEST_F(AdmissionTest, an_evicted_host_may_come_back) {
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  ASSERT_TRUE(harness.attach(second, mac_number(2)));
  const auto unknown = admission.evict("nobody", harness.clock.now());
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().text().find("no host 'nobody'"), std::string::npos);
  EXPECT_FALSE(admission.evict(first.name, harness.clock.now())) << "the file names it";
  ASSERT_TRUE(admission.evict("office", harness.clock.now()));
  EXPECT_TRUE(harness.run_until([&] { return !first.up(); }, 5ms));
  EXPECT_TRUE(second.up());
  EXPECT_EQ(row("office").state, "absent");
  EXPECT_FALSE(admission.evict("office", harness.clock.now()));
  harness.run(Iou::kAttachIntervalOfLink);
  EXPECT_TRUE(harness.connect(first));
}

TEST_F(AdmissionTest, an_entry_is_one_host_at_a_time) {
  TestHost& namesake = harness.add_host();
  harness.users->set_user(namesake.endpoint.address(), 1001);
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  EXPECT_FALSE(harness.connect(namesake));
  EXPECT_NE(namesake.refusal.find("office is attached already"), std::string::npos)
      << namesake.refusal;
  // The same process may connect again, and another one once the first is away.
  EXPECT_TRUE(harness.connect(first));
  first.faults.set_cut(true);
  harness.run(2s);
  EXPECT_TRUE(harness.connect(namesake));
}

// As a host that only --allow-key knows: this unit admits whoever comes.
TEST_F(AdmissionTest, L_7_a_host_that_is_not_in_the_file_is_none_of_its_hosts_by_name) {
  UnitHarness admits_all{HarnessConfig{.rights = &admission}};
  admission.attach(*admits_all.unit);
  TestHost& office = admits_all.add_host();
  admits_all.add_host();
  TestHost& guest = admits_all.add_host();
  guest.name = "office";
  ASSERT_TRUE(admits_all.attach(guest, mac_number(3)));
  EXPECT_EQ(row("office").state, "absent");
  EXPECT_EQ(row("office#0000000000001003").state, "up");
  EXPECT_FALSE(admission.evict("office", admits_all.clock.now())) << "it is not there";
  ASSERT_TRUE(admits_all.attach(office, mac_number(1)));
  EXPECT_EQ(row("office").state, "up");
  ASSERT_TRUE(admission.evict("office", admits_all.clock.now()));
  admits_all.run(5ms);
  EXPECT_FALSE(office.up());
  EXPECT_TRUE(guest.up());
}

// The name that both state is that of neither.
TEST_F(AdmissionTest, L_7_of_two_hosts_that_state_one_name_each_is_evicted_alone) {
  admission.set_known(
      std::make_shared<KnownHosts>(std::nullopt, std::vector<fabric::session::PublicKey>()));
  second.name = first.name;
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  ASSERT_TRUE(harness.attach(second, mac_number(2)));
  EXPECT_EQ(row("host1#0000000000001001").state, "up");
  EXPECT_EQ(row("host1#0000000000001002").state, "up");
  EXPECT_FALSE(admission.evict("host1", harness.clock.now()));
  ASSERT_TRUE(admission.evict("host1#0000000000001002", harness.clock.now()));
  harness.run(5ms);
  EXPECT_TRUE(first.up());
  EXPECT_FALSE(second.up());
  EXPECT_EQ(row("host1").state, "up") << "it is alone now";
}

// Behind a keyed switch a host is the node at its port, whatever it states.
TEST_F(AdmissionTest, S_56_M_8_hosts_behind_a_keyed_switch_are_known_by_their_lids) {
  admission.add_vouched(harness.port(), [](std::uint16_t lid) { return lid; });
  harness.run(100ms);
  const auto node = [](const TestHost& host, const std::string& name) {
    HostEntry entry{NodeLid{host.link->local_lid().value}, {}};
    entry.rights.name = name;
    return entry;
  };
  admission.set_known(known({node(first, "office")}));
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  EXPECT_EQ(admission.rights_of(link_of(first)).name, "office");
  const HostId id = admission.id_of(link_of(first));
  EXPECT_EQ(id.proof, HostId::Proof::kNode);
  EXPECT_EQ(id.number, first.link->local_lid().value);
  EXPECT_EQ(id.eui64, fabric::Eui64(first.eui64));
  EXPECT_EQ(harness.unit->hosts().at(0)->identity().node(), id) << "quarantine and budgets are its";
  EXPECT_EQ(row("office").state, "up");
  EXPECT_FALSE(harness.connect(second));
  EXPECT_NE(second.refusal.find("not in the hosts file"), std::string::npos) << second.refusal;
  replace({node(second, "lab")});
  EXPECT_FALSE(first.up());
  EXPECT_TRUE(harness.connect(second));
}

// The queues of a node have LIDs of it: rights, quarantine and budgets are those of the node.
TEST_F(AdmissionTest, S_56_M_8_the_queues_of_a_node_behind_a_keyed_switch_are_one_host) {
  admission.add_vouched(harness.port(), [](std::uint16_t) -> std::uint16_t { return 77; });
  HostEntry node{NodeLid{77}, {}};
  node.rights.name = "office";
  admission.set_known(known({node}));
  harness.run(100ms);
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  EXPECT_EQ(admission.rights_of(link_of(first)).name, "office");
  EXPECT_EQ(admission.id_of(link_of(first)).number, 77U);
}

// The LID of a link without a switch is only a number of that link.
TEST_F(AdmissionTest, M_8_a_link_of_a_port_without_a_switch_is_not_known_by_its_lid) {
  fabric::Port& behind_a_switch = *second.adapter->ports().front();  // another port than the unit's
  admission.add_vouched(behind_a_switch, [](std::uint16_t) -> std::uint16_t { return 77; });
  HostEntry node{NodeLid{77}, {}};
  node.rights.name = "node";
  admission.set_known(known({entry(1, "office", 1), node}));
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  EXPECT_EQ(admission.rights_of(link_of(first)).name, "office");
  EXPECT_EQ(admission.id_of(link_of(first)).proof, HostId::Proof::kUser);
  EXPECT_EQ(row("node").state, "absent");
}

TEST_F(AdmissionTest, peers_has_a_row_for_each_known_host) {
  ASSERT_TRUE(harness.attach(first, mac_number(1)));
  const Frame frame = frame_of(kPeer, mac_number(1));
  ASSERT_TRUE(first.push(frame));
  harness.lan().queue(frame_of(mac_number(1), kPeer));
  harness.run(5ms);
  const control::KnownPeer office = row("office");
  EXPECT_EQ(office.state, "up");
  EXPECT_EQ(office.user, 1001U);
  EXPECT_EQ(office.queues, 1U);
  EXPECT_EQ(office.rx_bytes, frame.size());
  EXPECT_EQ(office.tx_bytes, frame.size());
  EXPECT_EQ(office.address, link_of(first).peer_name());
  EXPECT_FALSE(office.handshake_seconds) << "it has no key";
  const control::KnownPeer lab = row("lab");
  EXPECT_EQ(lab.state, "absent");
  EXPECT_EQ(lab.queues, 0U);
  first.faults.set_cut(true);
  harness.run(2s);
  EXPECT_EQ(row("office").state, "down");
}

}  // namespace
}  // namespace splitnic::iou::harness
