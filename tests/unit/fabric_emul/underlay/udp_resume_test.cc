// A batch of which the socket took a part, without UDP_SEGMENT.
#include <gtest/gtest.h>
#include <poll.h>

#include <cstring>
#include <vector>

#include "fabric_emul/underlay/udp_underlay.h"
#include "tests/support/network_namespace.h"

namespace splitnic::fabric::udp_resume_test {

constexpr std::size_t kDatagram = 1400;
constexpr std::size_t kDatagrams = 40;

std::unique_ptr<UdpUnderlay> open(const UdpConfig& config) {
  auto made = UdpUnderlay::open(config);
  EXPECT_TRUE(made);
  return made ? std::move(*made) : nullptr;
}

// Every datagram begins with its number.
void fill(std::vector<std::byte>& batch, std::uint32_t first) {
  for (std::uint32_t i = 0; i < kDatagrams; ++i) {
    const std::uint32_t number = first + i;
    std::memcpy(batch.data() + i * kDatagram, &number, sizeof number);
  }
}

std::vector<std::uint32_t> numbers_at(UdpUnderlay& underlay, std::uint32_t from) {
  std::vector<std::uint32_t> numbers;
  pollfd entry{underlay.fd(), POLLIN, 0};
  while (::poll(&entry, 1, 200) == 1) {
    while (const auto batch = underlay.receive()) {
      for (std::size_t at = 0; at < batch->bytes.size(); at += batch->stride) {
        std::uint32_t number = 0;
        std::memcpy(&number, batch->bytes.data() + at, sizeof number);
        if (number >= from) numbers.push_back(number);
      }
    }
  }
  return numbers;
}

// In a namespace of its thread, where the loopback interface is slow at first.
TEST(UdpResumeTest, L_13_the_batch_after_one_that_was_given_up_leaves_whole) {
  support::in_namespace([] {
    support::run("ip link set lo up");
    support::run("tc qdisc replace dev lo root tbf rate 8kbit burst 2kb limit 100mb");
    UdpConfig config;
    config.bind = "127.0.0.1:0";
    const auto listener = open(config);
    UdpConfig client_config;
    client_config.connect = listener->name_of(listener->local_address());
    client_config.buffer_bytes = 100'000;
    client_config.segment = false;
    const auto client = open(client_config);
    const PeerAddress to = client->connected_to();
    std::vector<std::byte> batch(kDatagrams * kDatagram);
    fill(batch, 0);
    Underlay::SendStatus status = Underlay::SendStatus::kSent;
    for (int i = 0; i < 1000 && status == Underlay::SendStatus::kSent; ++i) {
      status = client->send(to, batch, kDatagram);
    }
    ASSERT_EQ(status, Underlay::SendStatus::kBlocked);
    support::run("tc qdisc del dev lo root");
    // The link ends, and another one begins with a batch of the same length.
    client->forget(batch);
    fill(batch, 1000);
    ASSERT_EQ(client->send(to, batch, kDatagram), Underlay::SendStatus::kSent);
    const auto numbers = numbers_at(*listener, 1000);
    ASSERT_EQ(numbers.size(), kDatagrams);
    EXPECT_EQ(numbers.front(), 1000U);
  });
}

}  // namespace splitnic::fabric::udp_resume_test
