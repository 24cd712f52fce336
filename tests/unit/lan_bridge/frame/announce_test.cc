// Golden bytes of address announcements: RFC 826, RFC 5227, RFC 4861.
#include "lan_bridge/frame/announce.h"

#include <gtest/gtest.h>

#include <vector>

namespace splitnic::lan {
namespace announce_test {

constexpr MacAddress kMac{0x02, 0, 0, 0, 0, 0x01};

std::vector<unsigned> bytes_of(const LocalAddress& address) {
  std::vector<std::byte> room(kAnnounceBytesMax, std::byte{0xEE});
  std::vector<unsigned> out;
  for (const std::byte byte : emit_announcement(room, kMac, address)) {
    out.push_back(std::to_integer<unsigned>(byte));
  }
  return out;
}

TEST(AnnounceTest, golden_arp_announcement) {
  const LocalAddress address{.bytes = {10, 99, 0, 2}};
  EXPECT_EQ(bytes_of(address),
            (std::vector<unsigned>{
                0,    0,    0,    0,    0,    0,    0,  0,  0, 0, 0, 0,        // virtio-net
                0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2,  0,  0, 0, 0, 1, 8, 6,  // to all
                0,    1,    8,    0,    6,    4,    0,  1,                     // request
                2,    0,    0,    0,    0,    1,    10, 99, 0, 2, 0, 0, 0, 0, 0, 0, 10, 99, 0, 2}));
}

std::vector<unsigned> advertisement(unsigned flags, unsigned checksum) {
  return {0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,  // virtio-net
          0x33,
          0x33,
          0,
          0,
          0,
          1,
          2,
          0,
          0,
          0,
          0,
          1,
          0x86,
          0xDD,  // to all nodes
          0x60,
          0,
          0,
          0,
          0,
          32,
          58,
          255,  // ICMPv6, 255 hops
          0xFE,
          0x80,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0xFF,
          0xFE,
          0,
          0,
          1,  // source
          0xFF,
          2,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          1,  // ff02::1
          136,
          0,
          checksum >> 8,
          checksum & 0xFF,
          flags,
          0,
          0,
          0,  // advertisement
          0xFE,
          0x80,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0,
          0xFF,
          0xFE,
          0,
          0,
          1,  // target
          2,
          1,
          2,
          0,
          0,
          0,
          0,
          1};  // its MAC
}

TEST(AnnounceTest, golden_neighbour_advertisement) {
  LocalAddress address{.is_ip6 = true,
                       .bytes = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFE, 0, 0, 1}};
  EXPECT_EQ(bytes_of(address), advertisement(0x20, 0x599B));
  address.is_router = true;  // else its neighbours would no longer use it as a router
  EXPECT_EQ(bytes_of(address), advertisement(0xA0, 0xD99A));
}

}  // namespace announce_test
}  // namespace splitnic::lan
