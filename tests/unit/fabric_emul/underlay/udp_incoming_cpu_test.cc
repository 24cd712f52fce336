// The processor on which the last batch came in.
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "fabric_emul/underlay/incoming_cpu.h"
#include "fabric_emul/underlay/udp_underlay.h"
#include "tests/support/one_cpu.h"
#include "tests/support/refuse_call.h"

namespace splitnic::fabric {
namespace {

std::optional<PeerAddress> sender_of_next(UdpUnderlay& underlay) {
  pollfd entry{underlay.fd(), POLLIN, 0};
  if (::poll(&entry, 1, 60'000) != 1) return std::nullopt;
  const auto batch = underlay.receive();
  return batch ? std::optional(batch->from) : std::nullopt;
}

// Without CAP_BPF the kernel does not report it of a socket that any peer may send to.
bool may_load_programs() {
  const base::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM, 0));
  return IncomingCpu::of(socket.get()).has_value();
}

struct OnLoopback {
  std::unique_ptr<UdpUnderlay> listener, client;
};
OnLoopback on_loopback() {
  UdpConfig at;
  at.bind = "127.0.0.1:0";
  auto listener = UdpUnderlay::open(at).value();
  UdpConfig to;
  to.connect = listener->name_of(listener->local_address());
  auto client = UdpUnderlay::open(to).value();
  return {std::move(listener), std::move(client)};
}

// On the loopback a datagram comes in on the processor that sends it.
TEST(UdpIncomingCpuTest, both_sides_know_the_processor_of_the_last_batch) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(all), &all), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &all)) cpus.push_back(cpu);
  }
  std::thread([&] {
    const auto [listener, client] = on_loopback();
    EXPECT_FALSE(client->came_in_on_this_cpu()) << "nothing came in";
    EXPECT_FALSE(listener->came_in_on_this_cpu()) << "nothing came in";
    const support::OneCpu pinned(cpus.front());
    const std::vector<std::byte> hello(100);
    client->send(client->connected_to(), hello, hello.size());
    const auto from = sender_of_next(*listener);
    ASSERT_TRUE(from);
    listener->send(*from, hello, hello.size());
    ASSERT_TRUE(sender_of_next(*client));
    EXPECT_TRUE(client->came_in_on_this_cpu());
    EXPECT_EQ(listener->came_in_on_this_cpu(), may_load_programs());
    if (cpus.size() > 1) {
      const support::OneCpu elsewhere(cpus.back());
      EXPECT_FALSE(client->came_in_on_this_cpu());
      EXPECT_FALSE(listener->came_in_on_this_cpu());
    }
  }).join();
}

TEST(UdpIncomingCpuTest, a_listener_works_where_the_kernel_refuses_the_program) {
  std::thread([] {
    support::refuse_call(SYS_bpf, 0, BPF_MAP_CREATE, support::Next::kHasAnyOf, ~0U);
    const auto [listener, client] = on_loopback();
    const std::vector<std::byte> hello(100);
    client->send(client->connected_to(), hello, hello.size());
    EXPECT_TRUE(sender_of_next(*listener));
    EXPECT_FALSE(listener->came_in_on_this_cpu());
  }).join();
}

}  // namespace
}  // namespace splitnic::fabric
