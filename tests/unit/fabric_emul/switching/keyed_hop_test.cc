// Keys on the hops of a switch: switch and nodes do the same as without, and a node that does not
// prove the key of its port gets nothing.
#include <gtest/gtest.h>

#include "fabric_emul/session/keyed_underlay.h"
#include "fabric_emul/switching/attachment.h"
#include "tests/unit/fabric_emul/switching/switch_world.h"

namespace splitnic::fabric {
namespace keyed_hop_test {

using namespace switch_world;
using session::KeyedUnderlay;
using session::PublicKey;
using session::Secret;
using session::SessionCounter;

Secret secret_of(std::uint64_t number) {
  base::SeededRandom random(number * 31);
  return session::random_private_key(random);
}
PublicKey key_of(std::uint64_t number) { return session::public_key_of(secret_of(number)); }

constexpr std::uint64_t kSwitch = 1;  // as a number of a key; those of nodes are 11, 12

// A node with the key of this number, at the switch.
struct KeyedNode {
  KeyedNode(Underlay& carrier, const PeerAddress& at, std::uint64_t key,
            const session::SessionConfig& config, bool listens, base::Clock& clock)
      : random(key),
        keyed(carrier, config, clock, random),
        attachment(keyed, keyed.allow({key_of(kSwitch), {}, at}).value(),
                   link_world::config_of(session::eui64_of(key_of(key)), config.instance), clock,
                   random) {
    PortConfig path = link_world::config_of(key, config.instance, listens);
    path.payload_crc = PayloadCrcMode::kAuto;  // as the programs have it
    path.lids = [this](const PeerAddress& peer) { return attachment.lids_of(peer); };
    end = std::make_unique<link_world::End>(attachment, path);
  }

  base::SeededRandom random;
  KeyedUnderlay keyed;
  Attachment attachment;
  std::unique_ptr<link_world::End> end;
};

class KeyedHopTest : public ::testing::Test {
 protected:
  KeyedHopTest() : sw(plan_of(star(2), "sw").value(), random) {
    for (std::uint8_t port = 1; port <= 2; ++port) {
      at_switch.push_back(&hub.add_endpoint());
      keyed.push_back(
          std::make_unique<KeyedUnderlay>(*at_switch.back(), config_of(kSwitch), clock, random));
      EXPECT_TRUE(keyed.back()->allow({key_of(10U + port), {}, std::nullopt}));
      PortConfig config = link_world::config_of(session::eui64_of(key_of(kSwitch)), instances_);
      config.payload_crc = PayloadCrcMode::kAuto;
      sw.add_port(port, *keyed.back(), config, nullptr, clock.now());
    }
  }
  session::SessionConfig config_of(std::uint64_t key) {
    session::SessionConfig config;
    config.private_key = secret_of(key);
    config.instance = ++instances_;
    config.stamp = [this] { return ++stamps_; };
    return config;
  }
  KeyedNode& node_at(std::uint8_t port, std::uint64_t key, bool listens = false) {
    nodes.push_back(std::make_unique<KeyedNode>(hub.add_endpoint(),
                                                at_switch.at(port - 1U)->address(), key,
                                                config_of(key), listens, clock));
    return *nodes.back();
  }
  bool iterate() {
    bool made_progress = sw.step(clock.now());
    for (const auto& node : nodes) made_progress |= node->end->step(clock.now());
    return made_progress;
  }
  void settle() {
    while (iterate()) {
    }
  }
  void run(base::Duration time) {
    link_world::run_for(clock, time, [this] { return iterate(); });
  }
  std::uint64_t count(std::uint8_t port, SessionCounter which) const {
    return keyed.at(port - 1U)->counters()[which];
  }

  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub{{.datagram_bytes_max = 1472}};
  std::vector<InProcessUnderlay*> at_switch;
  std::vector<std::unique_ptr<KeyedUnderlay>> keyed;
  Switch sw;
  std::vector<std::unique_ptr<KeyedNode>> nodes;

 private:
  std::uint64_t instances_ = 0, stamps_ = 0;
};

// The widest cells fit with what a record adds, alone and in a batch. Hops are sealed and the path
// is not: its cells keep the CRC over their payload, because a switch opens what it forwards.
TEST_F(KeyedHopTest, S000_32_S_53_the_widest_cells_cross_keyed_hops_with_their_payload_crc) {
  KeyedNode& unit = node_at(2, 12, true);
  KeyedNode& host = node_at(1, 11);
  host.end->port.connect(host.attachment.peer("n2"), clock.now());
  run(3s);
  ASSERT_NE(host.end->watch.link, nullptr);
  Link& link = host.end->link();
  ASSERT_TRUE(link.up());
  EXPECT_EQ(link.mcp(), (1472 - kSessionReserveBytes - kStrideOverhead) & ~3U);
  EXPECT_TRUE(host.attachment.link().is_keyed());
  EXPECT_FALSE(link.is_keyed());
  EXPECT_EQ(link.payload_crc(), PayloadCrcState::kOn);
  EXPECT_EQ(host.attachment.link().payload_crc(), PayloadCrcState::kOn);
  EXPECT_EQ(link.remote_lid(), Lid(12));
  std::vector<Cell> sent;
  for (unsigned i = 0; i < 30; ++i) {
    sent.push_back(cell(Lid(11), Lid(12), link.mcp(), i));
    ASSERT_TRUE(link_world::write(link, sent.back()));
  }
  host.end->port.flush(clock.now());
  settle();
  EXPECT_EQ(unit.end->cells, sent);
  EXPECT_EQ(sw.counters()[SwitchCounter::kDropTooLong], 0U);
}

// Not with a key of nobody, and not with that of another port of the same switch.
TEST_F(KeyedHopTest, S000_32_S_56_a_port_is_for_the_key_that_belongs_there) {
  for (const std::uint64_t wrong : {std::uint64_t{13}, std::uint64_t{12}}) {
    KeyedNode& stranger = node_at(1, wrong);
    run(2s);
    EXPECT_FALSE(stranger.attachment.is_attached());
    EXPECT_EQ(stranger.keyed.counters()[SessionCounter::kRxResponse], 0U);
    nodes.clear();
  }
  EXPECT_GT(count(1, SessionCounter::kRxDropUnknownKey), 0U);
  EXPECT_EQ(count(1, SessionCounter::kTxResponse) + count(1, SessionCounter::kTxCookie), 0U);
  EXPECT_EQ(count(1, SessionCounter::kTxRecord), 0U);
  KeyedNode& right = node_at(1, 11);
  run(2s);
  EXPECT_TRUE(right.attachment.is_attached());
}

}  // namespace keyed_hop_test
}  // namespace splitnic::fabric
