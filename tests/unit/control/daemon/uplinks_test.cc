// Uplinks without carriers: which are opened, awaited and moved is recorded. The lookups are of
// addresses, which need no process.
#include "control/daemon/uplinks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/log_lines.h"

namespace splitnic::control {
namespace uplinks_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::optional<Endpoint> at(const char* text) { return parse_endpoint(text).value(); }

class UplinksTest : public ::testing::Test {
 protected:
  Uplinks make(const std::vector<const char*>& peers) {
    std::vector<Uplinks::Peer> all;
    for (const char* peer : peers) all.push_back({*at(peer), std::string("the peer ") + peer});
    return {
        std::move(all),
        {.open = [this](std::size_t peer, const Endpoint& to,
                        bool is_awaited) { return open(peer, to, is_awaited); },
         .move = [this](std::size_t carrier, const Endpoint& to) { return move(carrier, to); }}};
  }
  base::Result<std::size_t> open(std::size_t peer, const Endpoint& to, bool is_awaited) {
    if (refused_.contains(peer)) return base::Error("refused " + std::to_string(peer));
    opened_.push_back(std::to_string(peer) + (is_awaited ? " awaited" : " at " + to.text()));
    return is_shared_ ? 40 : 40 + peer;
  }
  base::Status move(std::size_t carrier, const Endpoint& to) {
    if (!is_movable_) return base::Error("cannot move");
    moved_.push_back(std::to_string(carrier) + " to " + to.text());
    return {};
  }
  static void follow(Uplinks& uplinks, const std::vector<const char*>& found) {
    std::vector<std::unique_ptr<NameLookup>> lookups;
    for (const char* each : found)
      lookups.push_back(NameLookup::open(*at(each), std::nullopt).value());
    uplinks.follow_names(std::move(lookups), base::Time(1h));
  }
  std::size_t step(Uplinks& uplinks, base::Time now = base::Time(1h)) const {
    return uplinks.step([this](std::size_t peer) { return heard_.contains(peer); }, now);
  }

  std::set<std::size_t> refused_, heard_;
  bool is_shared_ = false, is_movable_ = true;
  std::vector<std::string> opened_, moved_;
};

TEST_F(UplinksTest, each_is_opened_once) {
  Uplinks uplinks = make({"udp://10.0.0.1:7471", "shm://lab"});
  refused_ = {1};
  const Uplinks::Endpoints known{at("udp://10.0.0.1:7471"), at("shm://lab")};
  const base::Status refused = uplinks.open(known, true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "refused 1");
  EXPECT_TRUE(uplinks.is_open(0));
  EXPECT_FALSE(uplinks.is_open(1));
  refused_.clear();
  ASSERT_TRUE(uplinks.open(known, true));
  EXPECT_THAT(opened_, ElementsAre("0 at udp://10.0.0.1:7471", "1 at shm://lab"));
  EXPECT_EQ(uplinks.endpoints(), known);
}

TEST_F(UplinksTest, B_06_one_is_enough_where_not_all_are_needed) {
  Uplinks uplinks = make({"udp://unit.example:7471", "udp://10.0.0.2:7471", "shm://lab"});
  refused_ = {2};
  const Uplinks::Endpoints known{std::nullopt, at("udp://10.0.0.2:7471"), at("shm://lab")};
  ASSERT_FALSE(uplinks.open(known, true));
  ASSERT_TRUE(uplinks.open(known, false));
  EXPECT_THAT(opened_, ElementsAre("1 at udp://10.0.0.2:7471", "0 awaited"));
  EXPECT_TRUE(uplinks.is_awaited(0));
  EXPECT_FALSE(uplinks.is_awaited(1));
  EXPECT_FALSE(uplinks.is_open(2)) << "nobody comes to shared memory later";
  support::LogLines log;
  uplinks.warn_of_missing();
  EXPECT_THAT(log.text(), HasSubstr("the peer udp://unit.example:7471 cannot be reached; "
                                    "retrying"));
  EXPECT_THAT(log.text(), HasSubstr("the peer shm://lab cannot be reached: skipped"));
  EXPECT_THAT(log.text(), Not(HasSubstr("10.0.0.2")));
}

TEST_F(UplinksTest, peers_without_any_address_are_an_error) {
  Uplinks uplinks = make({"udp://one.example:7471", "udp://two.example:7471"});
  for (const bool needs_all : {true, false}) {
    const base::Status refused = uplinks.open({std::nullopt, std::nullopt}, needs_all);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text(), HasSubstr("no peer of this queue has an address"));
  }
  EXPECT_THAT(opened_, IsEmpty());
  EXPECT_TRUE(make({}).open({}, true)) << "a unit without switches";
}

TEST_F(UplinksTest, with_none_open_the_first_error_is_returned) {
  Uplinks uplinks = make({"udp://10.0.0.1:7471", "udp://10.0.0.2:7471"});
  refused_ = {0, 1};
  const base::Status refused =
      uplinks.open({at("udp://10.0.0.1:7471"), at("udp://10.0.0.2:7471")}, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "refused 0");
}

TEST_F(UplinksTest, B_06_one_that_is_awaited_leads_where_its_name_does) {
  Uplinks uplinks = make({"udp://unit.example:7471", "udp://10.0.0.2:7471"});
  ASSERT_TRUE(uplinks.open({std::nullopt, at("udp://10.0.0.2:7471")}, false));
  EXPECT_FALSE(uplinks.follows_names());
  follow(uplinks, {"udp://10.0.0.7:7471", "udp://10.0.0.8:7471"});
  EXPECT_TRUE(uplinks.follows_names());
  EXPECT_EQ(step(uplinks), 1U);
  EXPECT_THAT(moved_, ElementsAre("40 to udp://10.0.0.7:7471")) << "the other has no name";
  EXPECT_FALSE(uplinks.is_awaited(0));
  EXPECT_EQ(uplinks.endpoints()[0], at("udp://10.0.0.7:7471"));
  EXPECT_EQ(step(uplinks), 0U);
}

TEST_F(UplinksTest, B_07_one_that_cannot_be_moved_is_tried_again) {
  Uplinks uplinks = make({"udp://unit.example:7471"});
  ASSERT_TRUE(uplinks.open({at("udp://10.0.0.1:7471")}, true));
  follow(uplinks, {"udp://10.0.0.7:7471"});
  heard_ = {0};
  EXPECT_EQ(step(uplinks), 0U) << "it is heard";
  heard_.clear();
  is_movable_ = false;
  base::Time now(1h);
  EXPECT_EQ(step(uplinks, now), 0U);
  EXPECT_EQ(uplinks.endpoints()[0], at("udp://10.0.0.1:7471"));
  is_movable_ = true;
  now = uplinks.deadline();
  ASSERT_NE(now, base::kNever);
  EXPECT_EQ(step(uplinks, now), 1U);
  EXPECT_EQ(uplinks.endpoints()[0], at("udp://10.0.0.7:7471"));
}

// Units behind one port of a switch.
TEST_F(UplinksTest, B_06_peers_that_share_a_carrier_move_together) {
  is_shared_ = true;
  Uplinks uplinks = make({"udp://switch.example:7502", "udp://switch.example:7502"});
  Uplinks follower = make({"udp://switch.example:7502", "udp://switch.example:7502"});
  for (Uplinks* each : {&uplinks, &follower}) {
    ASSERT_TRUE(each->open({at("udp://10.0.0.1:7502"), at("udp://10.0.0.1:7502")}, true));
  }
  follow(uplinks, {"udp://10.0.0.7:7502", "udp://10.0.0.7:7502"});
  EXPECT_EQ(step(uplinks), 1U);
  const Uplinks::Endpoints both(2, at("udp://10.0.0.7:7502"));
  EXPECT_EQ(uplinks.endpoints(), both);
  follower.lead(uplinks.endpoints());
  EXPECT_EQ(follower.endpoints(), both);
  EXPECT_THAT(moved_, ElementsAre("40 to udp://10.0.0.7:7502", "40 to udp://10.0.0.7:7502"));
}

TEST_F(UplinksTest, B_07_a_follower_moves_what_it_has_open) {
  Uplinks follower = make({"udp://one.example:7471", "udp://two.example:7471", "shm://lab"});
  refused_ = {2};
  ASSERT_TRUE(follower.open({at("udp://10.0.0.1:7471"), std::nullopt, at("shm://lab")}, false));
  const Uplinks::Endpoints to{at("udp://10.0.0.1:7471"), at("udp://10.0.0.2:7471"),
                              at("shm://lab")};
  is_movable_ = false;
  support::LogLines log;
  follower.lead(to);
  EXPECT_THAT(log.text(), HasSubstr("cannot move"));
  EXPECT_TRUE(follower.is_awaited(1));
  is_movable_ = true;
  follower.lead(to);
  follower.lead(to);
  EXPECT_THAT(moved_, ElementsAre("41 to udp://10.0.0.2:7471"));
  EXPECT_FALSE(follower.is_awaited(1));
}

}  // namespace uplinks_test
}  // namespace splitnic::control
