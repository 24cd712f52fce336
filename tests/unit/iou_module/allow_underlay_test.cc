// --allow: which addresses pass, and the cost of a flood from others.
#include "iou_module/policy/allow_underlay.h"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <array>
#include <cstring>

#include "fabric_emul/link/port.h"
#include "tests/support/log_lines.h"

namespace splitnic::iou::allow_underlay_test {

fabric::PeerAddress address_of(std::uint32_t ip) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(7471);
  in.sin_addr.s_addr = htonl(ip);
  fabric::PeerAddress address;
  std::memcpy(address.bytes.data(), &in, sizeof(in));
  return address;
}

const fabric::PeerAddress kFriend = address_of(0x0A000001);    // 10.0.0.1
const fabric::PeerAddress kStranger = address_of(0xC0000201);  // 192.0.2.1

// An underlay on which a given number of batches waits, each `batches_a_friend`-th from a friend.
class Flood final : public fabric::Underlay {
 public:
  std::size_t waiting = 0;
  std::size_t batches_a_friend = 0;
  std::size_t given = 0;
  std::size_t asked_for_sleep = 0;

  SendStatus send(const fabric::PeerAddress& /*to*/, base::Bytes /*bytes*/,
                  std::size_t /*stride*/) override {
    return SendStatus::kSent;
  }
  std::optional<Received> receive() override {
    if (waiting == 0) return std::nullopt;
    --waiting;
    ++given;
    const bool is_friend = batches_a_friend != 0 && given % batches_a_friend == 0;
    return Received{bytes_, bytes_.size(), is_friend ? kFriend : kStranger};
  }
  std::size_t datagram_bytes_max(const fabric::PeerAddress& /*to*/) const override { return 1472; }
  std::size_t receive_buffer_bytes() const override { return 1 << 20; }
  std::string name_of(const fabric::PeerAddress& /*peer*/) const override { return "flood"; }
  bool may_sleep() override {
    ++asked_for_sleep;
    return waiting == 0;
  }
  int fd() const override { return 77; }
  base::Time deadline() const override { return base::Time{std::chrono::seconds(7)}; }

 private:
  std::array<std::byte, 60> bytes_{};
};

class Nobody final : public fabric::LinkObserver {
  void on_link_up(fabric::Link&) override {}
  void on_link_down(fabric::Link&, std::string_view) override {}
  void on_peer_restarted(fabric::Link&) override {}
};

std::vector<control::Cidr> ten_net() { return {control::parse_cidr("10.0.0.0/8").value()}; }

TEST(AllowUnderlayTest, who_is_not_allowed_is_not_read_and_counted) {
  Flood flood;
  flood.waiting = 6;
  flood.batches_a_friend = 3;
  base::ManualClock clock;
  AllowUnderlay gate(flood, ten_net(), clock);
  for (std::size_t i = 1; i <= 6; ++i) {
    const auto received = gate.receive();
    ASSERT_TRUE(received);
    EXPECT_EQ(received->bytes.size(), i % 3 == 0 ? 60U : 0U);
  }
  EXPECT_FALSE(gate.receive());
  EXPECT_EQ(gate.refused(), 4U);
}

TEST(AllowUnderlayTest, without_a_list_everybody_is_admitted) {
  Flood flood;
  flood.waiting = 2;
  base::ManualClock clock;
  AllowUnderlay gate(flood, {}, clock);
  EXPECT_EQ(gate.receive()->bytes.size(), 60U);
  EXPECT_EQ(gate.receive()->bytes.size(), 60U);
  EXPECT_EQ(gate.refused(), 0U);
}

TEST(AllowUnderlayTest, B_10_an_address_that_is_refused_is_reported_once_per_minute) {
  const support::LogLines log;
  Flood flood;
  flood.waiting = 200;
  base::ManualClock clock;
  AllowUnderlay gate(flood, ten_net(), clock);
  const std::string line = "a host at flood gets no reply: --allow does not name its address\n";
  for (int i = 0; i < 50; ++i) gate.receive();
  EXPECT_EQ(log.text(), line);
  clock.advance(std::chrono::seconds(59));
  gate.receive();
  EXPECT_EQ(log.text(), line);
  clock.advance(std::chrono::seconds(1));
  for (int i = 0; i < 50; ++i) gate.receive();
  EXPECT_EQ(log.text(), line + line);
}

TEST(AllowUnderlayTest, B_04_another_list_holds_from_the_next_batch_on) {
  Flood flood;
  flood.waiting = 4;
  base::ManualClock clock;
  AllowUnderlay gate(flood, ten_net(), clock);
  EXPECT_TRUE(gate.receive()->bytes.empty());
  gate.set_allowed({});
  EXPECT_EQ(gate.receive()->bytes.size(), 60U);
  gate.set_allowed(ten_net());
  EXPECT_TRUE(gate.receive()->bytes.empty());
  EXPECT_EQ(gate.refused(), 2U);
}

TEST(AllowUnderlayTest, the_carrier_itself_reports_whether_and_how_long_its_owner_may_sleep) {
  Flood flood;
  base::ManualClock clock;
  AllowUnderlay gate(flood, ten_net(), clock);
  EXPECT_TRUE(gate.may_sleep());
  flood.waiting = 1;
  EXPECT_FALSE(gate.may_sleep());
  EXPECT_EQ(flood.asked_for_sleep, 2U) << "a peer wakes its owner only then";
  EXPECT_EQ(gate.fd(), 77);
  EXPECT_EQ(gate.deadline(), flood.deadline());
}

TEST(AllowUnderlayTest, a_flood_of_refused_batches_takes_one_iteration_of_many) {
  Flood flood;
  flood.waiting = 1000;
  base::ManualClock clock;
  AllowUnderlay gate(flood, ten_net(), clock);
  base::SeededRandom random(1);
  Nobody nobody;
  fabric::PortConfig config;
  config.instance = 1;
  config.listens = true;
  fabric::Port port(gate, config, random, nobody);
  const auto none = [](fabric::Link&, std::span<const fabric::ReceivedCell>) { FAIL(); };
  EXPECT_TRUE(port.receive(base::Time{}, 8, none));
  EXPECT_EQ(flood.given, 8U);
  EXPECT_EQ(gate.refused(), 8U);
  EXPECT_EQ(port.counters()[fabric::LinkCounter::kRxBatch], 0U);

  // A friend's batch in the middle of the flood is received in order.
  flood.batches_a_friend = 16;
  EXPECT_TRUE(port.receive(base::Time{}, 8, none));
  EXPECT_EQ(flood.given, 16U);
  EXPECT_EQ(port.counters()[fabric::LinkCounter::kRxBatch], 1U);
}

}  // namespace splitnic::iou::allow_underlay_test
