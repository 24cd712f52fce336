// Secrets are overwritten and, in a program, in locked memory.
#include "fabric_emul/session/secret.h"

#include <gtest/gtest.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <vector>

#include "fabric_emul/session/crypto.h"
#include "tests/unit/fabric_emul/session/session_support.h"

namespace splitnic::fabric::session {
namespace {

// Returns the flags of the mapping with this byte: smaps of proc(5).
std::string flags_at(const void* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  std::ifstream maps("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t first = 0;
    std::uintptr_t end = 0;
    const char* const stop = line.data() + line.size();
    const auto [dash, error] = std::from_chars(line.data(), stop, first, 16);
    if (error == std::errc() && dash != stop && *dash == '-') {
      std::from_chars(dash + 1, stop, end, 16);
      is_here = first <= address && address < end;
    } else if (is_here && line.starts_with("VmFlags:")) {
      return line + " ";
    }
  }
  return "";
}

bool has_flag(const Secret& secret, const std::string& flag) {
  return flags_at(secret.bytes().data()).find(" " + flag + " ") != std::string::npos;
}

TEST(SecretTest, a_moved_one_leaves_zeros) {
  Secret first(counted(1));
  Secret second(std::move(first));
  EXPECT_EQ(second.bytes(), counted(1));
  EXPECT_EQ(first.bytes(), Bytes32{});
  first = std::move(second);
  EXPECT_EQ(first.bytes(), counted(1));
  EXPECT_EQ(second.bytes(), Bytes32{});
  second = first;
  EXPECT_EQ(second.bytes(), counted(1));
  EXPECT_EQ(first.bytes(), counted(1));
}

TEST(SecretTest, L_14_secrets_are_locked_and_in_no_core_file) {
  const Secret before(counted(1));
  const auto locked = lock_secrets();
  ASSERT_TRUE(locked) << locked.error().text();
  EXPECT_TRUE(lock_secrets());
  const Secret after(counted(2));
  EXPECT_TRUE(has_flag(after, "dd"));
#ifndef __SANITIZE_ADDRESS__  // its mlock() does nothing
  EXPECT_TRUE(has_flag(after, "lo"));
#endif
  EXPECT_FALSE(has_flag(before, "dd"));
  EXPECT_EQ(before.bytes(), counted(1));
  // More than there is room for: these work, and libcrypto still has room for its keys.
  const std::vector<Secret> many(10'000, after);
  EXPECT_EQ(many.front().bytes(), counted(2));
  EXPECT_EQ(many.back().bytes(), counted(2));
  EXPECT_TRUE(has_flag(many.front(), "dd"));
  EXPECT_FALSE(has_flag(many.back(), "dd"));
  EXPECT_NE(public_key_of(many.back()).bytes, Bytes32{});
}

}  // namespace
}  // namespace splitnic::fabric::session
