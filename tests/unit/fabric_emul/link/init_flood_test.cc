// INIT of strangers: what it gets in reply, and what it costs.
#include <gtest/gtest.h>

#include "link_world.h"

namespace splitnic::fabric::init_flood_test {

using namespace link_world;

struct Replies {
  std::size_t datagrams = 0;
  std::size_t bytes = 0;
};
Replies replies_at(InProcessUnderlay& at) {
  Replies all;
  while (const auto batch = at.receive()) {
    const std::size_t stride = std::max<std::size_t>(batch->stride, 1);
    all.datagrams += (batch->bytes.size() + stride - 1) / stride;
    all.bytes += batch->bytes.size();
  }
  return all;
}

TEST(InitFloodTest, M_5_a_datagram_of_many_hellos_gets_one_reply_and_no_longer_one) {
  World w;
  std::vector<std::byte> datagram;
  for (std::uint64_t i = 0; i < 16; ++i) append_init(datagram, hello_of(0x100 + i, 7));
  w.client_at.send(w.listener_at.address(), datagram, datagram.size());
  w.a->receive(w.clock.now());
  const Replies replies = replies_at(w.client_at);
  EXPECT_EQ(replies.datagrams, 1U);
  EXPECT_LE(replies.bytes, datagram.size());
  EXPECT_EQ(w.a->count(LinkCounter::kRxInit), 1U);
  EXPECT_EQ(w.a->count(LinkCounter::kRxDropInit), 1U) << "the rest, as one";
}

TEST(InitFloodTest, M_5_an_init_behind_another_flit_is_dropped) {
  World w;
  std::vector<std::byte> datagram(kFlitHeaderBytes);
  FlitHeader idle;
  idle.type = FlitType::kIdle;
  idle.ctl = kFlitHeaderCrcOnly;
  emit_flit(datagram, idle);
  append_init(datagram, hello_of(0x100, 7));
  w.client_at.send(w.listener_at.address(), datagram, datagram.size());
  w.a->receive(w.clock.now());
  EXPECT_EQ(replies_at(w.client_at).datagrams, 0U);
  EXPECT_EQ(w.a->count(LinkCounter::kRxDropInit), 1U);
}

TEST(InitFloodTest, M_5_replies_have_a_rate_and_links_that_are_up_do_not_suffer) {
  World w({.batch_queue_max = 4096});
  w.connect();
  InProcessUnderlay& stranger = w.hub.add_endpoint();
  for (std::uint64_t i = 0; i < 1000; ++i) {
    send_init(stranger, w.listener_at.address(), hello_of(0x100 + i, 7));
  }
  ASSERT_TRUE(write(w.b->link(), pattern(500, 1)));
  w.b->port.flush(w.clock.now());
  for (int i = 0; i < 100; ++i) w.a->receive(w.clock.now());
  EXPECT_LE(replies_at(stranger).datagrams, 256U);
  EXPECT_GE(w.a->count(LinkCounter::kRxDropInitRate), 1000U - 256U);
  EXPECT_EQ(w.a->cells.size(), 1U);
  // A stranger that repeats its HELLO gets a reply.
  w.clock.advance(100ms);
  send_init(stranger, w.listener_at.address(), hello_of(0x100, 7));
  w.a->receive(w.clock.now());
  EXPECT_EQ(replies_at(stranger).datagrams, 1U);
}

TEST(InitFloodTest, M_5_all_sources_together_have_a_rate) {
  World w({.batch_queue_max = 4096});
  std::vector<InProcessUnderlay*> strangers;
  for (int i = 0; i < 40; ++i) strangers.push_back(&w.hub.add_endpoint());
  for (std::uint64_t i = 0; i < 1000; ++i) {
    send_init(*strangers[i % strangers.size()], w.listener_at.address(), hello_of(0x100 + i, 7));
  }
  for (int i = 0; i < 200; ++i) w.a->receive(w.clock.now());
  std::size_t replies = 0;
  for (InProcessUnderlay* stranger : strangers) replies += replies_at(*stranger).datagrams;
  EXPECT_LE(replies, 256U);
  EXPECT_GT(replies, 200U);
}

// It has a key, and its HELLOs come 20 times as often as the port replies, each time in front of
// those of the other one.
TEST(InitFloodTest, M_5_M_6_one_that_sends_without_pause_leaves_the_others_their_replies) {
  World w({.batch_queue_max = 4096});
  InProcessUnderlay& hostile = w.hub.add_endpoint();
  // The port is served first: so HELLOs of the hostile one are in front of what the other sends
  // next.
  const auto flood = [&] {
    for (int i = 0; i < 400; ++i) w.a->receive(w.clock.now());
    replies_at(hostile);
    w.clock.advance(1ms);
    for (std::uint64_t i = 0; i < 200; ++i) {
      send_init(hostile, w.listener_at.address(), hello_of(0x100 + i, 7));
    }
  };
  for (int i = 0; i < 500; ++i) flood();
  w.b->port.connect(w.listener_at.address(), w.clock.now());
  for (int i = 0; i < 5; ++i) {
    flood();
    w.b->receive(w.clock.now());
    w.b->port.flush(w.clock.now());
  }
  ASSERT_NE(w.b->watch.link, nullptr);
  EXPECT_TRUE(w.b->link().up()) << "at its first attempt";
}

// Counts how often a port asks what the path carries.
class CountingUnderlay final : public UnderlayDecorator {
 public:
  using UnderlayDecorator::UnderlayDecorator;
  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    return below_.send(to, bytes, stride);
  }
  std::optional<Received> receive() override { return below_.receive(); }
  std::size_t datagram_bytes_max(const PeerAddress& to) const override {
    ++asked;
    return below_.datagram_bytes_max(to);
  }
  base::Time deadline() const override { return below_.deadline(); }
  mutable int asked = 0;
};

TEST(InitFloodTest, M_5_a_peer_that_repeats_hello_costs_few_system_calls) {
  InProcessHub hub;
  base::ManualClock clock;
  InProcessUnderlay& listener_at = hub.add_endpoint();
  InProcessUnderlay& client_at = hub.add_endpoint();
  CountingUnderlay counting(listener_at);
  End listener(counting, config_of(0xA, 100, true));
  End client(client_at, config_of(0xB, 200));
  client.port.connect(listener_at.address(), clock.now());
  for (int i = 0; i < 4; ++i) {
    listener.receive(clock.now());
    client.receive(clock.now());
  }
  ASSERT_TRUE(listener.link().up());
  counting.asked = 0;
  for (int i = 0; i < 100; ++i) {
    send_init(client_at, listener_at.address(), hello_of(0xB, 200));
    listener.receive(clock.now());
    replies_at(client_at);
    clock.advance(5ms);
  }
  EXPECT_EQ(listener.count(LinkCounter::kTxInit), 102U);
  EXPECT_LE(counting.asked, 2);
}

}  // namespace splitnic::fabric::init_flood_test
