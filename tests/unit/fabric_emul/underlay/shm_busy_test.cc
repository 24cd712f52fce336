// A client whose ring always holds data: connections and ends of others are noticed all the same.
#include <array>

#include "shm_world.h"

namespace splitnic::fabric::shm_busy_test {

using namespace shm_world;

class ShmBusyTest : public ShmTest {
 protected:
  // The ring towards the listener holds nothing but shortest records.
  static void fill(Liar& liar) {
    constexpr std::array<std::uint32_t, 2> kRecord{10, 10};  // length and stride
    const base::MutableBytes ring = liar.segment->bytes(1);
    for (std::size_t at = 0; at < ring.size(); at += kShmStep) {
      std::memcpy(ring.data() + at, kRecord.data(), sizeof kRecord);
    }
    refill(liar);
  }
  // All of its bytes are published once more, whatever was taken.
  static void refill(Liar& liar) {
    ShmRingControl& control = liar.segment->control(1);
    control.head.store(control.tail.load() + static_cast<std::uint32_t>(kRingBytes));
  }
  // Many times as often as the listener looks for connections and ends.
  static void receive_with(ShmUnderlay& listener, Liar& liar) {
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(listener.receive()) << i;
      refill(liar);
    }
  }
};

TEST_F(ShmBusyTest, M_22_a_ring_that_is_never_empty_stops_neither_connections_nor_ends) {
  const std::uint32_t own = ::geteuid();
  auto listener = open(true, 4, std::vector{own});
  Liar liar = Liar::connect(path(), *listener);
  fill(liar);
  auto other = open(false);
  receive_with(*listener, liar);
  EXPECT_EQ(listener->clients(), 2U);
  EXPECT_EQ(listener->count(ShmCounter::kClients), 2U);
  other.reset();
  receive_with(*listener, liar);
  EXPECT_EQ(listener->clients(), 1U);
  EXPECT_EQ(listener->count(ShmCounter::kClientsGone), 1U);
  liar.socket.reset();
  for (std::size_t i = 0; i < 2 * kRingBytes / kShmStep; ++i) {
    listener->receive();
    refill(liar);
  }
  EXPECT_EQ(listener->clients(), 0U) << "it has ended, and refills its ring";
}

TEST_F(ShmBusyTest, M_22_full_rings_of_clients_that_have_ended_take_no_places) {
  auto listener = open(true, 2);
  std::array<Liar, 2> ended{Liar::connect(path(), *listener), Liar::connect(path(), *listener)};
  for (Liar& liar : ended) {
    fill(liar);
    liar.socket.reset();
  }
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(listener->receive()) << i;
  EXPECT_EQ(listener->clients(), 2U) << "most of what they left is still there";
  auto next = open(false);
  for (int i = 0; i < 300; ++i) listener->receive();
  EXPECT_EQ(listener->clients(), 1U);
  EXPECT_EQ(listener->count(ShmCounter::kRefusedFull), 0U);
  EXPECT_FALSE(look(*next));
  learn(*listener, *next);
}

}  // namespace splitnic::fabric::shm_busy_test
