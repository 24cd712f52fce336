// Names by another process.
#include "control/daemon/name_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace splitnic::control {
namespace name_lookup_test {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

NameLookup::Found wait_for(NameLookup& lookup) {
  for (int tries = 0; tries < 2000; ++tries) {
    if (auto found = lookup.take()) return *std::move(found);
    std::this_thread::sleep_for(5ms);
  }
  return base::Error("no result");
}

std::unique_ptr<NameLookup> open(
    const char* text, const std::optional<std::vector<std::string>>& secrets = std::nullopt) {
  return NameLookup::open(parse_endpoint(text).value(), secrets).value();
}

TEST(NameLookupTest, B_07_a_name_is_looked_up_as_often_as_wanted) {
  const auto lookup = open("udp://localhost:7471");
  EXPECT_FALSE(lookup->take());  // not requested
  for (int i = 0; i < 3; ++i) {
    lookup->request();
    lookup->request();  // has begun
    const auto found = wait_for(*lookup);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_LE(found->size(), NameLookup::kAddressesMax);
    for (const Endpoint& each : *found) {
      EXPECT_FALSE(each.is_name());
      EXPECT_EQ(each.port, 7471);
    }
    EXPECT_FALSE(lookup->take());
  }
}

TEST(NameLookupTest, an_address_is_its_own_result) {
  const auto lookup = open("udp://192.0.2.1:7471");
  lookup->request();
  const auto found = lookup->take();
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->front().text(), "udp://192.0.2.1:7471");
}

TEST(NameLookupTest, B_07_a_name_without_an_address_is_an_error_that_may_pass) {
  const auto lookup = open("udp://no-such-name.invalid:7471");
  lookup->request();
  const auto found = wait_for(*lookup);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().errno_value(), EHOSTUNREACH);
  EXPECT_THAT(found.error().text(), HasSubstr("no address found for"));
}

TEST(NameLookupTest, B_07_a_process_that_reports_nonsense_and_ends) {
  const auto process =
      SideProcess::begin("nonsense", std::nullopt, [](SideProcess::Channel channel) {
        channel.send("udp://x");
        channel.receive();
      });
  ASSERT_TRUE(process);
  std::optional<std::string> packet;
  while (!(packet = (*process)->receive())) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(*packet, "udp://x");
  EXPECT_TRUE((*process)->is_alive());
  EXPECT_TRUE((*process)->send("end"));
  while ((*process)->is_alive()) {
    EXPECT_FALSE((*process)->receive());
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_FALSE((*process)->send("more"));
}

// The kernel keeps the resolver from what is secret: without these two it finds no localhost.
TEST(NameLookupTest, M_9_the_resolver_reads_no_file_that_is_secret) {
  const auto reads = open("udp://localhost:7471", std::vector<std::string>{"/etc/splitnic/key"});
  reads->request();
  EXPECT_TRUE(wait_for(*reads));
  const auto reads_not =
      open("udp://localhost:7471", std::vector<std::string>{"/etc/hosts", "/etc/resolv.conf"});
  reads_not->request();
  const auto found = wait_for(*reads_not);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().text(), HasSubstr("no address found for"));
}

}  // namespace name_lookup_test
}  // namespace splitnic::control
