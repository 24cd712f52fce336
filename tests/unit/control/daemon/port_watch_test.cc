// A port that sends through another descriptor than it reads from, by pipes: the loop must wake
// when that one has room, and must not wake because the other has.
#include "control/daemon/port_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "base/unique_fd.h"

namespace splitnic::control::port_watch_test {

using base::IdleStrategy;

// Two ends that do not block.
struct Stream {
  Stream() {
    std::array<int, 2> fds{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()), 0);
    near = base::UniqueFd(fds[0]);
    far = base::UniqueFd(fds[1]);
  }
  void fill() const {
    const std::array<char, 4096> bytes{};
    while (::write(near.get(), bytes.data(), bytes.size()) > 0) {
    }
  }
  void drain() const {
    std::array<char, 4096> bytes{};
    while (::read(far.get(), bytes.data(), bytes.size()) > 0) {
    }
  }
  base::UniqueFd near;
  base::UniqueFd far;
};

class TwoSockets final : public lan::FramePort {
 public:
  lan::ReadBatch read(lan::FrameRing&, std::span<base::Bytes>) override { return {}; }
  std::size_t write(std::span<const base::Bytes>) override { return 0; }
  int fd() const override { return in.near.get(); }
  int write_fd() const override { return has_own_output ? out.near.get() : fd(); }
  int event_fd() const override { return events.near.get(); }
  lan::PortState state() override { return {}; }
  base::Status set_mtu(std::uint32_t) override { return {}; }
  base::Status set_mac(const lan::MacAddress&) override { return {}; }
  base::Status set_promiscuous(bool) override { return {}; }
  base::Status set_carrier(bool) override { return {}; }
  std::uint32_t offloads() const override { return 0; }
  base::Status set_offloads(std::uint32_t) override { return {}; }
  std::string name() const override { return "two"; }
  void visit_counters(const base::CounterVisitor&) const override {}

  Stream in, out, events;
  bool has_own_output = true;
};

// Returns whether the poller slept until `bound`.
bool sleeps(base::Poller& poller, base::Duration bound) {
  const auto began = std::chrono::steady_clock::now();
  poller.wait(base::Time{}, base::Time{} + bound, IdleStrategy::Step::kSleep);
  return std::chrono::steady_clock::now() - began >= bound;
}

constexpr base::Duration kShort = std::chrono::milliseconds(50);
constexpr base::Duration kLong = std::chrono::seconds(10);

TEST(PortWatchTest, room_in_the_socket_that_sends_wakes_the_loop_and_no_other_room) {
  TwoSockets port;
  base::Poller poller;
  PortWatch watch(poller, port);
  watch.want(true, true);
  EXPECT_FALSE(sleeps(poller, kLong));
  port.out.fill();
  EXPECT_TRUE(sleeps(poller, kShort));  // though the socket that reads has room
  port.out.drain();
  EXPECT_FALSE(sleeps(poller, kLong));
  EXPECT_FALSE(watch.is_readable());
  watch.want(true, false);
  EXPECT_TRUE(sleeps(poller, kShort));
}

TEST(PortWatchTest, a_port_with_one_socket_is_watched_there_for_both) {
  TwoSockets port;
  port.has_own_output = false;
  base::Poller poller;
  PortWatch watch(poller, port);
  watch.want(true, true);
  EXPECT_FALSE(sleeps(poller, kLong));
  port.in.fill();
  EXPECT_TRUE(sleeps(poller, kShort));
  port.in.drain();
  EXPECT_FALSE(sleeps(poller, kLong));
  EXPECT_FALSE(watch.is_readable());
}

TEST(PortWatchTest, input_is_of_the_socket_that_reads) {
  TwoSockets port;
  base::Poller poller;
  PortWatch watch(poller, port);
  watch.want(true, false);
  ASSERT_EQ(::write(port.out.far.get(), "x", 1), 1);
  EXPECT_TRUE(sleeps(poller, kShort));
  EXPECT_FALSE(watch.is_readable());
  ASSERT_EQ(::write(port.in.far.get(), "x", 1), 1);
  EXPECT_FALSE(sleeps(poller, kLong));
  EXPECT_TRUE(watch.is_readable());
  EXPECT_FALSE(watch.take_event());
  watch.want(false, false);
  ASSERT_EQ(::write(port.events.far.get(), "x", 1), 1);
  EXPECT_FALSE(sleeps(poller, kLong));
  EXPECT_FALSE(watch.is_readable());
  EXPECT_TRUE(watch.take_event());
}

}  // namespace splitnic::control::port_watch_test
