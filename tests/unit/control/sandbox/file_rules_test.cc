// Rules for what there is but for the folders of secrets, as the kernel applies them.
#include "control/sandbox/file_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/support/temp_folder.h"

namespace splitnic::control::sandbox {
namespace file_rules_test {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class FileRulesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* const name : {"resolv.conf", "top.key", "ours/a.key", "ours/deep/b",
                                   "ssl/certificate", "ssl/private/c.key", "ssl/private/d.key"}) {
      fs::create_directories(fs::path(path(name)).parent_path());
      std::ofstream(path(name)) << name;
    }
    fs::create_symlink(path("ours"), path("link"));
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
  // Returns the names that a process with these secrets can read.
  std::vector<std::string> readable(const std::vector<std::string>& secrets,
                                    const std::vector<std::string>& names) const {
    std::vector<std::string> found;
    for (const std::string& name : names) {
      if (can_read(secrets, path(name))) found.push_back(name);
    }
    return found;
  }

 private:
  bool can_read(const std::vector<std::string>& secrets, const std::string& file) const {
    const pid_t forked = ::fork();
    if (forked == 0) {
      const std::vector<std::string> folders{folder_.path()};
      const bool is_restricted =
          ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
          restrict_files(rules_to_read_all_but(folders, secrets)).has_value();
      ::_exit(!is_restricted ? 2 : std::ifstream(file).good() ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(forked, &status, 0), forked);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
  }

  support::TempFolder folder_;
};

TEST_F(FileRulesTest, M_9_the_folder_of_a_secret_is_left_out_with_all_that_is_in_it) {
  EXPECT_THAT(readable({path("ours/a.key")}, {"resolv.conf", "ours/a.key", "ours/deep/b",
                                              "link/a.key", "ssl/certificate"}),
              ElementsAre("resolv.conf", "ssl/certificate"));
}

TEST_F(FileRulesTest, M_9_what_is_next_to_the_folder_of_a_secret_can_be_read) {
  EXPECT_THAT(readable({path("ssl/private/c.key")},
                       {"ours/a.key", "ssl/certificate", "ssl/private/c.key", "ssl/private/d.key"}),
              ElementsAre("ours/a.key", "ssl/certificate"));
}

TEST_F(FileRulesTest, M_9_of_a_secret_in_the_folder_of_the_rule_it_is_the_file_alone) {
  EXPECT_THAT(readable({path("top.key")}, {"resolv.conf", "top.key", "ours/a.key"}),
              ElementsAre("resolv.conf", "ours/a.key"));
}

TEST_F(FileRulesTest, M_9_two_secrets_one_by_a_link) {
  EXPECT_THAT(readable({path("link/a.key"), path("ssl/private/c.key")},
                       {"resolv.conf", "top.key", "ours/a.key", "ssl/private/d.key"}),
              ElementsAre("resolv.conf", "top.key"));
}

TEST_F(FileRulesTest, without_a_secret_there_is_one_rule_for_the_folder) {
  const std::vector<std::string> folders{path("ssl"), path("missing")};
  const std::vector<std::string> secrets{"/elsewhere/key"};
  EXPECT_EQ(rules_to_read_all_but(folders, secrets).size(), 2U);
  EXPECT_THAT(readable({"/elsewhere/key"}, {"ours/a.key", "top.key"}),
              ElementsAre("ours/a.key", "top.key"));
}

}  // namespace file_rules_test
}  // namespace splitnic::control::sandbox
