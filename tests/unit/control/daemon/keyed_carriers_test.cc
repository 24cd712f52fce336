// Tests which peers may have sessions on each carrier of a program.
#include "control/daemon/keyed_carriers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "fabric_emul/session/keys.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "tests/support/log_lines.h"
#include "tests/support/temp_folder.h"

namespace splitnic::control {
namespace keyed_carriers_test {

namespace session = fabric::session;

session::Secret secret_of(std::uint64_t number) {
  base::SeededRandom random(number);
  return session::random_private_key(random);
}

class KeyedCarriersTest : public ::testing::Test {
 protected:
  // Node `number` has this key, and one of these pre-shared keys if it has any.
  KeyOptions options_of(std::uint64_t number, bool has_psk = false) {
    KeyOptions options;
    options.key_file = folder.path(std::to_string(number) + ".key");
    EXPECT_TRUE(session::write_key_file(options.key_file, secret_of(number)));
    if (has_psk) {
      options.psk_file = folder.path(std::to_string(number) + ".psk");
      EXPECT_TRUE(session::write_key_file(options.psk_file, secret_of(10 + number)));
    }
    return options;
  }
  static session::PublicKey key_of(std::uint64_t number) {
    return session::public_key_of(secret_of(number));
  }
  KeyedCarrier to_unit(KeyedCarriers& from) {
    return *from.add(hub.add_endpoint(), {&unit_key, 1}, listening.address());
  }
  // Node `from` sends to the unit every 500 ms.
  void run_for(fabric::Underlay& unit, const KeyedCarrier& from, base::Duration time) {
    const std::vector<std::byte> datagram(88);
    for (const base::Time end = clock.now() + time; clock.now() < end;) {
      from.underlay->send(from.peers.front(), datagram, datagram.size());
      while (unit.receive()) {
      }
      while (from.underlay->receive()) {
      }
      clock.advance(std::chrono::milliseconds(500));
    }
  }

  support::TempFolder folder;
  support::LogLines log;
  base::ManualClock clock;
  base::SeededRandom random{5};
  fabric::InProcessHub hub;
  fabric::InProcessUnderlay& listening = hub.add_endpoint();
  const session::PublicKey unit_key = key_of(1);
};

// A unit that listens, and is attached to a switch: its hosts come to the one, and only the switch
// is at the other, whatever the hosts file becomes.
TEST_F(KeyedCarriersTest, S_56_hosts_have_no_sessions_on_a_carrier_that_connects) {
  const KeyOptions options = options_of(1);
  KeyedCarriers carriers(options, 1, 0, clock, random);
  EXPECT_TRUE(carriers.empty());

  const session::PublicKey of_switch = key_of(2);
  const session::PublicKey of_host = key_of(3);
  const auto to_switch = carriers.add(hub.add_endpoint(), {&of_switch, 1}, listening.address());
  const auto for_hosts = carriers.add(listening, {}, std::nullopt);
  ASSERT_TRUE(to_switch && for_hosts);
  ASSERT_EQ(to_switch->peers.size(), 1U);
  EXPECT_TRUE(for_hosts->peers.empty());
  ASSERT_TRUE(carriers.allow(of_host));
  const fabric::PeerAddress host = session::address_of(of_host);
  EXPECT_EQ(for_hosts->underlay->path_kind(host), fabric::PathKind::kSealed);
  EXPECT_EQ(to_switch->underlay->path_kind(host), fabric::PathKind::kNetwork);
  EXPECT_TRUE(carriers.view_of(of_host));
  EXPECT_FALSE(carriers.view_of(of_switch));
  carriers.disallow(of_switch);
  carriers.disallow(of_host);
  EXPECT_EQ(for_hosts->underlay->path_kind(host), fabric::PathKind::kNetwork);
  EXPECT_EQ(to_switch->underlay->path_kind(to_switch->peers.front()), fabric::PathKind::kSealed);
}

// Two keys that the unit does not know, each of a node that begins session after session.
TEST_F(KeyedCarriersTest, an_unknown_key_is_reported_with_what_to_do_once_per_minute) {
  const KeyOptions of_unit = options_of(1), of_first = options_of(2), of_second = options_of(3);
  KeyedCarriers unit(of_unit, 1, 0, clock, random);
  unit.report_unknown_keys("do this");
  fabric::Underlay& unit_end = *unit.add(listening, {}, std::nullopt)->underlay;
  KeyedCarriers first(of_first, 2, 0, clock, random), second(of_second, 3, 0, clock, random);
  const KeyedCarrier from_first = to_unit(first);
  const KeyedCarrier from_second = to_unit(second);
  const auto lines_of = [&](std::uint64_t number) {
    const std::size_t count = log.count(session::base64_of(key_of(number).bytes));
    EXPECT_TRUE(count == 0 || log.count("gets no reply: do this") > 0) << log.text();
    return count;
  };
  run_for(unit_end, from_first, std::chrono::seconds(50));
  EXPECT_EQ(lines_of(2), 1U);
  run_for(unit_end, from_second, std::chrono::seconds(5));
  EXPECT_EQ(lines_of(3), 1U);
  run_for(unit_end, from_first, std::chrono::seconds(20));
  EXPECT_EQ(lines_of(2), 2U);
}

// Host and unit know each other and have different pre-shared keys: the unit cannot know it.
TEST_F(KeyedCarriersTest, S_56_another_pre_shared_key_is_reported_with_what_to_do_once_per_minute) {
  const KeyOptions of_unit = options_of(1, true), of_host = options_of(2, true);
  const session::PublicKey host_key = key_of(2);
  KeyedCarriers unit(of_unit, 1, 0, clock, random);
  fabric::Underlay& unit_end = *unit.add(listening, {&host_key, 1}, std::nullopt)->underlay;
  KeyedCarriers host(of_host, 2, 0, clock, random);
  const KeyedCarrier from_host = to_unit(host);
  run_for(unit_end, from_host, std::chrono::seconds(50));
  const std::string line = "with the key " + session::base64_of(unit_key.bytes) +
                           " replies, but the reply cannot be read: give both ends the same "
                           "--psk-file, or none";
  EXPECT_EQ(log.count(line), 1U) << log.text();
  run_for(unit_end, from_host, std::chrono::seconds(20));
  EXPECT_EQ(log.count(line), 2U);
}

TEST(UnknownKeysTest, no_more_than_a_few_keys_are_reported_per_minute) {
  using enum UnknownKeys::Report;
  UnknownKeys keys;
  base::Time now{std::chrono::hours(1)};
  std::vector<UnknownKeys::Report> reports;
  for (std::uint8_t i = 0; i < 200; ++i) {
    session::PublicKey key{};
    key.bytes[0] = std::byte{i};
    reports.push_back(keys.note(key, now));
  }
  EXPECT_EQ(std::ranges::count(reports, kKey), UnknownKeys::kKeysMax);
  EXPECT_EQ(std::ranges::count(reports, kThereAreMore), 1);
  EXPECT_EQ(reports.at(UnknownKeys::kKeysMax), kThereAreMore);
  now += UnknownKeys::kOnceIn - std::chrono::seconds(1);
  session::PublicKey other{};
  other.bytes[0] = std::byte{255};
  EXPECT_EQ(keys.note(other, now), kNothing);
  now += std::chrono::seconds(1);
  EXPECT_EQ(keys.note(other, now), kKey);
  EXPECT_EQ(keys.note(other, now), kNothing);
}

}  // namespace keyed_carriers_test
}  // namespace splitnic::control
