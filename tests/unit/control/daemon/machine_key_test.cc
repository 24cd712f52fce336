// The file that proves one machine: made once, read by all of one user, refused when it is not as
// it must be. In a folder of /dev/shm, because it must be a tmpfs.
#include "control/daemon/machine_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

namespace splitnic::control {
namespace machine_key_test {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

using Words = std::pair<std::uint64_t, std::uint64_t>;

class MachineKeyTest : public ::testing::Test {
 protected:
  MachineKeyTest() {
    std::string form = "/dev/shm/splitnic-test-XXXXXX";
    EXPECT_NE(::mkdtemp(form.data()), nullptr);
    folder_ = form;
    file_ = folder_ + "/splitnic_key." + std::to_string(::geteuid());
  }
  ~MachineKeyTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  base::Result<fabric::SipKey> open(const std::string& boot = "boot 1") {
    return machine_key(folder_, boot, random_);
  }
  Words key(const std::string& boot = "boot 1") {
    const auto opened = open(boot);
    EXPECT_TRUE(opened) << opened.error().text();
    return opened ? Words(opened->k0, opened->k1) : Words();
  }
  void expect_refused(const std::string& part) {
    const auto opened = open();
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().text(), HasSubstr(part));
    EXPECT_THAT(opened.error().text(), HasSubstr(file_));
  }

  std::string folder_, file_;
  base::SeededRandom random_{1};
};

TEST_F(MachineKeyTest, all_programs_of_a_user_have_one_key) {
  const Words first = key();
  EXPECT_EQ(key(), first);
  struct stat found {};
  ASSERT_EQ(::stat(file_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode, static_cast<mode_t>(S_IFREG | 0600));
  EXPECT_EQ(found.st_size, 16);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(MachineKeyTest, another_kernel_or_another_file_is_another_key) {
  const Words here = key();
  EXPECT_NE(key("boot 2"), here);
  fs::remove(file_);
  EXPECT_NE(key(), here);
}

TEST_F(MachineKeyTest, programs_that_start_at_once_have_one_key) {
  for (int round = 0; round < 20; ++round) {
    fs::remove(file_);
    std::array<std::optional<Words>, 4> keys;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      threads.emplace_back([&, i] {
        base::SeededRandom random(i);
        const auto opened = machine_key(folder_, "boot 1", random);
        if (opened) keys[i] = Words(opened->k0, opened->k1);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(keys[0]);
    EXPECT_THAT(keys, ::testing::Each(keys[0]));
  }
}

TEST_F(MachineKeyTest, a_file_that_others_may_know_is_refused) {
  key();
  for (const mode_t mode : {0640U, 0604U, 0620U, 0601U}) {
    ASSERT_EQ(::chmod(file_.c_str(), mode), 0);
    expect_refused("this user alone");
  }
  ASSERT_EQ(::chmod(file_.c_str(), 0600), 0);
  EXPECT_TRUE(open());
  if (::chown(file_.c_str(), 12345, 12345) == 0) expect_refused("this user alone");
}

TEST_F(MachineKeyTest, anything_else_in_its_place_is_refused) {
  const auto made = [this](const std::function<void()>& make) {
    fs::remove(file_);
    make();
  };
  made([this] { std::ofstream(folder_ + "/other") << "0123456789abcdef"; });
  fs::permissions(folder_ + "/other", fs::perms::owner_read | fs::perms::owner_write);
  made([this] { fs::create_symlink(folder_ + "/other", file_); });
  expect_refused("opening");
  made([this] { ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0); });
  expect_refused("this user alone");
  for (const char* text : {"", "0123456789abcde", "0123456789abcdefg"}) {
    made([&] { std::ofstream(file_) << text; });
    fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write);
    expect_refused("16 bytes");
  }
  fs::remove(file_);
  fs::create_directory(file_);
  expect_refused("this user alone");
}

TEST_F(MachineKeyTest, only_a_tmpfs_and_a_known_kernel_will_do) {
  for (const char* folder : {"/proc", "/sys"}) {
    const auto opened = machine_key(folder, "boot 1", random_);
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().text(), HasSubstr("tmpfs"));
  }
  EXPECT_FALSE(machine_key("/nonexistent", "boot 1", random_));
  EXPECT_FALSE(open(""));
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_FALSE(boot_id().empty());
  EXPECT_EQ(boot_id(), boot_id());
}

}  // namespace machine_key_test
}  // namespace splitnic::control
