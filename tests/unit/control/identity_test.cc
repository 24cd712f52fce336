#include "control/identity.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "base/endian.h"
#include "tests/support/temp_folder.h"

namespace splitnic::control {
namespace identity_test {

using Id = std::array<std::uint8_t, 16>;

// Expected values: from `openssl mac -digest SHA256 -macopt hexkey:KEY HMAC` over the application
// identifier, with the bits of a UUID of version 4.
TEST(IdentityTest, B_21_the_machine_is_known_by_a_keyed_hash) {
  EXPECT_EQ(machine_app_id("0123456789abcdef0123456789abcdef"),
            (Id{0x7c, 0x99, 0x65, 0xd5, 0x70, 0x79, 0x40, 0x81, 0xb7, 0x40, 0x15, 0x57, 0x17, 0x38,
                0x77, 0x31}));
  EXPECT_EQ(machine_app_id("lab"), (Id{0xf2, 0x37, 0xea, 0xed, 0x71, 0x90, 0x48, 0x4d, 0xaa, 0x90,
                                       0x1c, 0x3b, 0x53, 0x5e, 0xff, 0x95}))
      << "no /etc/machine-id: the host name is the key";
}

// Without a state folder that can be used, what goes on the wire follows from that hash, and not
// from the identifier.
TEST(IdentityTest, B_21_eui64_and_mac_follow_from_the_keyed_hash) {
  ASSERT_EQ(::setenv("STATE_DIRECTORY", "/nonexistent", 1), 0);
  std::string machine;
  std::ifstream("/etc/machine-id") >> machine;
  const Id key = machine_app_id(machine.empty() ? machine_name() : machine);
  const auto hash_of = [&](const std::string& subject) {
    std::array<std::uint8_t, 32> digest{};
    EXPECT_NE(::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                     reinterpret_cast<const std::uint8_t*>(subject.data()), subject.size(),
                     digest.data(), nullptr),
              nullptr);
    return base::load_be<std::uint64_t>(reinterpret_cast<const std::byte*>(digest.data()));
  };
  EXPECT_EQ(node_eui64("n", "host"), hash_of("eui64/host/n") | 1);
  const std::uint64_t hash = hash_of("mac/n");
  const lan::MacAddress mac = stable_mac("n");
  for (std::size_t i = 1; i < mac.size(); ++i) {
    EXPECT_EQ(mac[i], static_cast<std::uint8_t>(hash >> (8 * i))) << i;
  }
  ASSERT_EQ(::unsetenv("STATE_DIRECTORY"), 0);
}

TEST(IdentityTest, another_machine_is_another_node) {
  EXPECT_NE(machine_app_id("0123456789abcdef0123456789abcdef"),
            machine_app_id("0123456789abcdef0123456789abcdee"));
  EXPECT_NE(machine_app_id("0123456789abcdef0123456789abcdeg"),
            machine_app_id("0123456789abcdef0123456789abcde0"))
      << "not hex: the text itself";
}

TEST(IdentityTest, name_and_role_make_a_stable_eui64) {
  EXPECT_EQ(node_eui64("n", "host"), node_eui64("n", "host"));
  EXPECT_NE(node_eui64("n", "host"), node_eui64("m", "host"));
  EXPECT_NE(node_eui64("n", "host"), node_eui64("n", "iou/1"));
  EXPECT_EQ(node_eui64("n", "host") & 1, 1U) << "never 0";
}

TEST(IdentityTest, the_stable_mac_is_local_and_of_one_nic) {
  const lan::MacAddress mac = stable_mac("n");
  EXPECT_EQ(mac, stable_mac("n"));
  EXPECT_NE(mac, stable_mac("m"));
  EXPECT_EQ(mac[0], 0x02);
}

// Two copies of a machine have one /etc/machine-id, and a state folder each.
TEST(IdentityTest, B_02_a_random_identity_is_kept_in_the_state_folder) {
  const support::TempFolder a;
  const support::TempFolder b;
  const auto eui64_in = [](const std::string& folder) {
    EXPECT_EQ(::setenv("STATE_DIRECTORY", (folder + ":/elsewhere").c_str(), 1), 0);
    const std::uint64_t eui64 = node_eui64("n", "host");
    EXPECT_EQ(::unsetenv("STATE_DIRECTORY"), 0);
    return eui64;
  };
  const std::uint64_t first = eui64_in(a.path());
  EXPECT_EQ(eui64_in(a.path()), first) << "the next start";
  EXPECT_NE(eui64_in(b.path()), first);
  EXPECT_NE(node_eui64("n", "host"), first);
  // A file that others can read may be known to them, or be a copy: the machine's own identifier.
  ASSERT_EQ(::chmod(a.path(kIdentityFile).c_str(), 0644), 0);
  EXPECT_EQ(eui64_in(a.path()), node_eui64("n", "host"));
  EXPECT_EQ(eui64_in("/nonexistent"), node_eui64("n", "host"));
}

}  // namespace identity_test
}  // namespace splitnic::control
