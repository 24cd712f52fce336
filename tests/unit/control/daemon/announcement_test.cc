// Announcements as one process passes them to the other, and hashes of keys.
#include <gtest/gtest.h>

#include "control/daemon/mdns.h"
#include "fabric_emul/session/keys.h"

namespace splitnic::control {
namespace announcement_test {

const std::string kHash = "00112233445566778899aabbccddeeff";

TEST(AnnouncementTest, B_07_a_packet_is_read_as_it_was_written) {
  Announcement unit{"unit-1", 7471, kHash, "192.0.2.1"};
  EXPECT_EQ(unit.packet(), "unit-1\n7471\n" + kHash + "\n192.0.2.1\n");
  const auto read = Announcement::read(unit.packet());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, "unit-1");
  EXPECT_EQ(read->port, 7471);
  EXPECT_EQ(read->key_hash, kHash);
  EXPECT_EQ(read->address, "192.0.2.1");
  for (const std::string address : {"", "::", "0.0.0.0", "2001:db8::1"}) {
    unit.address = address;
    const auto other = Announcement::read(unit.packet());
    ASSERT_TRUE(other) << address;
    EXPECT_EQ(other->address, address);
  }
}

TEST(AnnouncementTest, B_07_what_is_no_announcement_is_refused) {
  for (const std::string& bad :
       {std::string(), std::string("unit"), std::string("unit\n7471\n"), "a b\n7471\n" + kHash,
        "unit\n0\n" + kHash, "unit\n65536\n" + kHash, "unit\nx\n" + kHash,
        "unit\n7471\n" + kHash.substr(1), "unit\n7471\n" + kHash + "0",
        "unit\n7471\n" + std::string(32, 'A')}) {
    EXPECT_FALSE(Announcement::read(bad + "\n\n")) << bad;
  }
  const std::string good = "unit\n7471\n" + kHash + "\n";
  EXPECT_FALSE(Announcement::read(good)) << "no line with an address";
  for (const std::string address : {"unit.example", "192.0.2", "fe80::1%fab0", "[::]", "any"}) {
    EXPECT_FALSE(Announcement::read(good + address + "\n")) << address;
  }
}

TEST(AnnouncementTest, B_07_the_name_of_a_service_is_one_label) {
  for (const std::size_t length : {63U, 64U}) {
    const Announcement unit{std::string(length, 'a'), 7471, kHash, ""};
    const auto read = Announcement::read(unit.packet());
    ASSERT_TRUE(read) << length;
    EXPECT_EQ(read->name, std::string(63, 'a')) << length;
  }
}

// SHA-256 of the bytes 1 to 32: sha256sum.
TEST(AnnouncementTest, B_07_the_hash_of_a_key) {
  const auto key =
      fabric::session::parse_public_key("AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=");
  ASSERT_TRUE(key);
  EXPECT_EQ(key_hash(*key), "ae216c2ef5247a3782c135efa279a3e4");
}

}  // namespace announcement_test
}  // namespace splitnic::control
