// The identity of peers that an underlay authenticates: by a key, or by a user of the machine.
#include <algorithm>
#include <map>
#include <set>

#include "link_world.h"

namespace splitnic::fabric::identity_test {

using namespace link_world;

// Authenticates the peers that it knows.
class ProvingUnderlay final : public UnderlayDecorator {
 public:
  using UnderlayDecorator::UnderlayDecorator;
  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    return below_.send(to, bytes, stride);
  }
  std::optional<Received> receive() override { return below_.receive(); }
  base::Time deadline() const override { return below_.deadline(); }
  std::optional<std::uint64_t> eui64_of(const PeerAddress& peer) const override {
    return find(eui64s, peer);
  }
  std::optional<std::uint32_t> user_of(const PeerAddress& peer) const override {
    return find(users, peer);
  }

  std::map<PeerAddress, std::uint64_t> eui64s;
  std::map<PeerAddress, std::uint32_t> users;

 private:
  template <class Value>
  static std::optional<Value> find(const std::map<PeerAddress, Value>& all,
                                   const PeerAddress& peer) {
    const auto found = all.find(peer);
    return found == all.end() ? std::nullopt : std::optional(found->second);
  }
};

// A listener and two clients.
struct IdentityTest : ::testing::Test {
  struct Client {
    Client(InProcessHub& hub, const PortConfig& config) : at(hub.add_endpoint()), end(at, config) {}
    InProcessUnderlay& at;
    End end;
  };
  Client& add(std::uint64_t eui64) {
    clients.push_back(std::make_unique<Client>(hub, config_of(eui64, 200 + clients.size())));
    return *clients.back();
  }
  void connect(Client& client) {
    client.end.port.connect(listener_at.address(), clock.now());
    for (int i = 0; i < 10; ++i) {
      listener.receive(clock.now());
      listener.port.flush(clock.now());
      for (const auto& each : clients) {
        each->end.receive(clock.now());
        each->end.port.flush(clock.now());
      }
    }
  }
  static bool is_up(Client& client) {
    return client.end.watch.link != nullptr && client.end.link().up();
  }
  std::size_t links_up() const {
    return static_cast<std::size_t>(std::ranges::count(listener.watch.events, "up"));
  }

  base::ManualClock clock;
  InProcessHub hub{InProcessConfig{}};
  InProcessUnderlay& listener_at = hub.add_endpoint();
  ProvingUnderlay proving{listener_at};
  End listener{proving, config_of(0xA, 100, true)};
  std::vector<std::unique_ptr<Client>> clients;
};

TEST_F(IdentityTest, M_8_the_eui64_of_another_key_is_dropped) {
  Client& victim = add(0xB);
  proving.eui64s[victim.at.address()] = 0xB;
  connect(victim);
  ASSERT_TRUE(is_up(victim));
  Client& liar = add(0xB);
  proving.eui64s[liar.at.address()] = 0xC;
  connect(liar);
  EXPECT_FALSE(is_up(liar));
  EXPECT_GT(listener.count(LinkCounter::kRxDropIdentity), 0U);
  EXPECT_TRUE(is_up(victim));
  EXPECT_EQ(listener.watch.events, std::vector<std::string>{"up"});
}

TEST_F(IdentityTest, M_8_the_eui64_of_another_user_is_another_peer) {
  Client& victim = add(0xB);
  Client& other = add(0xB);
  proving.users[victim.at.address()] = 1000;
  proving.users[other.at.address()] = 1001;
  connect(victim);
  connect(other);
  EXPECT_TRUE(is_up(victim));
  EXPECT_TRUE(is_up(other));
  EXPECT_EQ(links_up(), 2U);
  EXPECT_EQ(listener.watch.restarted_instance, 0U);
}

// The kernel no longer knows the user of a process that has ended.
TEST_F(IdentityTest, M_8_a_user_takes_the_place_of_its_process_that_has_ended) {
  Client& before = add(0xB);
  Client& after = add(0xB);
  proving.users[before.at.address()] = 1000;
  proving.users[after.at.address()] = 1000;
  connect(before);
  Link& link = listener.link();
  proving.users.erase(before.at.address());
  EXPECT_EQ(link.peer_user(), 1000U);
  connect(after);
  EXPECT_TRUE(is_up(after));
  EXPECT_EQ(listener.watch.restarted_instance, 200U);
  EXPECT_EQ(&listener.link(), &link);
}

// A listener with four places, and peers one after the other.
struct FewPlacesTest : IdentityTest {
  FewPlacesTest() : few_at(hub.add_endpoint()), few_users(few_at), end(few_users, few()) {}
  static PortConfig few() {
    PortConfig config = config_of(0xA, 100, true);
    config.links_max = 4;
    return config;
  }
  // Returns whether the peer has a link for a moment. It ends silently.
  bool connects(InProcessUnderlay& from, std::uint64_t eui64) {
    End client(from, config_of(eui64, 300 + eui64));
    client.port.connect(few_at.address(), clock.now());
    for (int i = 0; i < 10; ++i) {
      end.receive(clock.now());
      end.port.flush(clock.now());
      client.receive(clock.now());
      client.port.flush(clock.now());
    }
    clock.advance(100ms);
    return client.watch.link != nullptr && client.link().up();
  }

  InProcessUnderlay& few_at;
  ProvingUnderlay few_users;
  End end;
};

// One node behind a switch has one address and may state any identity.
TEST_F(FewPlacesTest, M_8_who_changes_its_identity_takes_one_place_from_the_others) {
  InProcessUnderlay& of_hostile = hub.add_endpoint();
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_TRUE(connects(of_hostile, 0x1000 + i)) << i;
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(connects(hub.add_endpoint(), 0x2000 + i)) << i;
  }
}

// Each process of a user of the machine has another address.
TEST_F(FewPlacesTest, M_8_processes_that_have_ended_take_no_place) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    InProcessUnderlay& process = hub.add_endpoint();
    few_users.users[process.address()] = 1000;
    EXPECT_TRUE(connects(process, 0x1000 + i)) << i;
    few_users.users.erase(process.address());
  }
  InProcessUnderlay& other = hub.add_endpoint();
  few_users.users[other.address()] = 1001;
  EXPECT_TRUE(connects(other, 0x2000));
}

TEST_F(IdentityTest, M_2_a_peer_with_short_cells_is_refused) {
  PortConfig strict = config_of(0xA, 100, true);
  strict.mcp_min = 256;
  InProcessUnderlay& at = hub.add_endpoint();
  End end(at, strict);
  const auto events_of = [&](std::uint16_t mcp) {
    PortConfig config = config_of(0xD, 300U + mcp);
    config.mcp_wanted = mcp;
    Client client(hub, config);
    client.end.port.connect(at.address(), clock.now());
    for (int i = 0; i < 10; ++i) {
      end.receive(clock.now());
      end.port.flush(clock.now());
      client.end.receive(clock.now());
      client.end.port.flush(clock.now());
    }
    return client.end.watch.events;
  };
  EXPECT_EQ(events_of(252), std::vector<std::string>{"refused: mcp"});
  EXPECT_EQ(events_of(256), std::vector<std::string>{"up"});
}

// Without keys: two processes at two addresses with one EUI-64, as on two copies of a machine.
struct DuplicateTest : IdentityTest {
  bool has(const Client& client, const std::string& event) {
    return std::ranges::count(client.end.watch.events, event) > 0;
  }
  void run_for(base::Duration span) {
    for (base::Duration t{}; t < span; t += 10ms) {
      clock.advance(10ms);
      for (End* end : ends()) end->step(clock.now());
    }
  }
  std::vector<End*> ends() {
    std::vector<End*> all{&listener};
    for (const auto& each : clients) {
      if (!is_dead.contains(each.get())) all.push_back(&each->end);
    }
    return all;
  }
  std::set<Client*> is_dead;
};

TEST_F(DuplicateTest, B_02_a_second_peer_of_one_eui64_is_refused_while_the_first_is_alive) {
  Client& first = add(0xB);
  connect(first);
  ASSERT_TRUE(is_up(first));
  Client& copy = add(0xB);
  connect(copy);
  run_for(5s);
  EXPECT_TRUE(is_up(first));
  EXPECT_FALSE(is_up(copy));
  EXPECT_TRUE(has(copy, "refused: duplicate"));
  EXPECT_EQ(std::ranges::count(listener.watch.events, "restarted"), 0);
  EXPECT_GT(std::ranges::count(listener.watch.events, "duplicate"), 0);
}

// Of an idle peer nothing else is heard.
TEST_F(DuplicateTest, B_02_one_lost_idle_does_not_admit_a_second_peer) {
  base::SeededRandom random(1);
  FaultUnderlay path(hub.add_endpoint(), random, clock);
  unsigned idles = 0;
  path.drop_sent(
      [&idles](base::Bytes bytes) { return bytes.size() == kFlitHeaderBytes && ++idles % 3 == 0; });
  End first(path, config_of(0xB, 150));
  first.port.connect(listener_at.address(), clock.now());
  std::vector<End*> all{&listener, &first};
  const auto run = [&](int steps) {
    for (int step = 0; step < steps; ++step) {
      clock.advance(10ms);
      for (End* end : all) end->step(clock.now());
    }
  };
  run(10);
  Client& copy = add(0xB);
  copy.end.port.connect(listener_at.address(), clock.now());
  all.push_back(&copy.end);
  run(3000);
  EXPECT_GT(idles, 100U);
  EXPECT_TRUE(first.link().up());
  EXPECT_FALSE(is_up(copy));
  EXPECT_EQ(std::ranges::count(listener.watch.events, "restarted"), 0);
}

TEST_F(DuplicateTest, B_02_a_process_that_was_started_again_is_admitted_within_700_ms) {
  Client& first = add(0xB);
  connect(first);
  ASSERT_TRUE(is_up(first));
  is_dead.insert(&first);
  Client& next = add(0xB);
  next.end.port.connect(listener_at.address(), clock.now());
  run_for(700ms);
  EXPECT_TRUE(is_up(next));
  EXPECT_EQ(std::ranges::count(listener.watch.events, "restarted"), 1);
}

TEST_F(DuplicateTest, B_02_after_a_clean_stop_the_next_is_admitted_at_once) {
  Client& first = add(0xB);
  connect(first);
  first.end.port.send_bye(clock.now());
  Client& next = add(0xB);
  connect(next);
  EXPECT_TRUE(is_up(next));
  EXPECT_FALSE(has(next, "refused: duplicate"));
}

}  // namespace splitnic::fabric::identity_test
