// Differences of a configuration file that is read again, and those of them that can change at
// once.
#include "control/daemon/config_reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/support/log_lines.h"

namespace splitnic::control {
namespace config_reload_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct TestOptions {
  struct {
    std::string log_level = "info";
  } common;
  int tap = 0;
};
using Values = std::map<std::string, std::vector<std::string>>;

class ConfigReloadTest : public ::testing::Test {
 protected:
  ConfigReload<TestOptions> reload_{
      {{{{"tap", {"nic0"}}, {"allow", {"a", "b"}}}, "/etc/test.toml"}, [this] { return parse(); }},
      {"allow", "grant"}};
  Values values_{{"tap", {"nic0"}}, {"allow", {"a", "b"}}};
  std::optional<std::string> error_;

  OptionChanges changes() { return reload_.read().value().changes; }

 private:
  ParseOutcome<TestOptions> parse() const {
    if (error_) return Refusal{kExitUsage, *error_ + "\n"};
    ParseOutcome<TestOptions> outcome = TestOptions();
    outcome.given = {values_, "/etc/test.toml"};
    return outcome;
  }
};

TEST_F(ConfigReloadTest, B_04_what_is_the_same_does_not_differ) {
  EXPECT_TRUE(reload_.has_file());
  EXPECT_EQ(reload_.file(), "/etc/test.toml");
  EXPECT_THAT(changes().at_once, IsEmpty());
  EXPECT_THAT(changes().at_start, IsEmpty());
  EXPECT_EQ(text_of(changes()), "nothing has changed");
}

TEST_F(ConfigReloadTest, B_04_what_can_change_and_what_waits_for_a_start_are_named) {
  values_ = {{"tap", {"nic1"}}, {"allow", {"a"}}, {"grant", {"sniff"}}, {"mac", {"nic"}}};
  EXPECT_THAT(changes().at_once, ElementsAre("allow", "grant"));
  EXPECT_THAT(changes().at_start, ElementsAre("mac", "tap"));
  EXPECT_EQ(text_of(changes()),
            "allow and grant have changed; mac and tap differ: start the program again");
  values_ = {{"tap", {"nic0"}}};
  EXPECT_EQ(text_of(changes()), "allow has changed") << "it is no longer given";
}

TEST_F(ConfigReloadTest, B_04_what_waits_for_a_start_is_named_each_time_and_the_rest_once) {
  values_ = {{"tap", {"nic1"}}, {"allow", {"c"}}, {"log-level", {"debug"}}};
  const auto read = reload_.read();
  ASSERT_TRUE(read);
  EXPECT_EQ(text_of(read->changes),
            "allow and log-level have changed; tap differs: start the program again");
  EXPECT_EQ(text_of(changes()), text_of(read->changes)) << "they are not applied yet";
  reload_.take(*read);
  EXPECT_EQ(text_of(changes()), "nothing has changed; tap differs: start the program again");
  values_["tap"] = {"nic0"};
  EXPECT_EQ(text_of(changes()), "nothing has changed");
}

// One that has a limit of the start.
TEST_F(ConfigReloadTest, B_04_what_waits_in_part_has_a_note_until_the_next_start) {
  values_["grant"] = {"more"};
  auto read = reload_.read();
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->changes.are_none());
  reload_.hold(*read, "grant", "grant is at its limit");
  EXPECT_EQ(text_of(read->changes), "nothing has changed; grant is at its limit")
      << "it was not given at the start";
  EXPECT_FALSE(read->changes.are_none());
  reload_.take(*read);
  values_["grant"] = {"less"};
  read = reload_.read();
  EXPECT_EQ(text_of(read->changes), "grant has changed");
  reload_.take(*read);
  values_["grant"] = {"more"};
  values_["tap"] = {"nic1"};
  read = reload_.read();
  reload_.hold(*read, "grant", "grant is at its limit");
  EXPECT_EQ(text_of(read->changes),
            "grant has changed; grant is at its limit; tap differs: start the program again");
  EXPECT_THAT(read->changes.at_once, ElementsAre("grant"));
}

TEST_F(ConfigReloadTest, B_04_an_error_of_the_file_is_one_line) {
  error_ = "test: in the configuration file, line 3, column 1: why";
  const auto read = reload_.read();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().text(), *error_ + "; nothing has changed");
}

TEST(ReloadRepliesTest, B_04_both_are_in_the_log) {
  const support::LogLines log;
  EXPECT_EQ(refuse_reload(ReplyStatus::kFailed, "why"), (Reply{ReplyStatus::kFailed, "why"}));
  EXPECT_EQ(accept_reload("allow has changed"), (Reply{ReplyStatus::kOk, "allow has changed\n"}));
  EXPECT_EQ(accept_reload_but("mac has changed", "it is taken"),
            (Reply{ReplyStatus::kRefused, "mac has changed; it is taken"}));
  EXPECT_THAT(log.text(), HasSubstr("nothing is reloaded: why\nreloaded: allow has changed\n"
                                    "reloaded: mac has changed; it is taken\n"));
}

}  // namespace config_reload_test
}  // namespace splitnic::control
