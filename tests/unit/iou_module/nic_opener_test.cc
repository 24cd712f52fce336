// The process that opens NICs after the unit has given up the right to.
#include "iou_module/nic/nic_opener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <thread>
#include <utility>

#include "control/config/values.h"
#include "tests/unit/lan_bridge/port_harness.h"

namespace splitnic::iou::nic_opener_test {

using namespace std::chrono_literals;
using lan::port_harness::in_namespace;
using lan::port_harness::run;
using testing::HasSubstr;

const std::vector<lan::PortSpec> kNics{control::parse_lan_port("packet:va").value(),
                                       control::parse_lan_port("pcap:vb").value(),
                                       control::parse_lan_port("tap:vt").value()};

std::optional<NicOpener::Opened> wait(NicOpener& opener, base::Time& now) {
  std::optional<NicOpener::Opened> opened;
  for (int i = 0; i < 5000 && !(opened = opener.step(now)); ++i) {
    std::this_thread::sleep_for(1ms);
    now += 1ms;
  }
  return opened;
}

unsigned index_of(const base::UniqueFd& socket) {
  sockaddr_ll at{};
  socklen_t bytes = sizeof at;
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &bytes), 0);
  EXPECT_EQ(at.sll_family, AF_PACKET);
  return static_cast<unsigned>(at.sll_ifindex);
}

void plug_in() {
  run("ip link add va type veth peer name vb && ip link set va up && ip link set vb up");
}

TEST(NicOpenerTest, B_05_it_opens_a_socket_for_each_queue) {
  in_namespace([] {
    const auto opener = NicOpener::begin(kNics, {}, 2, false).value();
    base::Time now{};
    EXPECT_EQ(opener->deadline(), base::kNever);
    EXPECT_FALSE(opener->step(now));
    plug_in();
    for (const std::size_t nic : {0U, 1U}) {
      opener->request(nic, 2);
      EXPECT_LE(opener->deadline(), now);
      EXPECT_FALSE(opener->step(now));
      opener->request(nic, 2);  // the unit repeats it until it has the sockets
      const auto opened = wait(*opener, now);
      EXPECT_EQ(opener->deadline(), base::kNever);
      ASSERT_TRUE(opened && opened->sockets);
      EXPECT_EQ(opened->nic, nic);
      ASSERT_EQ(opened->sockets->size(), 2U);
      for (const auto& socket : *opened->sockets) {
        EXPECT_EQ(index_of(socket), ::if_nametoindex(kNics[nic].interface.c_str()));
      }
    }
    EXPECT_FALSE(opener->has_ended());
  });
}

TEST(NicOpenerTest, B_05_what_cannot_be_opened_is_an_error_and_tried_again_a_second_later) {
  in_namespace([] {
    const auto opener = NicOpener::begin(kNics, {}, 2, false).value();
    base::Time now{};
    opener->request(1, 1);
    const base::Time asked = now;
    auto opened = wait(*opener, now);
    ASSERT_TRUE(opened && !opened->sockets);
    EXPECT_THAT(opened->sockets.error().text(), HasSubstr("vb: no such interface"));
    opener->request(1, 1);
    EXPECT_EQ(opener->deadline(), asked + NicOpener::kRetryAfter);
    EXPECT_FALSE(opener->step(now));
    now = opener->deadline();
    plug_in();
    opened = wait(*opener, now);
    EXPECT_TRUE(opened && opened->sockets);
  });
}

// More queues than the unit has, and a TAP.
TEST(NicOpenerTest, a_request_that_no_unit_makes_is_refused) {
  in_namespace([] {
    const auto opener = NicOpener::begin(kNics, {}, 2, false).value();
    base::Time now{};
    plug_in();
    for (const auto& [nic, queues] : {std::pair{0, 3}, {2, 1}}) {
      opener->request(static_cast<std::size_t>(nic), static_cast<std::size_t>(queues));
      const auto opened = wait(*opener, now);
      ASSERT_TRUE(opened && !opened->sockets);
      EXPECT_EQ(opened->sockets.error().text(), "no NIC that it opens, or too many queues");
      EXPECT_FALSE(opener->has_ended());
    }
  });
}

}  // namespace splitnic::iou::nic_opener_test
