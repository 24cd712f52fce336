// The bound of a fabric of shared memory, for compare.sh: one process between a TAP and a packet
// socket, two copies a frame, no fabric. Both ends carry the virtio-net header, so super-frames
// cross unsplit. One blocking thread a way.
//   tap_to_packet TAP NAMESPACE INTERFACE     makes TAP where it is started, opens INTERFACE in the
//   named namespace
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

#ifndef TUN_F_USO4
constexpr unsigned TUN_F_USO4 = 0x20;
constexpr unsigned TUN_F_USO6 = 0x40;
#endif
constexpr std::size_t kLongestFrame = 10 + 18 + 65536;

int must(int result, const char* what) {
  if (result < 0) {
    std::perror(what);
    std::exit(1);
  }
  return result;
}

int open_tap(const char* name) {
  const int tap = must(open("/dev/net/tun", O_RDWR | O_CLOEXEC), "/dev/net/tun");
  ifreq request{};
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  must(ioctl(tap, TUNSETIFF, &request), "TUNSETIFF");
  const unsigned offloads = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;
  if (ioctl(tap, TUNSETOFFLOAD, offloads | TUN_F_USO4 | TUN_F_USO6) < 0) {
    must(ioctl(tap, TUNSETOFFLOAD, offloads), "TUNSETOFFLOAD");
  }
  return tap;
}

void set_packet_option(int packet, int option, const void* value, socklen_t length) {
  must(setsockopt(packet, SOL_PACKET, option, value, length), "packet socket option");
}

// protocol 0: a socket that only sends.
int open_packet(const char* interface, int protocol) {
  const int packet = must(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), "packet socket");
  const int on = 1;
  set_packet_option(packet, PACKET_VNET_HDR, &on, sizeof on);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(static_cast<std::uint16_t>(protocol));
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface));
  if (protocol != 0) {
    set_packet_option(packet, PACKET_IGNORE_OUTGOING, &on, sizeof on);
    packet_mreq promiscuous{};
    promiscuous.mr_ifindex = address.sll_ifindex;
    promiscuous.mr_type = PACKET_MR_PROMISC;
    set_packet_option(packet, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous);
    const int bytes = 4 << 20;
    must(setsockopt(packet, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes), "SO_RCVBUFFORCE");
  }
  must(bind(packet, reinterpret_cast<const sockaddr*>(&address), sizeof address), interface);
  return packet;
}

// A frame that the other side refuses is lost, as on a LAN.
void carry(int from, int to) {
  static thread_local std::array<std::byte, kLongestFrame> frame;
  for (;;) {
    const ssize_t bytes = read(from, frame.data(), frame.size());
    if (bytes < 0 && errno != EINTR && errno != ENETDOWN) must(-1, "read");
    if (bytes <= 0) continue;
    const ssize_t sent = write(to, frame.data(), static_cast<std::size_t>(bytes));
    static_cast<void>(sent);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: tap_to_packet TAP NAMESPACE INTERFACE\n", stderr);
    return 2;
  }
  const int tap = open_tap(argv[1]);
  const std::string path = std::string("/run/netns/") + argv[2];
  const int lan_namespace = must(open(path.c_str(), O_RDONLY | O_CLOEXEC), path.c_str());
  must(setns(lan_namespace, CLONE_NEWNET), "setns");
  const int receiving = open_packet(argv[3], ETH_P_ALL);
  const int sending = open_packet(argv[3], 0);
  std::thread to_host(carry, receiving, tap);
  carry(tap, sending);
}
