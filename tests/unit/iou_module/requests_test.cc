// Requests of hosts: a refused one has changed nothing.
#include "control/config/values.h"
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness::requests_test {
namespace {

// The state that GET_STATE covers, and the settings that it does not.
std::string configuration(const AttachedHost& host) {
  return host.nic().state().digest() + (host.nic().started ? "started " : "stopped ") +
         std::to_string(host.nic().granted);
}

// Attaches the host and adds an entry to every table.
bool set_up(UnitHarness& harness, TestHost& host) {
  cfg::SetFilterRequest filter;
  filter.mutable_filter()->add_unicast(bytes(mac_number(11)));
  filter.mutable_filter()->add_multicast(bytes({0x01, 0, 0x5E, 0, 0, 1}));
  return harness.attach(host, mac_number(1)) &&
         harness.ask(host, CfgCode::kSetFilter, filter).status == CfgStatus::kOk &&
         harness.vlan(host, CfgCode::kVlanAdd, 5) == CfgStatus::kOk &&
         harness.vlan(host, CfgCode::kSetPvid, 6) == CfgStatus::kOk;
}

struct P43 : testing::Test {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  AttachedHost* attached = nullptr;
  std::string before;

  void SetUp() override {
    ASSERT_TRUE(set_up(harness, host));
    attached = harness.unit->hosts().at(0);
    before = configuration(*attached);
  }
  // Passes the request directly to the unit, so that it may be longer than a message.
  CfgStatus ask(CfgCode code, const std::string& data) {
    return harness.unit->nics()[0]->on_cfg_request(*attached, {code, base::as_bytes(data)}).status;
  }
  void is_refused(CfgCode code, const std::string& data, CfgStatus status = CfgStatus::kBadValue) {
    EXPECT_EQ(ask(code, data), status) << messaging::name(code);
    EXPECT_EQ(configuration(*attached), before) << messaging::name(code);
  }
};
using RequestsP43Test = P43;

constexpr auto kReplied = std::to_array(
    {CfgCode::kInitNic,   CfgCode::kSetMac,      CfgCode::kGetMac,     CfgCode::kSetFilter,
     CfgCode::kSetMtu,    CfgCode::kStart,       CfgCode::kStop,       CfgCode::kReset,
     CfgCode::kVlanAdd,   CfgCode::kVlanDel,     CfgCode::kSetPvid,    CfgCode::kSetOffloads,
     CfgCode::kSetQueues, CfgCode::kSetCoalesce, CfgCode::kSetQos,     CfgCode::kListNics,
     CfgCode::kGetStats,  CfgCode::kQueryStats,  CfgCode::kClearStats, CfgCode::kGetLink,
     CfgCode::kEcho,      CfgCode::kGetVersion,  CfgCode::kGetState});
constexpr auto kNotReplied =
    std::to_array({CfgCode::kEvent, CfgCode::kAnnounce, CfgCode{}, CfgCode{0x0001'0010},
                   CfgCode{0x0002'000B}, CfgCode{0x0003'0001}, CfgCode{0xFFFF'FFFF}});

TEST_F(RequestsP43Test, P_43_what_does_not_parse_or_is_too_long_is_refused) {
  const std::string long_field = "\x7a" + std::string("\x80\x80\x40") + std::string(1 << 20, 'x');
  for (const CfgCode code : kReplied) {
    for (const std::string& garbage :
         {std::string("\xff\xff\xff"), std::string("\x0a\x7f"), std::string("\x0b"),
          std::string("\x00", 1), std::string(1 << 20, 'x'), long_field}) {
      is_refused(code, garbage);
    }
  }
  for (const CfgCode code : kNotReplied) {
    is_refused(code, {}, CfgStatus::kUnknown);
    is_refused(code, "\xff\xff\xff", CfgStatus::kUnknown);
  }
}

TEST_F(RequestsP43Test, P_43_a_field_of_another_type_is_refused) {
  const std::string number_as_bytes("\x0a\x01\x05", 3);
  const std::string bytes_as_number("\x08\x05", 2);
  for (const CfgCode code :
       {CfgCode::kSetMtu, CfgCode::kVlanAdd, CfgCode::kVlanDel, CfgCode::kSetPvid,
        CfgCode::kSetOffloads, CfgCode::kSetQueues, CfgCode::kSetCoalesce}) {
    is_refused(code, number_as_bytes);
  }
  for (const CfgCode code :
       {CfgCode::kSetMac, CfgCode::kSetFilter, CfgCode::kInitNic, CfgCode::kSetQos, CfgCode::kEcho,
        CfgCode::kGetStats, CfgCode::kClearStats}) {
    is_refused(code, bytes_as_number);
  }
  is_refused(CfgCode::kSetFilter, std::string("\x0a\x02\x08\x05", 4));  // inside of the filter
  // A field of a later version is not an error, and has no effect.
  EXPECT_EQ(ask(CfgCode::kStart, std::string("\xa2\x06\x04lan0", 7)), CfgStatus::kOk);
  EXPECT_EQ(configuration(*attached), before);
}

TEST_F(RequestsP43Test, P_43_a_value_that_cannot_be_is_refused) {
  cfg::SetMacRequest mac;
  for (const std::string& value :
       {std::string(), std::string(5, 'a'), std::string(7, 'b'), std::string(6, '\0'),
        bytes(kBroadcast), bytes({0x01, 0, 0x5E, 0, 0, 1}), std::string(4000, 'c')}) {
    mac.set_mac(value);
    is_refused(CfgCode::kSetMac, mac.SerializeAsString());
  }
  cfg::SetMtuRequest mtu;
  for (const std::uint32_t value : {0U, 575U, 65536U, 0xFFFFFFFFU}) {
    mtu.set_mtu(value);
    is_refused(CfgCode::kSetMtu, mtu.SerializeAsString());
  }
  cfg::VlanAddRequest vlan;
  for (const std::uint32_t value : {4095U, 4096U, 65536U + 5, 0xFFFFFFFFU}) {
    vlan.set_vlan_id(value);
    for (const CfgCode code : {CfgCode::kVlanAdd, CfgCode::kVlanDel, CfgCode::kSetPvid}) {
      is_refused(code, vlan.SerializeAsString());
    }
  }
  cfg::GetStatsRequest stats;
  stats.set_group("/etc/passwd");
  is_refused(CfgCode::kGetStats, stats.SerializeAsString());
  is_refused(CfgCode::kClearStats, stats.SerializeAsString());
}

TEST_F(RequestsP43Test, P_43_a_list_with_one_bad_entry_is_refused_whole) {
  const std::string group = bytes({0x01, 0, 0x5E, 0, 0, 2});
  for (const std::size_t length : {std::size_t{3}, Filter::kEntriesMax + 10}) {
    for (const std::string& bad : {std::string(5, 'a'), std::string(), std::string(300, 'b')}) {
      for (const bool is_unicast : {true, false}) {
        cfg::SetFilterRequest ask;
        cfg::Filter& f = *ask.mutable_filter();
        f.set_no_broadcast(true);
        for (std::size_t i = 0; i < length; ++i) {
          f.add_unicast(bytes(mac_number(20)));
          f.add_multicast(group);
        }
        (is_unicast ? f.mutable_unicast(2) : f.mutable_multicast(2))->assign(bad);
        is_refused(CfgCode::kSetFilter, ask.SerializeAsString());
        (is_unicast ? f.mutable_unicast(2) : f.mutable_multicast(2))
            ->assign(is_unicast ? group : bytes(mac_number(21)));
        is_refused(CfgCode::kSetFilter, ask.SerializeAsString());
      }
    }
  }
}

TEST(RequestsTest, a_host_that_does_not_know_the_vnet_header_is_refused) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.connect(host));
  EXPECT_EQ(harness.ask(host, CfgCode::kStart).status, CfgStatus::kNotPermitted);
  cfg::InitNicRequest init;
  init.set_features_wanted(~std::uint64_t{lan::kOffloadVnet});
  EXPECT_EQ(harness.ask(host, CfgCode::kInitNic, init).status, CfgStatus::kBadValue);
  EXPECT_EQ(harness.ask(host, CfgCode::kStart).status, CfgStatus::kNotPermitted);
  ASSERT_EQ(harness.set_mac(host, mac_number(1)), CfgStatus::kOk);
  harness.lan().queue(frame_of(mac_number(1), kPeer));
  harness.run(5ms);
  EXPECT_TRUE(host.got.empty());
  init.set_features_wanted(lan::kOffloadVnet | lan::kOffloadChecksum);
  EXPECT_EQ(harness.ask(host, CfgCode::kInitNic, init).status, CfgStatus::kOk);
  EXPECT_EQ(harness.ask(host, CfgCode::kStart).status, CfgStatus::kOk);
  cfg::SetOffloadsReply force;
  ASSERT_TRUE(force.ParseFromString(
      harness.ask(host, CfgCode::kSetOffloads, cfg::SetOffloadsRequest{}).data));
  EXPECT_EQ(force.mask(), std::uint64_t{lan::kOffloadVnet});
}

// The name is in log lines and in names of counters, which `splitnic stats` prints.
TEST(RequestsTest, a_peers_name_is_cleaned) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  host.name = ".ho st\n\x1b[2J\u00e4-A_9.x";
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  const std::string clean = "_ho_st___2J__-A_9.x";
  EXPECT_EQ(harness.unit->hosts().at(0)->connection().first().peer_name(), clean);
  EXPECT_TRUE(control::is_node_name(clean));
  EXPECT_TRUE(harness.has_counter("host." + clean + ".iou.to_host.frames"));
}

}  // namespace
}  // namespace splitnic::iou::harness::requests_test
