// Cells for the switch itself, and those that fit no link: each drop has its counter.
#include <gtest/gtest.h>

#include "fabric_emul/switching/path_cell.h"
#include "fabric_emul/switching/switch.h"
#include "fabric_emul/wire/flit.h"
#include "tests/unit/fabric_emul/switching/switch_world.h"

namespace splitnic::fabric {
namespace switch_drops_test {

using namespace switch_world;

Mgmt resolve_of(std::string_view name) {
  Mgmt m;
  m.kind = MgmtKind::kResolve;
  m.instance = 1;
  m.private_data = base::as_bytes(name);
  return m;
}

// Sends it as the node of this number does. Returns false if the node's link takes nothing now.
bool ask(World& world, std::size_t from, const Mgmt& m) {
  const bool is_sent = send_mgmt(world.node(from).link(), World::lid(from), Lid(1), m);
  world.node(from).port.flush(world.clock.now());
  return is_sent;
}

TEST(SwitchDropsTest, what_the_switch_does_not_serve_is_dropped) {
  World world(2);
  ASSERT_TRUE(world.write(1, cell(World::lid(1), Lid(1))));  // no MGMT
  Mgmt resolved;
  resolved.kind = MgmtKind::kResolved;
  resolved.instance = 1;
  ASSERT_TRUE(ask(world, 1, resolved));
  world.settle();
  EXPECT_EQ(world.count(SwitchCounter::kDropMgmt), 2U);
  EXPECT_EQ(world.count(SwitchCounter::kMgmt), 0U);
  EXPECT_TRUE(world.node(1).cells.empty());
  EXPECT_TRUE(world.is_balanced());
}

TEST(SwitchDropsTest, S000_34_names_are_resolved_for_a_port_at_a_bounded_rate) {
  World world(2);
  const auto replies_to = [&](std::size_t from, unsigned requests) {
    world.node(from).cells.clear();
    for (unsigned i = 0; i < requests; ++i) {
      EXPECT_TRUE(ask(world, from, resolve_of("n2")));
      world.settle();
    }
    return world.node(from).cells.size();
  };
  const std::size_t burst = replies_to(1, 2000);
  EXPECT_GE(burst, 64U);
  EXPECT_LE(burst, 200U);
  EXPECT_EQ(world.count(SwitchCounter::kDropMgmtRate), 2000U - burst);
  EXPECT_EQ(replies_to(2, 50), 50U) << "each port has its rate";
  world.clock.advance(100ms);
  EXPECT_EQ(replies_to(1, 300), 100U) << "1000 per second";
  EXPECT_TRUE(world.is_balanced());
}

TEST(SwitchDropsTest, a_reply_without_room_is_counted) {
  World world(2, {.batch_queue_max = 4});
  for (unsigned i = 0; i < 500 && world.count(SwitchCounter::kTxDropMgmt) == 0; ++i) {
    if (!ask(world, 1, resolve_of("n2"))) break;
    world.iterate({1});
    world.clock.advance(1ms);
  }
  EXPECT_GT(world.count(SwitchCounter::kTxDropMgmt), 0U);
  EXPECT_EQ(world.count(SwitchCounter::kMgmt),
            world.count(SwitchCounter::kTxMgmt) + world.count(SwitchCounter::kTxDropMgmt));
  EXPECT_TRUE(world.is_balanced());
}

// Puts a datagram before those of the carrier.
class Feeder final : public UnderlayDecorator {
 public:
  using UnderlayDecorator::UnderlayDecorator;
  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    return below_.send(to, bytes, stride);
  }
  std::optional<Received> receive() override {
    if (next.empty()) return below_.receive();
    current_ = std::move(next);
    next.clear();
    return Received{current_, current_.size(), from};
  }
  base::Time deadline() const override { return below_.deadline(); }

  std::vector<std::byte> next;
  PeerAddress from;

 private:
  std::vector<std::byte> current_;
};

// UDP carries datagrams that are longer than what a port sends.
TEST(SwitchDropsTest, a_cell_that_is_too_long_for_the_next_link_is_dropped) {
  World world(3);
  base::ManualClock& clock = world.clock;
  Switch sw(plan_of(star(2), "sw").value(), world.random);
  InProcessUnderlay& node_at = world.hub.add_endpoint();
  InProcessUnderlay& at_1 = world.hub.add_endpoint();
  InProcessUnderlay& at_2 = world.hub.add_endpoint();
  Feeder feeder(at_1);
  sw.add_port(1, feeder, link_world::config_of(0x301, 7), nullptr, clock.now());
  sw.add_port(2, at_2, link_world::config_of(0x302, 7), nullptr, clock.now());
  link_world::End one(node_at, link_world::config_of(0x401, 1));
  link_world::End two(world.hub.add_endpoint(), link_world::config_of(0x402, 2));
  one.port.connect(at_1.address(), clock.now());
  two.port.connect(at_2.address(), clock.now());
  const auto settle = [&] {
    for (int i = 0; i < 10; ++i) {
      sw.step(clock.now());
      one.receive(clock.now());
      two.receive(clock.now());
    }
  };
  settle();
  ASSERT_TRUE(one.watch.link != nullptr && two.watch.link != nullptr);
  const auto feed = [&](std::size_t payload_bytes) {
    const Cell sent = cell(Lid(11), Lid(12), payload_bytes);
    FlitHeader header;
    header.ctl = kFlitSof | kFlitEof;
    feeder.next.resize(kFlitHeaderBytes + sent.size());
    emit_flit(feeder.next, header, sent);
    feeder.from = node_at.address();
    settle();
  };
  feed(64);
  EXPECT_EQ(sw.counters()[SwitchCounter::kTxCell], 1U);
  feed(65200);
  EXPECT_EQ(sw.counters()[SwitchCounter::kDropTooLong], 1U);
  EXPECT_EQ(sw.counters()[SwitchCounter::kRxCell], 2U);
}

}  // namespace switch_drops_test
}  // namespace splitnic::fabric
