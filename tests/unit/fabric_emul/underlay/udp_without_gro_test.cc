// A kernel without UDP_GRO: it is logged, and everything arrives, datagram by datagram.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/syscall.h>

#include <thread>
#include <vector>

#include "fabric_emul/underlay/udp_underlay.h"
#include "tests/support/refuse_call.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kStride = 1000;
constexpr std::size_t kDatagrams = 5;

std::vector<std::size_t> batches_of(UdpUnderlay& underlay) {
  std::vector<std::size_t> batches;
  pollfd entry{underlay.fd(), POLLIN, 0};
  while (batches.size() < kDatagrams && ::poll(&entry, 1, 60'000) == 1) {
    while (const auto batch = underlay.receive()) batches.push_back(batch->bytes.size());
  }
  return batches;
}

TEST(UdpUnderlayTest, a_kernel_without_gro_is_logged_and_works) {
  std::thread([] {
    splitnic::support::refuse_call(SYS_setsockopt, 1, SOL_UDP, splitnic::support::Next::kIs,
                                   UDP_GRO);
    ::testing::internal::CaptureStderr();
    UdpConfig at;
    at.bind = "127.0.0.1:0";
    const auto listener = UdpUnderlay::open(at);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("no UDP_GRO"));
    ASSERT_TRUE(listener);
    at.reports_limits = false;
    ::testing::internal::CaptureStderr();
    EXPECT_TRUE(UdpUnderlay::open(at));
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "another socket has reported it";
    UdpConfig to;
    to.connect = (*listener)->name_of((*listener)->local_address());
    to.gather = false;  // if requested, it would be logged again
    ::testing::internal::CaptureStderr();
    const auto client = UdpUnderlay::open(to);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    ASSERT_TRUE(client);
    const std::vector<std::byte> batch(kDatagrams * kStride);
    ASSERT_EQ((*client)->send((*client)->connected_to(), batch, kStride),
              Underlay::SendStatus::kSent);
    EXPECT_EQ(batches_of(**listener), std::vector<std::size_t>(kDatagrams, kStride));
  }).join();
}

}  // namespace
}  // namespace splitnic::fabric
