// The control socket of the unit reports every LAN, the host on each and every counter.
#include "iou_module/iou_admin.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/event_log.h"
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness {
namespace {

class AdminTest : public testing::Test {
 protected:
  AdminTest() : first(harness.add_host()), second(harness.add_host({.nic = 1})) {
    options.common.pair.node_name = "unit";
    admin.attach(*harness.unit);
  }
  bool attach() {
    return harness.attach(first, mac_number(1)) && harness.attach(second, mac_number(2));
  }
  std::string ask(control::Command command, bool json, bool verbose = false) {
    control::Request request;
    request.command = command;
    request.json = json;
    request.verbose = verbose;
    std::string text;
    admin.handle(request, [&](const control::Reply& reply) { text = reply.text; });
    return text;
  }
  static void expect_part(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
  }

  UnitHarness harness{HarnessConfig{.nics = 2}};
  TestHost& first;
  TestHost& second;
  IouOptions options;
  control::KeyedCarriers keyed{options.common.keys, 1, 0, harness.clock, harness.random};
  Admission admission{keyed, harness.clock,
                      std::make_shared<KnownHosts>(std::nullopt, options.common.keys.peers),
                      [](const fabric::Link&, const HostRights&) {}};
  IouAdmin admin{options, harness.clock, admission,
                 [](const base::CounterVisitor& visit) { visit("carrier.things", 3); }};
};

TEST_F(AdminTest, show_lists_every_lan_and_the_nic_of_each_host) {
  harness.lan(1).mutable_state().mtu = 9000;
  harness.lan(1).mutable_state().link_up = false;
  ASSERT_TRUE(attach());
  const std::string json = ask(control::Command::kShow, true);
  expect_part(json, R"("lan":[{"port":"fake","link":"up","mtu":1500,"mac":"02:00:00:00:00:e0"},)"
                    R"({"port":"fake","link":"down","mtu":9000,"mac":"02:00:00:00:00:e1"}])");
  expect_part(json, R"("mac":"02:00:00:00:01:01","nic":0,"since_seconds":0,)");
  expect_part(json, R"("mac":"02:00:00:00:01:02","nic":1,"since_seconds":0,)");
  const std::string text = ask(control::Command::kShow, false);
  expect_part(text, "MAC                NIC  PROGRAM\n");
  expect_part(text, "02:00:00:00:01:02  1    splitnic\n");
}

TEST_F(AdminTest, verbose_has_what_a_host_is_set_to_its_memory_and_its_counters) {
  ASSERT_TRUE(attach());
  harness.lan(1).queue(frame_of(mac_number(2), kPeer));
  harness.run(5ms);
  const std::string json = ask(control::Command::kShow, true, true);
  for (
      const char* part :
      {R"("details":{"mtu":1500,"offloads":")", R"("filter":"0 more addresses, all groups")",
       R"("vlans":"all","coalescing":"off","nic_started":true,"frames_waiting":0,"partition":65535,"user":1001,"rights":")",
       R"("memory_bytes_max":)", R"("iou.to_host.frames":1)", R"("lan1.rx.frames":1)",
       R"("carrier.things":3)", R"("hosts_at_most":64)", R"("runs_for_seconds":)",
       R"("profile":"speed")"}) {
    expect_part(json, part);
  }
  EXPECT_EQ(json.find("host.host2."), std::string::npos) << "counters of a host are with the host";
  EXPECT_EQ(json.find(R"("lan1.rx.drop.vlan")"), std::string::npos) << "it is 0";
  expect_part(ask(control::Command::kShow, false, true), "\npeer host2:\n");
  const std::string brief = ask(control::Command::kShow, true);
  EXPECT_EQ(brief.find("details"), std::string::npos);
  EXPECT_EQ(brief.find("iou.to_host.frames"), std::string::npos);
}

TEST_F(AdminTest, B_10_what_happens_to_hosts_and_nics_is_an_event) {
  using enum base::EventKind;
  const std::uint64_t begin = base::events().next();
  ASSERT_TRUE(attach());
  harness.lan(1).mutable_state().link_up = false;
  harness.lan(1).mutable_state().mtu = 9000;
  harness.unit->nics()[1]->on_event();
  std::vector<std::pair<base::EventKind, std::string>> seen;
  for (const auto& event : base::events().since(begin, 100).events) {
    seen.emplace_back(event->topic.kind, event->topic.about);
  }
  EXPECT_EQ(seen, (std::vector<std::pair<base::EventKind, std::string>>{{kConnected, "host1"},
                                                                        {kMac, "host1"},
                                                                        {kConnected, "host2"},
                                                                        {kMac, "host2"},
                                                                        {kCarrierOff, "fake"},
                                                                        {kMtu, "fake"}}));
}

TEST_F(AdminTest, stats_have_each_nic_the_pairs_and_the_carriers) {
  ASSERT_TRUE(attach());
  harness.lan(1).queue(frame_of(mac_number(2), kPeer));
  harness.run(5ms);
  const std::string json = ask(control::Command::kStats, true);
  for (const char* part :
       {R"("lan.rx.frames":0)", R"("lan1.rx.frames":1)", R"("lan1.port.rx.frames":1)",
        R"("lan1.rx.drop.vlan":0)", R"("iou.to_host.frames":1)", R"("msg.tx.writes":1)",
        R"("host.host2.iou.to_host.frames":1)", R"("carrier.things":3)"}) {
    expect_part(json, part);
  }
}

TEST_F(AdminTest, L_6_show_lists_no_more_pools_than_fit_a_reply) {
  TestHost& greedy = harness.add_host({.pools = std::vector<messaging::PoolSpec>(200, {1, 2048})});
  ASSERT_TRUE(harness.attach(greedy, mac_number(3)));
  harness.run(5ms);
  const std::string json = ask(control::Command::kShow, true);
  std::size_t shown = 0;
  for (std::size_t at = 0; (at = json.find(R"("side":"peer")", at)) != std::string::npos; ++at) {
    ++shown;
  }
  EXPECT_EQ(shown, control::kPoolsShownOfSide);
  expect_part(json, R"("pools_left_out":136)");
  expect_part(ask(control::Command::kShow, false), "and 136 more pools\n");
}

class PingTest : public AdminTest {
 protected:
  void ping(std::uint32_t count) {
    control::Request request;
    request.command = control::Command::kPing;
    request.count = count;
    admin.handle(request, [into = replies](const control::Reply& got) { into->push_back(got); });
  }
  // Until there are this many replies, all of them with this status.
  void expect_replies(std::size_t count, control::ReplyStatus status) {
    EXPECT_TRUE(harness.run_until([&] { return replies->size() >= count; }));
    EXPECT_EQ(replies->size(), count);
    for (const control::Reply& reply : *replies) EXPECT_EQ(reply.status, status) << reply.text;
    replies->clear();
  }

  // A ping that is not over ends with the harness.
  const std::shared_ptr<std::vector<control::Reply>> replies =
      std::make_shared<std::vector<control::Reply>>();
};

TEST_F(PingTest, L_17_pings_leave_requests_to_the_nic) {
  ASSERT_TRUE(attach());
  for (int i = 0; i < 8; ++i) ping(100);
  ASSERT_EQ(replies->size(), 6U);
  expect_part(replies->at(0).text, "two pings run already");
  expect_replies(6, control::ReplyStatus::kRefused);
  messaging::Connection& connection = harness.unit->hosts().at(0)->connection();
  EXPECT_TRUE(connection.first().request(CfgCode::kEcho, {}, [](const CfgReply&) {}));
  expect_replies(2, control::ReplyStatus::kOk);
  ping(1);
  ping(1);
  expect_replies(2, control::ReplyStatus::kOk);
}

TEST_F(PingTest, L_17_a_connection_that_ends_ends_its_pings) {
  ASSERT_TRUE(attach());
  ping(1000);
  ping(1000);
  first.end();
  ASSERT_TRUE(harness.run_until([&] { return replies->size() == 2; }));
  harness.run(5ms);
  replies->clear();
  ping(1);  // of the other host
  expect_replies(1, control::ReplyStatus::kOk);
}

// Each look at the time takes so long that a step has room for one host or two.
class SlowClock final : public base::Clock {
 public:
  base::Time now() override { return now_ += control::Admin::kStep / 2 + 1us; }

 private:
  base::Time now_{std::chrono::hours(1)};
};

class AdminStepsTest : public AdminTest {
 protected:
  AdminStepsTest() {
    in_steps.attach(*harness.unit);
    in_steps.set_commands(commands);
  }
  void attach_all(std::size_t hosts) {
    ASSERT_TRUE(attach());
    for (std::uint8_t i = 3; i <= hosts; ++i) {
      TestHost& host = harness.add_host();
      ASSERT_TRUE(harness.attach(host, mac_number(i)));
      others.push_back(&host);
    }
  }
  void begin(control::Command command) {
    control::Request request;
    request.command = command;
    request.json = true;
    reply.clear();
    in_steps.handle(request, [&](const control::Reply& got) { reply = got.text; });
  }
  // Returns the number of steps that follow the first.
  std::size_t finish() {
    std::size_t steps = 0;
    for (; reply.empty() && steps < 100; ++steps) EXPECT_EQ(commands.run(), 1U);
    EXPECT_EQ(commands.run(), 0U);
    return steps;
  }
  static std::size_t times(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
    return found;
  }

  SlowClock slow;
  control::CommandQueue commands;
  IouAdmin in_steps{options, slow, admission, [](const base::CounterVisitor&) {}};
  std::vector<TestHost*> others;
  std::string reply;
};

TEST_F(AdminStepsTest, a_report_takes_steps_of_a_few_hosts_each) {
  attach_all(9);
  begin(control::Command::kShow);
  EXPECT_EQ(reply, "") << "9 hosts in one step";
  EXPECT_GE(finish(), 4U);
  EXPECT_EQ(times(reply, R"("address":)"), 18U) << "a peer and a link of each";
  for (int i = 1; i <= 9; ++i) {
    EXPECT_EQ(times(reply, R"("name":"host)" + std::to_string(i) + '"'), 1U) << i;
  }
  begin(control::Command::kStats);
  EXPECT_EQ(reply, "");
  EXPECT_GE(finish(), 4U);
  for (int i = 1; i <= 9; ++i) {
    const std::string name = R"("host.host)" + std::to_string(i) + R"(.iou.to_host.frames":0)";
    EXPECT_EQ(times(reply, name), 1U) << name;
  }
}

TEST_F(AdminStepsTest, hosts_come_and_leave_between_the_steps_of_a_report) {
  attach_all(6);
  begin(control::Command::kStats);
  ASSERT_EQ(reply, "");
  others.back()->end();
  harness.run(5ms);
  TestHost& late = harness.add_host();
  ASSERT_TRUE(harness.attach(late, mac_number(7)));
  finish();
  EXPECT_EQ(times(reply, ".iou.to_host.frames"), 5U) << reply;
  EXPECT_EQ(times(reply, "host.host6."), 0U) << "it has left";
  EXPECT_EQ(times(reply, "host.host7."), 0U) << "it came later";
  EXPECT_EQ(times(reply, R"("msg.tx.writes")"), 1U);
}

// A stopping program closes the queue: what has begun is finished at once.
TEST_F(AdminStepsTest, a_report_that_gets_no_further_step_ends_in_this_one) {
  attach_all(6);
  commands.close();
  begin(control::Command::kShow);
  EXPECT_EQ(times(reply, R"("address":)"), 12U);
}

// The second queue has the same hosts here.
class TwoQueuesTest : public AdminStepsTest {
 protected:
  TwoQueuesTest() {
    in_second.attach(*harness.unit);
    in_second.set_commands(of_second);
    in_steps.set_others({{&of_second, &in_second}});
  }

  control::CommandQueue of_second;
  IouAdmin in_second{options, slow, admission, [](const base::CounterVisitor&) {}};
};

TEST_F(TwoQueuesTest, all_queues_make_their_parts_at_once) {
  attach_all(9);
  for (const bool is_second_last : {false, true}) {
    begin(control::Command::kShow);
    control::CommandQueue& sooner = is_second_last ? commands : of_second;
    while (sooner.run() > 0) EXPECT_EQ(reply, "") << "the other queue has parts left";
    while ((is_second_last ? of_second : commands).run() > 0) {
    }
    EXPECT_EQ(times(reply, R"("queue":0)"), times(reply, R"("queue":1)"));
    EXPECT_GE(times(reply, R"("queue":1)"), 9U);
    for (int i = 1; i <= 9; ++i) {
      EXPECT_EQ(times(reply, R"("name":"host)" + std::to_string(i) + '"'), 1U) << i;
    }
  }
}

TEST_F(TwoQueuesTest, a_queue_that_has_stopped_is_left_out) {
  attach_all(6);
  of_second.close();
  begin(control::Command::kShow);
  finish();
  EXPECT_GE(times(reply, R"("queue":0)"), 6U);
  EXPECT_EQ(times(reply, R"("queue":1)"), 0U);
}

TEST_F(AdminTest, L_7_two_hosts_of_one_name_have_their_nodes_behind_it) {
  TestHost& namesake = harness.add_host();
  namesake.name = first.name;
  ASSERT_TRUE(attach());
  expect_part(ask(control::Command::kStats, true), R"("host.host1.iou.to_host.frames":0)");
  ASSERT_TRUE(harness.attach(namesake, mac_number(3)));
  const std::string stats = ask(control::Command::kStats, true);
  expect_part(stats, R"("host.host1#0000000000001001.iou.to_host.frames":0)");
  expect_part(stats, R"("host.host1#0000000000001003.iou.to_host.frames":0)");
  EXPECT_EQ(stats.find(R"("host.host1.)"), std::string::npos);
  expect_part(ask(control::Command::kShow, true), R"("name":"host1#0000000000001003")");
}

TEST_F(AdminTest, L_7_two_hosts_of_one_name_on_two_nics_share_no_counter) {
  second.name = first.name;
  ASSERT_TRUE(attach());
  harness.lan(1).queue(frame_of(mac_number(2), kPeer));
  harness.run(5ms);
  const std::string stats = ask(control::Command::kStats, true);
  expect_part(stats, R"("host.host1#0000000000001001.iou.to_host.frames":0)");
  expect_part(stats, R"("host.host1#0000000000001002.iou.to_host.frames":1)");
  EXPECT_EQ(stats.find(R"("host.host1.)"), std::string::npos);
  const std::string show = ask(control::Command::kShow, true);
  expect_part(show, R"("name":"host1#0000000000001001")");
  expect_part(show, R"("name":"host1#0000000000001002")");
  second.end();
  harness.run(5ms);
  expect_part(ask(control::Command::kStats, true), R"("host.host1.iou.to_host.frames":0)");
}

TEST_F(AdminTest, L_7_two_users_who_state_one_name_and_one_eui64_share_no_counter) {
  second.name = first.name;
  second.eui64 = first.eui64;
  second.start();
  ASSERT_TRUE(attach());
  const std::string stats = ask(control::Command::kStats, true);
  expect_part(stats, R"("host.host1#0000000000001001#uid1001.iou.to_host.frames":0)");
  expect_part(stats, R"("host.host1#0000000000001001#uid1002.iou.to_host.frames":0)");
}

TEST_F(AdminTest, L_7_a_host_does_not_take_another_name_with_init_nic) {
  ASSERT_TRUE(attach());
  cfg::InitNicRequest init;
  init.set_node_name(second.name);
  init.set_features_wanted(lan::kOffloadVnet);
  ASSERT_EQ(harness.ask(first, CfgCode::kInitNic, init).status, CfgStatus::kOk);
  const std::string stats = ask(control::Command::kStats, true);
  expect_part(stats, R"("host.host1.iou.to_host.frames")");
  expect_part(stats, R"("host.host2.iou.to_host.frames")");
}

TEST_F(AdminTest, a_host_that_is_away_is_down) {
  ASSERT_TRUE(attach());
  expect_part(ask(control::Command::kShow, true), R"("role":"iou","name":"unit","state":"up")");
  first.faults.set_cut(true);
  second.faults.set_cut(true);
  harness.run(2s);
  const std::string json = ask(control::Command::kShow, true);
  expect_part(json, R"("role":"iou","name":"unit","state":"up")");
  expect_part(json, R"("state":"down","mode":"rdma","mac":"02:00:00:00:01:01")");
}

}  // namespace
}  // namespace splitnic::iou::harness
