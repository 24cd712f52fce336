// The checks of a command line with commands that are the same for all of their options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "control/config/cli_app.h"

namespace splitnic::control {
namespace command_line_test {

using ::testing::HasSubstr;

// `show [NODE] [--json] [--out FILE]`, and `topology [--json]` below it.
struct Commands {
  Commands() {
    CLI::App* const show = app->add_subcommand("show", "");
    show->add_option("node", node, "");
    show->add_flag("-j,--json", is_json, "");
    show->add_option("--out", file, "");
    show->add_subcommand("topology", "")->add_flag("-j,--json", is_topology_json, "");
  }
  // Returns the error of check_commands(); "": there is none.
  std::string error_of(std::vector<const char*> words) {
    words.insert(words.begin(), "test");
    const auto refusal = run_parser(*app, static_cast<int>(words.size()), words.data());
    EXPECT_FALSE(refusal.has_value());
    const auto checked = check_commands(*app);
    return checked ? std::string() : checked.error().text();
  }

  std::unique_ptr<CLI::App> app = make_app("test", "");
  std::string node, file;
  bool is_json = false, is_topology_json = false;
};

TEST(CommandLineTest, options_behind_the_last_command_are_good) {
  EXPECT_EQ(Commands().error_of({"show"}), "");
  EXPECT_EQ(Commands().error_of({"show", "sw2", "--json", "--out", "x"}), "");
  EXPECT_EQ(Commands().error_of({"show", "topology", "-j"}), "");
}

TEST(CommandLineTest, an_option_in_front_of_a_command_is_refused) {
  EXPECT_EQ(Commands().error_of({"show", "--json", "topology"}),
            "show: --json is in front of topology: put it behind");
  EXPECT_EQ(Commands().error_of({"show", "-j", "topology", "-j"}),
            "show: --json is in front of topology: put it behind");
  EXPECT_EQ(Commands().error_of({"show", "sw2", "topology"}),
            "show: node is in front of topology: put it behind");
}

// As that of a variable of a shell that is not set.
TEST(CommandLineTest, an_option_with_an_empty_value_is_refused) {
  EXPECT_THAT(Commands().error_of({"show", "--out", ""}), HasSubstr("--out: the value is empty"));
  EXPECT_EQ(Commands().error_of({"show", ""}), "") << "no option: the command decides";
}

}  // namespace command_line_test
}  // namespace splitnic::control
