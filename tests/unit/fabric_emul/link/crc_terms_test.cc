// The agreement about the payload CRC: all settings of both ends, proofs that are none, and INITs
// that come late, twice or not at all. docs/protocol/init.md#payload-crc
#include "fabric_emul/link/crc_terms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "link_world.h"

namespace splitnic::fabric::crc_terms_test {

using namespace link_world;
using enum PayloadCrcMode;
using ::testing::ElementsAre;

constexpr SipKey kHere{1, 2};
constexpr SipKey kElsewhere{3, 4};

struct EndOf {
  PayloadCrcMode mode = kAuto;
  std::optional<SipKey> key = kHere;
  PathKind path = PathKind::kMemory;

  PortConfig config(std::uint64_t eui64, std::uint64_t instance, bool listens) const {
    PortConfig port = config_of(eui64, instance, listens);
    port.payload_crc = mode;
    port.machine_key = key;
    return port;
  }
  // As the page has it: 0 requires the whole cell, 1 accepts head only, 2 on one machine.
  int accepts() const {
    if (mode == kOn) return 0;
    if (mode == kOff) return 1;
    if (path == PathKind::kSealed) return 1;
    return key && path == PathKind::kMemory ? 2 : 0;
  }
};

struct CrcWorld : World {
  explicit CrcWorld(const EndOf& listener = {}, const EndOf& client = {})
      : World({}, listener.config(0xA, 100, true), client.config(0xB, 200, false)) {
    listener_at.set_path_kind(listener.path);
    client_at.set_path_kind(client.path);
  }
  // As a new process of the client; of the listener.
  void restart_client(const EndOf& client, std::uint64_t instance) {
    client_at.clear();
    b = std::make_unique<End>(client_faults, client.config(0xB, instance, false));
    connect();
  }
  void restart_listener(const EndOf& listener, std::uint64_t instance) {
    a = std::make_unique<End>(listener_faults, listener.config(0xA, instance, true));
    run(1s);
  }
  // Both ends have the same state, and cells pass both ways.
  std::string state() {
    if (!a->link().up() || !b->link().up()) return "not up";
    const std::uint64_t drops =
        a->count(LinkCounter::kRxDropCtl) + b->count(LinkCounter::kRxDropCtl);
    a->cells.clear();
    b->cells.clear();
    for (End* end : {a.get(), b.get()}) EXPECT_TRUE(write(end->link(), pattern(64, 1)));
    pump();
    EXPECT_EQ(a->cells, Cells{pattern(64, 1)});
    EXPECT_EQ(b->cells, Cells{pattern(64, 1)});
    EXPECT_EQ(a->count(LinkCounter::kRxDropCtl) + b->count(LinkCounter::kRxDropCtl), drops);
    EXPECT_EQ(a->link().payload_crc(), b->link().payload_crc());
    EXPECT_EQ(a->link().crc_head_only(), a->link().payload_crc() != PayloadCrcState::kOn);
    return std::string(name(a->link().payload_crc()));
  }
};

std::optional<Init> init_of(base::Bytes datagram) {
  FlitView flit;
  Init init;
  if (parse_flit(datagram, flit) != FlitError::kNone ||
      parse_init(flit.payload, init) != InitError::kNone) {
    return std::nullopt;
  }
  return init;
}

std::optional<Init> next_init(InProcessUnderlay& at) {
  const auto batch = at.receive();
  return batch ? init_of(batch->bytes) : std::nullopt;
}

TEST(CrcTermsTest, every_pair_of_settings_agrees_on_one_mode) {
  std::vector<EndOf> ends;
  for (const PayloadCrcMode mode : {kOn, kOff, kAuto}) {
    for (const std::optional<SipKey>& key :
         {std::optional(kHere), std::optional(kElsewhere), std::optional<SipKey>()}) {
      for (const PathKind path : {PathKind::kMemory, PathKind::kNetwork}) {
        ends.push_back({mode, key, path});
      }
    }
  }
  for (const EndOf& listener : ends) {
    for (const EndOf& client : ends) {
      CrcWorld w(listener, client);
      w.connect();
      const bool is_proven = listener.key && client.key && listener.key->k0 == client.key->k0;
      std::string expected = "on";
      if (listener.accepts() != 0 && client.accepts() != 0) {
        if (is_proven) {
          expected = "off (same machine)";
        } else if (listener.accepts() == 1 && client.accepts() == 1) {
          expected = "off (at both ends)";
        }
      }
      EXPECT_EQ(w.state(), expected) << listener.accepts() << client.accepts() << is_proven;
    }
  }
}

// The tag covers each byte, so nothing needs to be proven; the stricter end decides as ever.
TEST(CrcTermsTest, sealed_links_have_no_payload_crc_unless_an_end_requires_it) {
  for (const PayloadCrcMode listener : {kOn, kOff, kAuto}) {
    for (const PayloadCrcMode client : {kOn, kOff, kAuto}) {
      for (const std::optional<SipKey>& key : {std::optional(kHere), std::optional<SipKey>()}) {
        CrcWorld w({listener, key, PathKind::kSealed}, {client, kHere, PathKind::kSealed});
        w.connect();
        EXPECT_EQ(w.state(), listener == kOn || client == kOn ? "on" : "off (sealed)");
      }
    }
  }
}

// Each end knows for itself whether the link is sealed: the other cannot talk it into that.
TEST(CrcTermsTest, a_link_that_is_not_sealed_keeps_its_payload_crc_whatever_the_peer_accepts) {
  for (const bool is_listener_sealed : {true, false}) {
    const EndOf sealed{.key = std::nullopt, .path = PathKind::kSealed};
    const EndOf plain{.key = std::nullopt, .path = PathKind::kNetwork};
    CrcWorld w(is_listener_sealed ? sealed : plain, is_listener_sealed ? plain : sealed);
    w.connect();
    EXPECT_EQ(w.state(), "on");
  }
}

TEST(CrcTermsTest, other_profiles_agree_on_nothing_of_it) {
  PortConfig listener = EndOf{}.config(0xA, 100, true);
  PortConfig client = EndOf{}.config(0xB, 200, false);
  listener.crc_head_only = client.crc_head_only = true;
  {
    World w({}, listener, client);
    w.connect();
    EXPECT_EQ(name(w.a->link().payload_crc()), "off (shared memory)");
    EXPECT_EQ(name(w.b->link().payload_crc()), "off (shared memory)");
  }
  listener.crc_head_only = client.crc_head_only = false;
  listener.profile = client.profile = LinkProfile::kFull;
  World w({}, listener, client);
  w.connect();
  EXPECT_EQ(w.a->link().payload_crc(), PayloadCrcState::kOn);
  EXPECT_EQ(w.b->link().payload_crc(), PayloadCrcState::kOn);
}

// A client that has not the key: all that it can send.
TEST(CrcTermsTest, a_hostile_client_does_not_turn_the_payload_crc_off) {
  CrcWorld recorded;
  std::optional<Init> genuine;
  recorded.listener_faults.drop_received([&](base::Bytes datagram) {
    const auto init = init_of(datagram);
    if (init && init->step == InitStep::kAnswer) genuine = init;
    return false;
  });
  recorded.connect();
  ASSERT_TRUE(genuine);
  ASSERT_EQ(recorded.state(), "off (same machine)");

  // Of another instance, and of the one that the recording is of.
  for (const std::uint64_t instance : {666U, 200U}) {
    for (const PayloadCrc claim : {PayloadCrc::kOmitted, PayloadCrc::kOmittedIfProven}) {
      for (const std::uint64_t proof : {std::uint64_t{0}, genuine->proof, kProofMask}) {
        CrcWorld w;
        w.restart_listener({}, 101);
        Init hello = *genuine;
        hello.step = InitStep::kHello;
        hello.instance = instance;
        hello.payload_crc = claim;
        hello.proof = proof;
        send_init(w.client_at, w.listener_at.address(), hello);
        w.a->receive(w.clock.now());
        const auto challenge = next_init(w.client_at);
        ASSERT_TRUE(challenge);
        Init response = hello;
        response.step = InitStep::kAnswer;
        response.peer_instance = challenge->instance;
        response.echo = challenge->nonce;
        send_init(w.client_at, w.listener_at.address(), response);
        w.a->receive(w.clock.now());
        const auto ready = next_init(w.client_at);
        ASSERT_TRUE(ready);
        EXPECT_EQ(ready->step, InitStep::kReady);
        EXPECT_EQ(ready->payload_crc, PayloadCrc::kRequired);
        EXPECT_EQ(w.a->link().payload_crc(), PayloadCrcState::kOn);
      }
    }
  }
}

// A listener that has not the key: its READY is dropped, and the client continues with HELLO.
TEST(CrcTermsTest, a_hostile_listener_does_not_turn_the_payload_crc_off) {
  CrcWorld recorded;
  std::optional<Init> genuine;
  recorded.client_faults.drop_received([&](base::Bytes datagram) {
    const auto init = init_of(datagram);
    if (init && init->step == InitStep::kReady) genuine = init;
    return false;
  });
  recorded.connect();
  ASSERT_TRUE(genuine);
  ASSERT_EQ(genuine->payload_crc, PayloadCrc::kOmitted);

  for (const PayloadCrcMode mode : {kAuto, kOn}) {
    CrcWorld w;
    const PortConfig client = EndOf{.mode = mode}.config(0xB, 201, false);
    w.b = std::make_unique<End>(w.client_faults, client);
    w.b->port.connect(w.listener_at.address(), w.clock.now());
    const auto hello = next_init(w.listener_at);
    ASSERT_TRUE(hello);
    Init challenge = *genuine;
    challenge.step = InitStep::kChallenge;
    challenge.payload_crc = PayloadCrc::kRequired;
    challenge.nonce = 77;
    challenge.echo = hello->nonce;
    send_init(w.listener_at, w.client_at.address(), challenge);
    w.b->receive(w.clock.now());
    const auto response = next_init(w.listener_at);
    ASSERT_TRUE(response);
    EXPECT_EQ(response->payload_crc,
              mode == kAuto ? PayloadCrc::kOmittedIfProven : PayloadCrc::kRequired);
    // The client's own proof is none of the listener's.
    for (const std::uint64_t proof : {std::uint64_t{0}, genuine->proof, response->proof}) {
      for (const PayloadCrc claim : {PayloadCrc::kOmitted, PayloadCrc::kOmittedIfProven}) {
        Init ready = *genuine;
        ready.peer_instance = 201;
        ready.echo = response->nonce;
        ready.payload_crc = claim;
        ready.proof = proof;
        send_init(w.listener_at, w.client_at.address(), ready);
        w.b->receive(w.clock.now());
      }
    }
    EXPECT_TRUE(w.b->watch.events.empty());
    EXPECT_EQ(w.b->count(LinkCounter::kRxDropInit), 6U);
    Init ready = *genuine;
    ready.echo = response->nonce;
    ready.payload_crc = PayloadCrc::kRequired;
    send_init(w.listener_at, w.client_at.address(), ready);
    w.b->receive(w.clock.now());
    EXPECT_THAT(w.b->watch.events, ElementsAre("up"));
    EXPECT_EQ(w.b->link().payload_crc(), PayloadCrcState::kOn);
  }
}

TEST(CrcTermsTest, a_proof_is_of_one_step_one_pair_of_instances_and_one_exchange) {
  const PortConfig config = EndOf{}.config(0xA, 0x5555666677778888, true);
  const CrcTerms terms(config);
  Init response;
  response.step = InitStep::kAnswer;
  response.eui64 = Eui64(0x0200000000000001);  // the example of the page
  response.instance = 0x1111222233334444;
  response.peer_instance = 0x5555666677778888;
  response.nonce = 0xB1B2B3B4B5B6B7B8;
  response.echo = 0xC1C2C3C4C5C6C7C8;
  terms.offer(response, PathKind::kMemory);
  EXPECT_EQ(response.payload_crc, PayloadCrc::kOmittedIfProven);
  EXPECT_EQ(response.proof, 0x110E5CC2D09019U);
  EXPECT_EQ(terms.decide(response, PathKind::kMemory), PayloadCrcState::kOffSameMachine);
  EXPECT_EQ(terms.decide(response, PathKind::kNetwork), PayloadCrcState::kOn);
  const auto decided = [&](auto change) {
    Init changed = response;
    change(changed);
    return terms.decide(changed, PathKind::kMemory);
  };
  EXPECT_EQ(decided([](Init& i) { i.step = InitStep::kReady; }), PayloadCrcState::kOn);
  EXPECT_EQ(decided([](Init& i) { i.eui64 = Eui64(0xC); }), PayloadCrcState::kOn);
  EXPECT_EQ(decided([](Init& i) { i.instance = 201; }), PayloadCrcState::kOn);
  EXPECT_EQ(decided([](Init& i) { i.peer_instance = 101; }), PayloadCrcState::kOn);
  const PortConfig restarted = EndOf{}.config(0xA, 0x5555666677778889, true);
  EXPECT_EQ(CrcTerms(restarted).decide(response, PathKind::kMemory), PayloadCrcState::kOn);
  EXPECT_EQ(decided([](Init& i) { i.nonce = 6; }), PayloadCrcState::kOn);
  EXPECT_EQ(decided([](Init& i) { i.echo = 5; }), PayloadCrcState::kOn);
  EXPECT_EQ(decided([](Init& i) { i.payload_crc = PayloadCrc::kOmitted; }), PayloadCrcState::kOn);
  for (unsigned bit = 0; bit < 56; ++bit) {
    EXPECT_EQ(decided([&](Init& i) { i.proof ^= std::uint64_t{1} << bit; }), PayloadCrcState::kOn);
  }
}

// A client from before: it knows neither field.
TEST(CrcTermsTest, a_peer_that_sends_zeros_gets_whole_cells) {
  for (const PayloadCrcMode mode : {kOff, kAuto}) {
    const PortConfig config = EndOf{.mode = mode}.config(0xA, 100, true);
    const CrcTerms terms(config);
    EXPECT_EQ(terms.decide(Init{}, PathKind::kMemory), PayloadCrcState::kOn);
    EXPECT_EQ(terms.accept(Init{}, PayloadCrc::kOmitted, PathKind::kMemory), PayloadCrcState::kOn);
  }
}

TEST(CrcTermsTest, a_restarted_end_may_have_another_mode) {
  CrcWorld w;
  w.connect();
  EXPECT_EQ(w.state(), "off (same machine)");
  w.restart_client({.mode = kOn}, 201);
  EXPECT_EQ(w.state(), "on");
  w.restart_client({.mode = kOff}, 202);
  EXPECT_EQ(w.state(), "off (same machine)");
  w.restart_listener({.mode = kOn}, 101);
  EXPECT_EQ(w.state(), "on");
  w.restart_listener({.mode = kOff, .key = std::nullopt}, 102);
  EXPECT_EQ(w.state(), "off (at both ends)");
}

TEST(CrcTermsTest, any_lost_init_leaves_both_ends_in_one_mode) {
  for (int lost = 0; lost < 4; ++lost) {
    CrcWorld w;
    int seen = 0;
    const auto drop = [&](base::Bytes) { return seen++ == lost; };
    w.listener_faults.drop_received(drop);
    w.client_faults.drop_received(drop);
    w.connect();
    w.run(300ms);
    EXPECT_EQ(w.state(), "off (same machine)") << lost;
  }
}

TEST(CrcTermsTest, late_copies_of_inits_change_nothing) {
  CrcWorld w;
  std::vector<std::vector<std::byte>> to_listener, to_client;
  w.listener_faults.drop_received([&](base::Bytes datagram) {
    to_listener.emplace_back(datagram.begin(), datagram.end());
    return false;
  });
  w.client_faults.drop_received([&](base::Bytes datagram) {
    to_client.emplace_back(datagram.begin(), datagram.end());
    return false;
  });
  w.connect();
  ASSERT_EQ(to_listener.size(), 2U);
  ASSERT_EQ(to_client.size(), 2U);
  w.listener_faults.drop_received({});
  w.client_faults.drop_received({});
  // Meanwhile a new agreement would have another result.
  w.listener_at.set_path_kind(PathKind::kNetwork);
  w.client_at.set_path_kind(PathKind::kNetwork);
  for (const auto& copy : to_listener) {
    w.client_at.send(w.listener_at.address(), copy, copy.size());
    w.pump();
    EXPECT_EQ(w.state(), "off (same machine)");
  }
  for (const auto& copy : to_client) {
    w.listener_at.send(w.client_at.address(), copy, copy.size());
    w.pump();
    EXPECT_EQ(w.state(), "off (same machine)");
  }
  // A link that was silent comes back in its mode.
  w.client_at.set_plugged(false);
  w.run(2s);
  EXPECT_FALSE(w.b->link().up());
  w.client_at.set_plugged(true);
  w.run(2s);
  EXPECT_EQ(w.state(), "off (same machine)");
}

}  // namespace splitnic::fabric::crc_terms_test
