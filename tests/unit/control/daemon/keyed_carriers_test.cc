// Who may have sessions on which carrier of a program.
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

// A unit that listens, and is attached to a switch: its hosts come to the one, and only the switch
// is at the other, whatever the hosts file becomes.
TEST(KeyedCarriersTest, S_56_hosts_have_no_sessions_on_a_carrier_that_connects) {
  const support::TempFolder folder;
  KeyOptions options;
  options.key_file = folder.path("own.key");
  ASSERT_TRUE(session::write_key_file(options.key_file, secret_of(1)));
  base::ManualClock clock;
  base::SeededRandom random(5);
  fabric::InProcessHub hub;
  fabric::InProcessUnderlay& listening = hub.add_endpoint();
  fabric::InProcessUnderlay& connecting = hub.add_endpoint();
  KeyedCarriers carriers(options, 1, 0, clock, random);
  EXPECT_TRUE(carriers.empty());

  const session::PublicKey of_switch = session::public_key_of(secret_of(2));
  const session::PublicKey of_host = session::public_key_of(secret_of(3));
  const auto to_switch = carriers.add(connecting, {&of_switch, 1}, listening.address());
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

// Two keys that the listener does not know, each of a node that begins session after session.
TEST(KeyedCarriersTest, an_unknown_key_is_reported_with_what_to_do_once_per_minute) {
  const support::TempFolder folder;
  const support::LogLines log;
  base::ManualClock clock;
  base::SeededRandom random(5);
  fabric::InProcessHub hub;
  const auto options_of = [&](std::uint64_t number) {
    KeyOptions options;
    options.key_file = folder.path(std::to_string(number) + ".key");
    EXPECT_TRUE(session::write_key_file(options.key_file, secret_of(number)));
    return options;
  };
  const KeyOptions of_unit = options_of(1);
  const KeyOptions of_first = options_of(2);
  const KeyOptions of_second = options_of(3);
  fabric::InProcessUnderlay& listening = hub.add_endpoint();
  KeyedCarriers unit(of_unit, 1, 0, clock, random);
  unit.report_unknown_keys("do this");
  fabric::Underlay& unit_end = *unit.add(listening, {}, std::nullopt)->underlay;
  const session::PublicKey of_unit_key = session::public_key_of(secret_of(1));
  KeyedCarriers first(of_first, 2, 0, clock, random);
  KeyedCarriers second(of_second, 3, 0, clock, random);
  const auto to_unit = [&](KeyedCarriers& from) {
    return *from.add(hub.add_endpoint(), {&of_unit_key, 1}, listening.address());
  };
  const KeyedCarrier from_first = to_unit(first);
  const KeyedCarrier from_second = to_unit(second);
  const std::vector<std::byte> datagram(88);
  const auto run_for = [&](const KeyedCarrier& from, base::Duration time) {
    for (const base::Time end = clock.now() + time; clock.now() < end;) {
      from.underlay->send(from.peers.front(), datagram, datagram.size());
      while (from.underlay->receive()) {
      }
      while (unit_end.receive()) {
      }
      clock.advance(std::chrono::milliseconds(500));
    }
  };
  const auto lines_of = [&](std::uint64_t number) {
    const std::string key = session::base64_of(session::public_key_of(secret_of(number)).bytes);
    const std::size_t count = log.count(key);
    EXPECT_TRUE(count == 0 || log.count("gets no reply: do this") > 0) << log.text();
    return count;
  };
  run_for(from_first, std::chrono::seconds(50));
  EXPECT_EQ(lines_of(2), 1U);
  run_for(from_second, std::chrono::seconds(5));
  EXPECT_EQ(lines_of(3), 1U);
  run_for(from_first, std::chrono::seconds(20));
  EXPECT_EQ(lines_of(2), 2U);
}

// Host and unit know each other and have different pre-shared keys: the unit cannot know it.
TEST(KeyedCarriersTest, S_56_another_pre_shared_key_is_reported_with_what_to_do_once_per_minute) {
  const support::TempFolder folder;
  const support::LogLines log;
  base::ManualClock clock;
  base::SeededRandom random(5);
  fabric::InProcessHub hub;
  const auto options_of = [&](std::uint64_t number) {
    KeyOptions options;
    options.key_file = folder.path(std::to_string(number) + ".key");
    options.psk_file = folder.path(std::to_string(number) + ".psk");
    EXPECT_TRUE(session::write_key_file(options.key_file, secret_of(number)));
    EXPECT_TRUE(session::write_key_file(options.psk_file, secret_of(10 + number)));
    return options;
  };
  const KeyOptions of_unit = options_of(1);
  const KeyOptions of_host = options_of(2);
  const session::PublicKey unit_key = session::public_key_of(secret_of(1));
  const session::PublicKey host_key = session::public_key_of(secret_of(2));
  fabric::InProcessUnderlay& listening = hub.add_endpoint();
  KeyedCarriers unit(of_unit, 1, 0, clock, random);
  fabric::Underlay& unit_end = *unit.add(listening, {&host_key, 1}, std::nullopt)->underlay;
  KeyedCarriers host(of_host, 2, 0, clock, random);
  const auto to_unit = host.add(hub.add_endpoint(), {&unit_key, 1}, listening.address());
  ASSERT_TRUE(to_unit);
  const std::vector<std::byte> datagram(88);
  const auto run_for = [&](base::Duration time) {
    for (const base::Time end = clock.now() + time; clock.now() < end;) {
      to_unit->underlay->send(to_unit->peers.front(), datagram, datagram.size());
      while (unit_end.receive()) {
      }
      while (to_unit->underlay->receive()) {
      }
      clock.advance(std::chrono::milliseconds(500));
    }
  };
  run_for(std::chrono::seconds(50));
  const std::string line = "with the key " + session::base64_of(unit_key.bytes) +
                           " replies, but the reply cannot be read: give both ends the same "
                           "--psk-file, or none";
  EXPECT_EQ(log.count(line), 1U) << log.text();
  run_for(std::chrono::seconds(20));
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
