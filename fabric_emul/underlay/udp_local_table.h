// The addresses of this machine that peers send to. A socket that listens on every address must
// reply from the address that the request came to, else a connected peer, or a firewall, drops the
// reply. Known addresses have an index, which is kept in a PeerAddress; 0: the system chooses. At
// most kEntriesMax; beyond that 0. Any user of the machine can send to each address of 127.0.0.0/8
// and to groups that it joins: at most kLoopbackMax of the former have an index, and none of the
// latter. Thread: the owner's.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace splitnic::fabric {

class UdpLocalTable {
 public:
  static constexpr std::size_t kEntriesMax = 256;
  static constexpr std::size_t kLoopbackMax = 8;  // of these, in 127.0.0.0/8
  static constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(in6_pktinfo));

  // Returns the interface that a received message came in by, from its control messages; 0: this
  // one does not show it.
  static std::uint32_t interface_of(const cmsghdr& header) {
    if (header.cmsg_level == IPPROTO_IP && header.cmsg_type == IP_PKTINFO) {
      in_pktinfo info;
      std::memcpy(&info, CMSG_DATA(&header), sizeof info);
      return static_cast<std::uint32_t>(info.ipi_ifindex);
    }
    if (header.cmsg_level != IPPROTO_IPV6 || header.cmsg_type != IPV6_PKTINFO) return 0;
    in6_pktinfo info;
    std::memcpy(&info, CMSG_DATA(&header), sizeof info);
    return info.ipi6_ifindex;
  }
  // Returns the index of the address that a received message came to, from its control messages.
  std::uint32_t index_of(const cmsghdr& header) {
    if (header.cmsg_level == IPPROTO_IP && header.cmsg_type == IP_PKTINFO) {
      in_pktinfo info;
      std::memcpy(&info, CMSG_DATA(&header), sizeof info);
      in6_pktinfo as_v6{};
      std::memcpy(&as_v6.ipi6_addr, &info.ipi_spec_dst, sizeof info.ipi_spec_dst);
      return find_or_add(as_v6, as_v6.ipi6_addr.s6_addr[0]);
    }
    if (header.cmsg_level != IPPROTO_IPV6 || header.cmsg_type != IPV6_PKTINFO) return 0;
    in6_pktinfo info;
    std::memcpy(&info, CMSG_DATA(&header), sizeof info);
    if (IN6_IS_ADDR_MULTICAST(&info.ipi6_addr)) return 0;
    // Only a link-local address belongs to one interface; for others the routes decide.
    if (!IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr)) info.ipi6_ifindex = 0;
    const bool is_ip4 = IN6_IS_ADDR_V4MAPPED(&info.ipi6_addr);
    return find_or_add(info, is_ip4 ? info.ipi6_addr.s6_addr[12] : kIp6);
  }
  // Writes the control message that sends from this address; returns its bytes (0: none is needed).
  // REQUIRES room for kControlBytes, aligned for a cmsghdr, at `out`.
  std::size_t put(std::uint32_t index, int family, char* out) const {
    if (index == 0 || index > entries_.size()) return 0;
    const in6_pktinfo& info = entries_[index - 1];
    auto* header = reinterpret_cast<cmsghdr*>(out);
    if (family == AF_INET) {
      in_pktinfo v4{};
      std::memcpy(&v4.ipi_spec_dst, &info.ipi6_addr, sizeof v4.ipi_spec_dst);
      *header = {CMSG_LEN(sizeof v4), IPPROTO_IP, IP_PKTINFO};
      std::memcpy(CMSG_DATA(header), &v4, sizeof v4);
      return CMSG_SPACE(sizeof v4);
    }
    *header = {CMSG_LEN(sizeof info), IPPROTO_IPV6, IPV6_PKTINFO};
    std::memcpy(CMSG_DATA(header), &info, sizeof info);
    return CMSG_SPACE(sizeof info);
  }

 private:
  static constexpr std::uint8_t kIp6 = 0;          // begins no IPv4 address of a machine
  static constexpr std::uint8_t kIp4Groups = 224;  // begins the first group; broadcast is behind

  // `first_byte`: of an IPv4 address; kIp6: of another one.
  std::uint32_t find_or_add(const in6_pktinfo& info, std::uint8_t first_byte) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (std::memcmp(&entries_[i], &info, sizeof info) == 0)
        return static_cast<std::uint32_t>(i + 1);
    }
    const bool is_loopback = first_byte == IN_LOOPBACKNET;
    if (entries_.size() == kEntriesMax || first_byte >= kIp4Groups) return 0;
    if (is_loopback && loopback_ == kLoopbackMax) return 0;
    if (is_loopback) ++loopback_;
    entries_.push_back(info);
    return static_cast<std::uint32_t>(entries_.size());
  }

  std::vector<in6_pktinfo> entries_;  // IPv4 sockets: the address in its first four bytes
  std::size_t loopback_ = 0;          // of them, in 127.0.0.0/8
};

}  // namespace splitnic::fabric
