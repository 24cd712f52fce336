// The send buffer of the socket that a port sends through: frames that a full interface has not
// taken have to wait at their host, where they are subject to fair queueing, not in the socket
// [S001-08].
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lan_bridge/ports/packet_port.h"
#include "tests/support/open_lan_port.h"
#include "tests/unit/lan_bridge/port_harness.h"

namespace splitnic::lan::send_buffer_test {

using frame_builder::Bytes;
using frame_builder::make_frame;
using namespace port_harness;

int send_buffer_of(const FramePort& port) {
  int bytes = 0;
  socklen_t length = sizeof bytes;
  EXPECT_EQ(::getsockopt(port.write_fd(), SOL_SOCKET, SO_SNDBUF, &bytes, &length), 0);
  return bytes;
}

TEST(SendBufferTest, S001_08_it_is_short_while_several_hosts_share_the_port) {
  on_veth([] {
    base::SystemClock clock;
    for (const std::string spec : {"packet:va", "pcap:va", "pcap:va,inject=pcap"}) {
      const auto port = *support::open_lan_port(spec, {}, clock);
      EXPECT_EQ(send_buffer_of(*port), 1 << 20) << spec;
      for (int round = 0; round < 2; ++round) {
        port->share_output(true);
        EXPECT_EQ(send_buffer_of(*port), 256 << 10) << spec << round;
        port->share_output(false);
        EXPECT_EQ(send_buffer_of(*port), 1 << 20) << spec << round;
      }
    }
  });
}

TEST(SendBufferTest, S001_08_a_full_interface_takes_less_while_the_port_is_shared) {
  on_veth([] {
    auto port = *PacketPort::open({.interface = "va"});
    run("tc qdisc add dev va root tbf rate 8kbit burst 2kb limit 10mb");
    const std::vector<Bytes> frames(2000, make_frame({.payload_bytes = 1000}));
    const std::vector<base::Bytes> views(frames.begin(), frames.end());
    const auto fill = [&] {
      std::size_t taken = 0;
      while (const std::size_t more = port->write(std::span(views).subspan(taken))) taken += more;
      return taken;
    };
    port->share_output(true);
    const std::size_t shared = fill();
    EXPECT_GT(shared, 0U);
    EXPECT_LE(shared, 256U);
    port->share_output(false);
    EXPECT_GE(fill(), 2 * shared);
    port->share_output(true);  // fuller than it may be now: nothing more, and nothing is lost
    EXPECT_EQ(fill(), 0U);
    EXPECT_EQ(sum_of(counters_of(*port), "tx.drop."), 0U);
  });
}

// Of this thread, which in_namespace() ends.
void give_up_net_admin() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  ASSERT_EQ(::syscall(SYS_capget, &header, data), 0);
  data[0].effective &= ~(1U << CAP_NET_ADMIN);
  ASSERT_EQ(::syscall(SYS_capset, &header, data), 0);
}

// The unit keeps CAP_NET_ADMIN for such ports.
TEST(SendBufferTest, M_9_a_port_needs_privilege_to_share_beyond_the_limit_of_the_system) {
  on_veth([] {
    constexpr std::size_t kHuge = 1U << 30;
    constexpr std::size_t kTiny = 64U << 10;
    const auto huge = *PacketPort::open({.interface = "va", .send_buffer = {kHuge, kTiny}});
    EXPECT_TRUE(huge->needs_privilege_to_share());
    const auto tiny = *PacketPort::open({.interface = "va", .send_buffer = {2 * kTiny, kTiny}});
    EXPECT_FALSE(tiny->needs_privilege_to_share());
    give_up_net_admin();
    tiny->share_output(true);
    EXPECT_EQ(send_buffer_of(*tiny), static_cast<int>(kTiny));
    tiny->share_output(false);
    EXPECT_EQ(send_buffer_of(*tiny), static_cast<int>(2 * kTiny)) << "as it promised";
  });
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(SendBufferTest, what_the_system_cuts_is_logged_once) {
  on_veth([] {
    give_up_net_admin();
    ::testing::internal::CaptureStderr();
    {
      constexpr std::size_t kHuge = 1U << 30;
      const auto port = *PacketPort::open(
          {.interface = "va", .buffer_bytes = kHuge, .send_buffer = {kHuge, kHuge / 2}});
      port->share_output(true);
      port->share_output(false);
    }
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(count(log, "packet:va: the receive buffer is "), 1U) << log;
    EXPECT_EQ(count(log, "packet:va: the send buffer is "), 1U) << log;
    EXPECT_EQ(count(log, "raise net.core.rmem_max to 536870912"), 1U) << log;
    EXPECT_EQ(count(log, "raise net.core.wmem_max to 536870912"), 1U) << log;
  });
}

TEST(SendBufferTest, nothing_is_logged_of_a_buffer_that_is_as_long_as_asked) {
  on_veth([] {
    ::testing::internal::CaptureStderr();
    const auto port = *PacketPort::open({.interface = "va"});
    port->share_output(true);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  });
}

}  // namespace splitnic::lan::send_buffer_test
