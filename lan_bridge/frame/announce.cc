#include "lan_bridge/frame/announce.h"

#include <algorithm>

#include "base/check.h"
#include "base/endian.h"
#include "lan_bridge/frame/checksum.h"

namespace splitnic::lan {
namespace {

constexpr std::uint16_t kEthertypeArp = 0x0806;
constexpr std::size_t kArpBytes = 28;
constexpr std::size_t kIp6Bytes = 40;
constexpr std::size_t kAdvertBytes = 32;  // with the option that names the MAC
constexpr std::uint8_t kProtocolIcmp6 = 58;
constexpr std::uint32_t kFlagRouter = 0x80000000;
constexpr std::uint32_t kFlagOverride = 0x20000000;  // no solicited flag: it is unsolicited
constexpr MacAddress kBroadcast{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
constexpr MacAddress kAllNodesMac{0x33, 0x33, 0, 0, 0, 1};
constexpr std::array<std::uint8_t, 16> kAllNodes{0xFF, 0x02, 0, 0, 0, 0, 0, 0,
                                                 0,    0,    0, 0, 0, 0, 0, 1};

// Writes field by field.
class Out {
 public:
  explicit Out(base::MutableBytes room) : room_(room) {}
  template <class T>
  void put(T value) {
    base::store_be(room_.data() + used_, value);
    used_ += sizeof(T);
  }
  template <std::size_t N>
  void put_bytes(const std::array<std::uint8_t, N>& bytes, std::size_t count = N) {
    for (std::size_t i = 0; i < count; ++i) room_[used_++] = static_cast<std::byte>(bytes[i]);
  }
  base::MutableBytes written() const { return room_.first(used_); }
  std::size_t used() const { return used_; }

 private:
  base::MutableBytes room_;
  std::size_t used_ = 0;
};

void put_ethernet(Out& out, const MacAddress& to, const MacAddress& from, std::uint16_t type) {
  out.put_bytes(MacAddress{});  // the virtio-net header
  out.put_bytes(MacAddress{});
  out.put_bytes(to);
  out.put_bytes(from);
  out.put(type);
}

void put_arp(Out& out, const MacAddress& mac, const LocalAddress& address) {
  put_ethernet(out, kBroadcast, mac, kEthertypeArp);
  out.put(std::uint16_t{1});  // Ethernet
  out.put(kEthertypeIp4);
  out.put(std::uint8_t{6});
  out.put(std::uint8_t{4});
  out.put(std::uint16_t{1});  // request
  out.put_bytes(mac);
  out.put_bytes(address.bytes, 4);
  out.put_bytes(MacAddress{});
  out.put_bytes(address.bytes, 4);
}

void put_advertisement(Out& out, const MacAddress& mac, const LocalAddress& address) {
  put_ethernet(out, kAllNodesMac, mac, kEthertypeIp6);
  out.put(std::uint32_t{0x60000000});
  out.put(std::uint16_t{kAdvertBytes});
  out.put(kProtocolIcmp6);
  out.put(std::uint8_t{255});  // receivers drop it with any other hop limit
  out.put_bytes(address.bytes);
  out.put_bytes(kAllNodes);
  out.put(std::uint8_t{136});
  out.put(std::uint8_t{0});
  out.put(std::uint16_t{0});  // checksum
  out.put(kFlagOverride | (address.is_router ? kFlagRouter : 0));
  out.put_bytes(address.bytes);
  out.put(std::uint8_t{2});  // option: target link-layer address
  out.put(std::uint8_t{1});  // of 8 bytes
  out.put_bytes(mac);
  // Pseudo-header: both addresses, the length and the protocol.
  const base::MutableBytes advert = out.written().last(kAdvertBytes);
  const base::Bytes addresses = out.written().subspan(out.used() - kAdvertBytes - 32, 32);
  const std::uint16_t sum = sum_bytes(advert, sum_bytes(addresses, kAdvertBytes + kProtocolIcmp6));
  base::store_be(advert.data() + 2, static_cast<std::uint16_t>(~sum));
}

}  // namespace

base::MutableBytes emit_announcement(base::MutableBytes room, const MacAddress& mac,
                                     const LocalAddress& address) {
  static_assert(kAnnounceBytesMax ==
                2 * std::tuple_size_v<MacAddress> + kEthernetBytes + kIp6Bytes + kAdvertBytes);
  static_assert(kArpBytes < kIp6Bytes + kAdvertBytes);
  CHECK(room.size() >= kAnnounceBytesMax);
  Out out(room);
  if (address.is_ip6)
    put_advertisement(out, mac, address);
  else
    put_arp(out, mac, address);
  return out.written();
}

}  // namespace splitnic::lan
