// Ports that are attached to a switch: a port above has a link for each peer, from end to end.
#include "fabric_emul/switching/attachment.h"

#include <gtest/gtest.h>

#include "fabric_emul/switching/path_cell.h"
#include "fabric_emul/switching/queue_lid.h"
#include "fabric_emul/wire/flit.h"
#include "tests/unit/fabric_emul/switching/attached_node.h"

namespace splitnic::fabric {
namespace attachment_test {

using namespace switch_world;

// Switches a and b with a cable between port 1 of each; hosts h1 and h2 at ports 2 and 3 of a, the
// unit at port 2 of b; queue 1 of h1 at port 4 of a, that of the unit at port 3 of b.
Topology two_switches() {
  Topology t;
  t.switches = {{"a", Lid(1)}, {"b", Lid(2)}};
  t.nodes = {{"h1", Lid(11), {"a", 2}},
             {"h2", Lid(12), {"a", 3}},
             {"unit", Lid(20), {"b", 2}},
             {"h1#1", lid_of_queue(Lid(11), 1), {"a", 4}},
             {"unit#1", lid_of_queue(Lid(20), 1), {"b", 3}}};
  t.cables = {{{"a", 1}, {"b", 1}}};
  return t;
}

class AttachmentTest : public ::testing::Test {
 protected:
  AttachmentTest() {
    for (InProcessUnderlay*& one : at_a) one = &hub.add_endpoint();
    for (InProcessUnderlay*& one : at_b) one = &hub.add_endpoint();
    for (InProcessUnderlay*& one : at_node) one = &hub.add_endpoint();
    start_switch_b();
    a = std::make_unique<Switch>(plan_of(two_switches(), "a").value(), random);
    a->add_port(1, *at_a[0], link_world::config_of(0xA1, 70), &at_b[0]->address(), clock.now());
    a->add_port(2, *at_a[1], link_world::config_of(0xA2, 70), nullptr, clock.now());
    a->add_port(3, *at_a[2], link_world::config_of(0xA3, 70), nullptr, clock.now());
    unit = std::make_unique<Node>(unit_carrier, at_b[1]->address(), 0xE0, 300, true, clock);
    h1 = host(0, 0xE1, "unit");
    h2 = host(1, 0xE2, "unit");
  }

  void start_switch_b() {
    b = std::make_unique<Switch>(plan_of(two_switches(), "b").value(), random);
    const std::uint64_t instance = 80 + ++starts_of_b;
    b->add_port(1, *at_b[0], link_world::config_of(0xB1, instance), nullptr, clock.now());
    b->add_port(2, *at_b[1], link_world::config_of(0xB2, instance), nullptr, clock.now());
  }
  std::unique_ptr<Node> host(std::size_t which, std::uint64_t eui64, const std::string& peer) {
    auto node = std::make_unique<Node>(*at_node[which], at_a[1 + which]->address(), eui64,
                                       500 + which, false, clock);
    node->end->port.connect(node->attachment.peer(peer), clock.now());
    return node;
  }
  bool iterate() {
    bool made_progress = a->step(clock.now());
    if (b != nullptr) made_progress |= b->step(clock.now());
    for (Node* node : {h1.get(), h2.get(), unit.get()}) {
      if (node != nullptr) made_progress |= node->end->step(clock.now());
    }
    return made_progress;
  }
  void settle() {
    while (iterate()) {
    }
  }
  void run(base::Duration time) {
    link_world::run_for(clock, time, [this] { return iterate(); });
  }
  Link* link_of_unit_to(Lid lid) { return unit->end->port.by_lid(lid); }

  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub;
  FaultUnderlay unit_carrier{hub.add_endpoint(), random, clock};  // of the unit
  std::array<InProcessUnderlay*, 3> at_a{};
  std::array<InProcessUnderlay*, 2> at_b{};
  std::array<InProcessUnderlay*, 2> at_node{};
  std::uint64_t starts_of_b = 0;
  std::unique_ptr<Switch> a, b;
  std::unique_ptr<Node> unit, h1, h2;
};

TEST_F(AttachmentTest, S000_34_the_port_has_the_lid_of_the_topology_and_finds_its_peer_by_name) {
  run(2s);
  for (Node* node : {h1.get(), h2.get(), unit.get()}) EXPECT_TRUE(node->attachment.is_attached());
  Link& of_h1 = h1->end->link();
  ASSERT_TRUE(of_h1.up());
  EXPECT_EQ(of_h1.local_lid(), Lid(11));
  EXPECT_EQ(of_h1.remote_lid(), Lid(20));
  EXPECT_EQ(of_h1.peer_eui64(), Eui64(0xE0));
  EXPECT_EQ(of_h1.peer_name().substr(0, 9), "unit via ");
  // One link to the switch, and two peers over it.
  for (const Lid lid : {Lid(11), Lid(12)}) {
    ASSERT_NE(link_of_unit_to(lid), nullptr);
    EXPECT_TRUE(link_of_unit_to(lid)->up());
    EXPECT_EQ(link_of_unit_to(lid)->local_lid(), Lid(20));
  }
}

TEST_F(AttachmentTest, S000_32_cells_of_two_hosts_cross_two_switches_unchanged) {
  run(2s);
  std::vector<Cell> sent;
  for (unsigned i = 0; i < 500; ++i) {
    Node& from = i % 2 == 0 ? *h1 : *h2;
    sent.push_back(cell(Lid(i % 2 == 0 ? 11 : 12), Lid(20), i * 2, i));
    ASSERT_TRUE(link_world::write(from.end->link(), sent.back()));
    from.end->port.flush(clock.now());
    settle();
  }
  EXPECT_EQ(unit->end->cells, sent);
  // And a burst, as one send call carries it.
  unit->end->cells.clear();
  sent.clear();
  for (unsigned i = 0; i < 40; ++i) {
    sent.push_back(cell(Lid(11), Lid(20), 1300, i));
    ASSERT_TRUE(link_world::write(h1->end->link(), sent.back()));
  }
  h1->end->port.flush(clock.now());
  settle();
  EXPECT_EQ(unit->end->cells, sent);
}

// Queue 1 of a host and of the unit, each at a port of its switch.
TEST_F(AttachmentTest, S000_34_a_queue_reaches_the_same_queue_of_its_peer) {
  InProcessUnderlay& at_port_4 = hub.add_endpoint();
  InProcessUnderlay& at_port_3 = hub.add_endpoint();
  a->add_port(4, at_port_4, link_world::config_of(0xA4, 70), nullptr, clock.now());
  b->add_port(3, at_port_3, link_world::config_of(0xB3, 81), nullptr, clock.now());
  h1 = std::make_unique<Node>(*at_node[0], at_port_4.address(), 0xE1, 500, false, clock, 4, 1);
  unit = std::make_unique<Node>(unit_carrier, at_port_3.address(), 0xE0, 300, true, clock, 4, 1);
  h1->end->port.connect(h1->attachment.peer("unit"), clock.now());
  run(2s);
  const Link& link = h1->end->link();
  ASSERT_TRUE(link.up());
  EXPECT_EQ(link.local_lid(), lid_of_queue(Lid(11), 1));
  EXPECT_EQ(link.remote_lid(), lid_of_queue(Lid(20), 1));
  EXPECT_EQ(node_of(link.remote_lid()), Lid(20));
  EXPECT_EQ(link.peer_name().substr(0, 11), "unit#1 via ");
}

// A port of the switch that is another node's is free for that node at once.
TEST_F(AttachmentTest, S000_34_a_queue_returns_a_port_that_is_not_for_it) {
  ::testing::internal::CaptureStderr();
  h1 = std::make_unique<Node>(*at_node[0], at_a[1]->address(), 0xE7, 700, false, clock, 4, 1);
  h1->end->port.connect(h1->attachment.peer("unit"), clock.now());
  run(3s);
  const std::string log = ::testing::internal::GetCapturedStderr();
  ASSERT_FALSE(h1->attachment.is_attached());
  EXPECT_NE(log.find("queue 1 is not used: port 2 of the switch"), std::string::npos) << log;
  h1 = nullptr;
  h1 = host(0, 0xE1, "unit");
  run(2s);
  ASSERT_TRUE(h1->attachment.is_attached());
  EXPECT_TRUE(h1->end->link().up());
}

TEST_F(AttachmentTest, a_new_process_behind_the_switch_is_noticed) {
  run(2s);
  h1 = nullptr;
  h1 = host(0, 0xE1, "unit");
  h1->end = nullptr;  // its port has another instance
  PortConfig config = link_world::config_of(0xE1, 777);
  config.lids = [this](const PeerAddress& peer) { return h1->attachment.lids_of(peer); };
  h1->end = std::make_unique<link_world::End>(h1->attachment, config);
  h1->end->port.connect(h1->attachment.peer("unit"), clock.now());
  run(3s);
  EXPECT_TRUE(h1->end->link().up());
  EXPECT_EQ(link_of_unit_to(Lid(11))->peer_instance(), 777U);
  EXPECT_EQ(unit->end->watch.restarted_instance, 500U);
}

// The port is free at once, also for a node with another identity at another address.
TEST_F(AttachmentTest, S000_34_a_node_that_stops_gives_its_port_back) {
  run(2s);
  ASSERT_TRUE(h1->attachment.is_attached());
  h1->end->port.send_bye(clock.now());
  h1->attachment.send_bye(clock.now());
  settle();
  h1 = std::make_unique<Node>(hub.add_endpoint(), at_a[1]->address(), 0xE9, 900, false, clock);
  run(1s);
  EXPECT_TRUE(h1->attachment.is_attached());
}

TEST_F(AttachmentTest, a_path_goes_down_with_a_switch_on_it_and_comes_back_with_the_same_peer) {
  run(2s);
  b = nullptr;
  run(2s);
  EXPECT_TRUE(h1->attachment.is_attached());
  EXPECT_FALSE(h1->end->link().up());
  start_switch_b();
  run(3s);
  EXPECT_TRUE(h1->end->link().up());
  EXPECT_EQ(h1->end->watch.restarted_instance, 0U);
}

TEST_F(AttachmentTest, S000_34_what_is_sent_to_an_unknown_name_is_refused_and_counted) {
  h1 = nullptr;
  h1 = host(0, 0xE1, "nobody");
  run(3s);
  EXPECT_TRUE(h1->attachment.is_attached());
  EXPECT_EQ(h1->end->watch.link, nullptr);
  std::uint64_t refused = 0;
  h1->attachment.visit_counters([&](std::string_view name, std::uint64_t value) {
    if (name == "path.tx.drop.down") refused = value;
  });
  EXPECT_GT(refused, 0U);
}

TEST_F(AttachmentTest, L_33_probes_of_a_wide_path_find_no_less) {
  run(5s);
  EXPECT_EQ(h1->end->link().mcp(), h1->attachment.link().mcp());
  EXPECT_EQ(h1->end->count(LinkCounter::kNarrowed), 0U);
}

// The last hop carries less than the first: only the path knows.
TEST_F(AttachmentTest, L_33_a_narrow_hop_is_found_from_end_to_end) {
  run(2s);
  const std::uint16_t wide = h1->end->link().mcp();
  unit_carrier.drop_received([](base::Bytes datagram) { return datagram.size() > 1000; });
  // Something as long as the path leads to probes.
  for (unsigned i = 0; i < 50; ++i) {
    for (unsigned j = 0; j < 3; ++j) {
      link_world::write(h1->end->link(), cell(Lid(11), Lid(20), wide, i));
    }
    run(100ms);
  }
  const std::uint16_t found = h1->end->link().mcp();
  EXPECT_LT(found, 1000);
  EXPECT_GE(found, 256);
  unit->end->cells.clear();
  const Cell sent = cell(Lid(11), Lid(20), found, 1);
  ASSERT_TRUE(link_world::write(h1->end->link(), sent));
  h1->end->port.flush(clock.now());
  settle();
  EXPECT_EQ(unit->end->cells, (std::vector<Cell>{sent}));
}

// The data thread has other work than the datagrams of one carrier.
TEST_F(AttachmentTest, one_call_takes_one_batch_whatever_is_in_it) {
  run(2s);
  settle();
  const std::vector<std::byte> garbage(200, std::byte{0x77});
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(at_b[1]->send(at_node[0]->address(), garbage, garbage.size()),
              Underlay::SendStatus::kSent);
  }
  for (std::size_t left = 10; left-- > 0;) {
    const auto received = h1->attachment.receive();
    ASSERT_TRUE(received) << "more may wait";
    EXPECT_TRUE(received->bytes.empty());
    EXPECT_EQ(at_node[0]->queued_batches(), left);
  }
  EXPECT_FALSE(h1->attachment.receive());
}

// Another node is at the port of the switch.
TEST_F(AttachmentTest, B_02_a_switch_that_refuses_a_node_is_one_line) {
  run(2s);
  InProcessUnderlay& carrier = hub.add_endpoint();
  ::testing::internal::CaptureStderr();
  Node second(carrier, at_a[1]->address(), 0xE9, 900, false, clock);
  for (int i = 0; i < 300; ++i) {
    clock.advance(10ms);
    settle();
    second.end->receive(clock.now());
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  const std::size_t at = log.find("refuses the link: busy: another node is at that port");
  ASSERT_NE(at, std::string::npos) << log;
  EXPECT_EQ(log.find("refuses the link", at + 1), std::string::npos) << log;
}

}  // namespace attachment_test
}  // namespace splitnic::fabric
