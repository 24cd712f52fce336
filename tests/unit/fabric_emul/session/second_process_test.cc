// Two processes that have one key: the second one elsewhere is refused as long as the first is in
// use; at one place they cannot be distinguished from a restart, and are reported.
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "base/endian.h"
#include "fabric_emul/underlay/udp_address.h"
#include "fabric_emul/underlay/underlay_decorator.h"
#include "tests/unit/fabric_emul/session/keyed_world.h"

namespace splitnic::fabric::session {
namespace {

// Shows each endpoint of the hub at one link-local address, by an interface of its number.
class LinkLocalPath final : public UnderlayDecorator {
 public:
  explicit LinkLocalPath(InProcessUnderlay& at) : UnderlayDecorator(at) {}
  static PeerAddress link_local(const PeerAddress& endpoint) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(7471);
    address.sin6_addr.s6_addr[0] = 0xFE;
    address.sin6_addr.s6_addr[1] = 0x80;
    address.sin6_addr.s6_addr[15] = 1;
    address.sin6_scope_id = base::load_be<std::uint32_t>(endpoint.bytes.data());
    return UdpAddress(reinterpret_cast<const sockaddr&>(address), sizeof address).peer();
  }

  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    return below_.send(InProcessHub::address_of(UdpAddress(to).v6().sin6_scope_id), bytes, stride);
  }
  std::optional<Received> receive() override {
    auto received = below_.receive();
    if (received) received->from = link_local(received->from);
    return received;
  }
  base::Time deadline() const override { return base::kNever; }
};

class SecondProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    world_.common.on_second_process = [this](const Peer& peer, const PeerAddress& from) {
      EXPECT_EQ(peer.keys().peer, public_key_of(world_.host_secret));
      reports_.push_back(from);
    };
    world_.start();
    world_.connect();
  }
  // Another process with the key of the host.
  std::unique_ptr<Node> make_second(InProcessUnderlay& at) {
    auto second = world_.make_node(at, world_.host_secret);
    const auto allowed =
        second->keyed.allow({public_key_of(world_.unit_secret), {}, world_.unit_at.address()});
    EXPECT_TRUE(allowed);
    return second;
  }
  // `node` sends every 100 ms, and the unit replies to the one that has the session.
  void run(Node& node, base::Duration span) {
    for (base::Duration t{}; t < span; t += 100ms) {
      node.keyed.send(world_.unit_address, KeyedWorld::payload(60, 5), 60);
      world_.unit->receive();
      world_.send_down(KeyedWorld::payload(60, 6));
      node.receive();
      world_.clock.advance(100ms);
    }
  }
  std::uint64_t count(SessionCounter which) const { return world_.unit->count(which); }
  bool is_at_unit(const PeerAddress& at) const {
    const auto view = world_.unit->keyed.view_of(public_key_of(world_.host_secret));
    return view && view->endpoint == at;
  }

  KeyedWorld world_;
  std::vector<PeerAddress> reports_;
};

TEST_F(SecondProcessTest, B_02_another_machine_is_refused_while_the_first_is_in_use) {
  const auto second = make_second(world_.second_at);
  for (int i = 0; i < 50; ++i) {
    run(*world_.host, 100ms);
    run(*second, 100ms);
  }
  EXPECT_GT(count(SessionCounter::kRxDropSecond), 3U);
  EXPECT_EQ(reports_.size(), count(SessionCounter::kRxDropSecond));
  EXPECT_EQ(reports_.back(), world_.second_at.address());
  EXPECT_EQ(second->count(SessionCounter::kEstablished), 0U);
  EXPECT_EQ(world_.host->count(SessionCounter::kEstablished), 1U);
  EXPECT_EQ(world_.host->count(SessionCounter::kRekeyed), 0U);
  EXPECT_EQ(count(SessionCounter::kRoamed), 0U);
  EXPECT_TRUE(is_at_unit(world_.host_at.address()));
  // The first one ends silently.
  const base::Time ended = world_.clock.now();
  while (second->count(SessionCounter::kEstablished) == 0 && world_.clock.now() - ended < 10s) {
    run(*second, 100ms);
  }
  EXPECT_LT(world_.clock.now() - ended, 4s);
  run(*second, 200ms);
  EXPECT_TRUE(is_at_unit(world_.second_at.address()));
  EXPECT_EQ(count(SessionCounter::kReclaimed), 0U);
}

// It has other keys with each handshake, but is the same process.
TEST_F(SecondProcessTest, B_02_a_host_that_moves_is_not_a_second_process) {
  world_.host->path.move_to(world_.second_at);
  run(*world_.host, 1s);
  EXPECT_TRUE(is_at_unit(world_.second_at.address()));
  world_.clock.advance(121s);  // new keys are due
  world_.host->path.move_to(world_.host_at);
  run(*world_.host, 2s);
  EXPECT_GE(count(SessionCounter::kRekeyed), 1U);
  EXPECT_TRUE(is_at_unit(world_.host_at.address()));
  EXPECT_EQ(count(SessionCounter::kRxDropSecond), 0U);
  EXPECT_TRUE(reports_.empty());
}

TEST_F(SecondProcessTest, B_02_a_process_that_was_started_again_is_admitted_at_once) {
  for (int i = 0; i < 10; ++i) {
    run(*world_.host, 500ms);
    world_.make_host();
    EXPECT_LE(world_.connect(), 40ms) << i;
  }
  EXPECT_EQ(count(SessionCounter::kRxDropSecond), 0U);
  EXPECT_EQ(count(SessionCounter::kReclaimed), 0U);
  EXPECT_TRUE(reports_.empty());
}

TEST_F(SecondProcessTest, B_02_two_processes_at_one_address_are_reported) {
  const auto second = make_second(world_.host_at);
  run(*second, 1s);
  EXPECT_EQ(second->count(SessionCounter::kEstablished), 1U);
  EXPECT_EQ(count(SessionCounter::kReclaimed), 0U) << "it may be a restart";
  for (std::uint64_t round = 1; round < 4; ++round) {
    run(*world_.host, 2s);
    EXPECT_EQ(count(SessionCounter::kReclaimed), 2 * round - 1);
    run(*second, 2s);
    EXPECT_EQ(count(SessionCounter::kReclaimed), 2 * round);
  }
  EXPECT_EQ(reports_.size(), 6U);
  EXPECT_EQ(reports_.back(), world_.host_at.address());
}

// Each interface has its own fe80::1.
TEST_F(SecondProcessTest, B_02_a_link_local_address_of_another_interface_is_another_machine) {
  base::SeededRandom random(4711);
  LinkLocalPath path(world_.unit_at);
  KeyedUnderlay unit(path, world_.config_of(world_.unit_secret), world_.clock, random);
  const auto host = unit.allow({public_key_of(world_.host_secret), {}, {}});
  ASSERT_TRUE(host);
  world_.unit_at.clear();
  world_.make_host();
  const auto second = make_second(world_.second_at);
  const auto exchange = [&](Node& node) {
    node.keyed.send(world_.unit_address, KeyedWorld::payload(60, 5), 60);
    while (unit.receive()) {
    }
    unit.send(*host, KeyedWorld::payload(60, 6), 60);
    node.receive();
    world_.clock.advance(50ms);
  };
  for (int i = 0; i < 20; ++i) exchange(*world_.host);
  ASSERT_EQ(world_.host->count(SessionCounter::kEstablished), 1U);
  for (int i = 0; i < 100; ++i) {
    exchange(*world_.host);
    exchange(*second);
  }
  EXPECT_GT(unit.counters()[SessionCounter::kRxDropSecond], 3U);
  EXPECT_EQ(second->count(SessionCounter::kEstablished), 0U);
  ASSERT_FALSE(reports_.empty());
  EXPECT_EQ(reports_.back(), LinkLocalPath::link_local(world_.second_at.address()));
}

}  // namespace
}  // namespace splitnic::fabric::session
