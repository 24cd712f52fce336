// Keys as text and in files.
#include "fabric_emul/session/keys.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_folder.h"
#include "tests/unit/fabric_emul/session/session_support.h"

namespace splitnic::fabric::session {
namespace {

constexpr const char* kText = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";

class KeyFileTest : public testing::Test {
 protected:
  std::string write(const std::string& text, mode_t mode = 0600) {
    std::string path = folder_.path("key");
    std::filesystem::remove(path);
    std::ofstream(path) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  static std::string error_of(const std::string& path) {
    const auto read = read_key_file(path);
    return read ? "" : read.error().text();
  }
  support::TempFolder folder_;
};

TEST(KeyTextTest, base64_as_wg_prints_it) {
  EXPECT_EQ(base64_of(counted(1)), kText);
  EXPECT_EQ(bytes_of_base64(kText), counted(1));
  base::SeededRandom random(1);
  for (int i = 0; i < 500; ++i) {
    const Secret key = random_private_key(random);
    EXPECT_EQ(bytes_of_base64(base64_of(key.bytes())), key.bytes());
  }
}

TEST(KeyTextTest, other_text_is_refused) {
  const std::string good = kText;
  for (std::size_t i = 0; i < good.size(); ++i) EXPECT_FALSE(bytes_of_base64(good.substr(0, i)));
  EXPECT_FALSE(bytes_of_base64(good + "="));
  EXPECT_FALSE(bytes_of_base64(" " + good.substr(1)));
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char c : {'-', '_', ' ', '\0', '\n', '\x80'}) {
      std::string changed = good;
      changed[i] = c;
      EXPECT_FALSE(bytes_of_base64(changed)) << i;
    }
  }
  // The last digit has two bits that no byte takes.
  EXPECT_FALSE(bytes_of_base64(good.substr(0, 42) + "B="));
  EXPECT_FALSE(parse_public_key("x"));
}

TEST(KeyTextTest, private_keys_have_the_bits_of_curve25519) {
  base::SeededRandom random(2);
  for (int i = 0; i < 100; ++i) {
    const Secret key = random_private_key(random);
    EXPECT_EQ(key.bytes().front() & std::byte{7}, std::byte{0});
    EXPECT_EQ(key.bytes().back() & std::byte{0xC0}, std::byte{0x40});
  }
}

TEST_F(KeyFileTest, what_is_written_is_read) {
  const std::string path = folder_.path("new");
  ASSERT_TRUE(write_key_file(path, Secret(counted(1))));
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  std::string line;
  std::getline(std::ifstream(path), line);
  EXPECT_EQ(line, kText);
  EXPECT_EQ(read_key_file(path)->bytes(), counted(1));
  // Never overwritten.
  EXPECT_FALSE(write_key_file(path, Secret(counted(2))));
  EXPECT_EQ(read_key_file(path)->bytes(), counted(1));
  EXPECT_FALSE(write_key_file(folder_.path("no/such/folder"), Secret(counted(2))));
}

TEST_F(KeyFileTest, with_and_without_a_line_end) {
  for (const char* end : {"", "\n", "\r\n"}) {
    EXPECT_EQ(read_key_file(write(std::string(kText) + end))->bytes(), counted(1));
  }
}

TEST_F(KeyFileTest, files_open_to_others_are_refused) {
  for (const mode_t bit : {0040U, 0020U, 0010U, 0004U, 0002U, 0001U}) {
    EXPECT_NE(error_of(write(kText, 0600 | bit)).find("group or others"), std::string::npos) << bit;
  }
  EXPECT_EQ(error_of(write(kText, 0400)), "");
}

TEST_F(KeyFileTest, M_9_files_of_other_users_are_refused) {
  const std::string path = write(kText);
  ASSERT_EQ(::chown(path.c_str(), 65534, 0), 0) << "this test is for root";
  EXPECT_NE(error_of(path).find("belongs to another user"), std::string::npos);
  EXPECT_TRUE(read_key_file(path, KeyOwner::kAnyone)) << "root may look at it";
}

TEST_F(KeyFileTest, files_that_are_not_regular_are_refused) {
  const std::string path = write(kText);
  const std::string link = folder_.path("link");
  std::filesystem::create_symlink(path, link);
  EXPECT_NE(error_of(link).find("symbolic link"), std::string::npos);
  EXPECT_FALSE(write_key_file(link, Secret()));
  const std::string fifo = folder_.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_NE(error_of(fifo).find("regular"), std::string::npos);
  EXPECT_NE(error_of(folder_.path()).find("regular"), std::string::npos);
  EXPECT_NE(error_of(folder_.path("missing")).find("No such file"), std::string::npos);
}

TEST_F(KeyFileTest, other_content_is_refused_and_not_shown) {
  const std::string good = kText;
  for (const std::string& text : {std::string(), good.substr(1), good + good, good + "\n\n\n",
                                  good + "\nmore", "key = " + good, std::string(100, 'A')}) {
    const std::string error = error_of(write(text));
    EXPECT_NE(error.find("does not hold one key"), std::string::npos) << text;
    EXPECT_EQ(error.find(good.substr(1, 20)), std::string::npos);
  }
}

}  // namespace
}  // namespace splitnic::fabric::session
