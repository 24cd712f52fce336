// The checks of `splitnic doctor` of the machine and of the way to a unit.
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>

#include "base/ip6.h"
#include "base/unique_fd.h"
#include "control/config/values.h"
#include "fabric_emul/underlay/udp_address.h"
#include "fabric_emul/underlay/udp_underlay.h"
#include "tools/doctor.h"

namespace splitnic::tools {
namespace {

// An address of the own network that nobody has is known after three ARP requests of a second each.
constexpr int kRefusalWithinMs = 3500;

Finding good(const char* subject, std::string text) { return {subject, true, std::move(text)}; }
Finding wrong(const char* subject, std::string text) { return {subject, false, std::move(text)}; }

Finding examine_tun() {
  const base::UniqueFd tun(::open("/dev/net/tun", O_RDWR | O_CLOEXEC));
  if (tun.valid()) return good("tun", "/dev/net/tun opens");
  const int error = errno;
  return wrong("tun", std::string("/dev/net/tun: ") + std::strerror(error) +
                          (error == EACCES || error == EPERM
                               ? ": a host needs it; run as root, or give this user the right"
                               : ": a host needs it; load the module: modprobe tun"));
}

Finding examine_capabilities() {
  std::uint64_t effective = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("CapEff:")) effective = std::stoull(line.substr(7), nullptr, 16);
  }
  std::string missing;
  const auto look_for = [&](int number, const char* name) {
    if ((effective >> number & 1U) == 0)
      missing += (missing.empty() ? "" : " and ") + std::string(name);
  };
  look_for(CAP_NET_ADMIN, "CAP_NET_ADMIN");
  look_for(CAP_NET_RAW, "CAP_NET_RAW");
  if (missing.empty()) return good("capabilities", "CAP_NET_ADMIN and CAP_NET_RAW are there");
  return wrong("capabilities", missing + " missing: run as root; the packaged services have them");
}

Finding examine_buffers() {
  fabric::UdpConfig config;
  config.bind = "127.0.0.1:0";
  config.reports_limits = false;
  const auto socket = fabric::UdpUnderlay::open(config);
  if (!socket) return wrong("buffers", socket.error().text() + ": ip link set lo up");
  const std::size_t bytes = (*socket)->receive_buffer_bytes();
  const std::string size = "a UDP socket gets " + std::to_string(bytes >> 10) + " KiB";
  if (bytes >= fabric::kUdpBufferBytesMin) return good("buffers", size);
  return wrong("buffers", size + ", too few at speed: sysctl -w net.core.rmem_max=" +
                              std::to_string(fabric::kUdpBufferBytesMin));
}

// Without them the programs work, at a fraction of the speed.
Finding examine_offloads() {
  const base::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  std::string missing;
  const auto look_for = [&](int option, int value, const char* name) {
    if (::setsockopt(socket.get(), SOL_UDP, option, &value, sizeof(value)) != 0)
      missing += (missing.empty() ? "" : " and ") + std::string(name);
  };
  look_for(UDP_SEGMENT, 1400, "UDP_SEGMENT");
  look_for(UDP_GRO, 1, "UDP_GRO");
  if (missing.empty()) return good("offloads", "the kernel has UDP_SEGMENT and UDP_GRO");
  return wrong("offloads", "the kernel has no " + missing +
                               ", which costs most of the speed: Linux 5.0 or later has both");
}

// Sessions begin with the time of day, and a unit admits no key whose time has gone back.
Finding examine_clock() {
  struct stat program {};
  if (::stat("/proc/self/exe", &program) != 0) return wrong("clock", "/proc is missing: mount it");
  if (program.st_mtime <= std::time(nullptr)) return good("clock", "not before this program");
  return wrong("clock", "the clock is before the day of this program: set it, or run NTP");
}

std::string reason_of(int error) {
  switch (error) {
    case ECONNREFUSED:
      return "nothing listens there: start splitnic-iou, or correct address and port";
    case EPERM:
    case EACCES:
      return "the firewall of this machine lets no datagram out: permit this UDP port";
    case ENETUNREACH:
      return "no route: configure one (ip route), or bring its interface up";
    case EHOSTUNREACH:
      return "the address does not respond: is that machine up, and on this network?";
    default:
      return std::strerror(error);
  }
}

// Returns the error that one datagram gets in that time, or 0.
int error_of_datagram(const fabric::UdpAddress& to) {
  const base::UniqueFd socket(::socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  // Without it the kernel keeps an address that does not respond to itself.
  const int on = 1;
  if (to.family() == AF_INET) {
    ::setsockopt(socket.get(), IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
  } else {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
  }
  if (!socket.valid() || ::connect(socket.get(), to.get(), to.bytes()) != 0) return errno;
  const char nothing[1] = {};  // no flit: a unit drops it
  if (::send(socket.get(), nothing, sizeof(nothing), 0) < 0) return errno;
  pollfd events{socket.get(), POLLIN, 0};
  if (::poll(&events, 1, kRefusalWithinMs) <= 0) return 0;
  int error = 0;
  socklen_t bytes = sizeof(error);
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

}  // namespace

std::vector<Finding> examine_machine() {
  return {examine_tun(), examine_capabilities(), examine_buffers(), examine_offloads(),
          examine_clock()};
}

std::vector<Finding> examine_unit(const std::string& endpoint) {
  std::vector<Finding> out;
  const auto parsed = control::parse_endpoint(endpoint);
  if (!parsed) return {wrong("name", parsed.error().text())};
  const auto found = fabric::UdpUnderlay::resolve(parsed->udp_text());
  if (!found) return {wrong("name", found.error().text() + ": correct it, or the resolver")};
  const fabric::UdpAddress to(*found);
  if (parsed->is_name()) out.push_back(good("name", parsed->host + " is " + to.text()));
  fabric::UdpConfig config;
  config.connect = to.text();
  config.reports_limits = false;
  const auto path = fabric::UdpUnderlay::open(config);
  if (!path) {
    out.push_back(wrong("route", to.text() + ": " + reason_of(path.error().errno_value())));
    return out;
  }
  out.push_back(good("route", "from " + (*path)->name_of((*path)->local_address())));
  const std::size_t bytes = (*path)->datagram_bytes_max(*found);
  const std::string size = "datagrams of " + std::to_string(bytes) + " bytes";
  out.push_back(bytes >= base::kIp6DatagramBytesMin
                    ? good("mtu", size)
                    : wrong("mtu", size + " only: raise the MTU of the interface or route"));
  const int error = error_of_datagram(to);
  const char* const silence =
      "no refusal, and no reply either: right for a unit with keys, but also what a firewall does";
  out.push_back(error == 0 ? good("reply", silence + permit_ports(to.text()))
                           : wrong("reply", to.text() + ": " + reason_of(error)));
  return out;
}

}  // namespace splitnic::tools
