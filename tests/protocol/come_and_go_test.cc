// Connections and registrations that come and go: in the end the adapters and the process hold what
// they held before. SPLITNIC_LONG=1 takes 10^5 connections and 10^6 registrations.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/adapter_pair.h"
#include "tests/support/process_state.h"

namespace splitnic::fabric::testing::come_and_go_test {

using namespace std::chrono_literals;

std::size_t count_of(std::size_t in_long_form, std::size_t otherwise) {
  const char* const is_long = std::getenv("SPLITNIC_LONG");
  return is_long != nullptr && *is_long == '1' ? in_long_form : otherwise;
}

// Beyond what tables and allocators round up to, and less than a byte for each that came and went.
constexpr std::ptrdiff_t kSlackBytes = 64 << 10;

struct Held {
  explicit Held(AdapterPair& pair) : process(support::process_state()) {
    for (End* end : {&pair.a(), &pair.b()}) {
      queue_pairs += end->adapter->qp_count();
      memories += end->adapter->memory().live_count();
      connections += end->adapter->connections().size();
    }
  }
  std::size_t queue_pairs = 0, memories = 0, connections = 0;
  support::ProcessState process;
};

void expect_same(const Held& after, const Held& before) {
  EXPECT_EQ(after.queue_pairs, before.queue_pairs);
  EXPECT_EQ(after.memories, before.memories);
  EXPECT_EQ(after.connections, before.connections);
  support::expect_same(after.process, before.process, kSlackBytes);
}

class ComeAndGo {
 public:
  // A connection that carries one packet each way and is ended by either end.
  void connect_and_end(std::size_t number) {
    const QpPair qp = pair.connect(QpInit{});
    ASSERT_TRUE(pair.a().post_recv(qp.a, {at_a_.sge()}));
    ASSERT_TRUE(pair.b().post_recv(qp.b, {at_b_.sge()}));
    ASSERT_TRUE(pair.a().post_send(qp.a, {at_a_.sge()}));
    ASSERT_TRUE(pair.b().post_send(qp.b, {at_b_.sge()}));
    ASSERT_TRUE(
        pair.run_until([&] { return !pair.a().received.empty() && !pair.b().received.empty(); }));
    End& ends = number % 2 == 0 ? pair.a() : pair.b();
    ends.adapter->connections().disconnect(ends.last_connection, pair.now());
    for (int i = 0; i < 4; ++i) pair.step();
    pair.a().adapter->destroy_qp(qp.a, pair.now());
    pair.b().adapter->destroy_qp(qp.b, pair.now());
    for (End* end : {&pair.a(), &pair.b()}) {
      end->sent.clear();
      end->received.clear();
    }
  }
  void register_and_end() {
    Mrwt& memory = pair.a().adapter->memory();
    const PdId pd = pair.a().pd;
    const auto region = memory.regions().register_region(pd, bytes_, kLocalRead | kWindowBind);
    ASSERT_TRUE(region);
    const auto window = memory.windows().bind_window(pd, *region, memory.start_of(*region),
                                                     bytes_.size(), kRemoteRead, Qpn{});
    ASSERT_TRUE(window);
    ASSERT_TRUE(memory.windows().unbind(*window));
    ASSERT_TRUE(memory.regions().deregister(*region));
  }
  AdapterPair pair;

 private:
  Memory& at_a_ = pair.a().memory(100, 1);
  Memory& at_b_ = pair.b().memory(100, 2);
  std::vector<std::byte> bytes_ = std::vector<std::byte>(5000);
};

TEST(ComeAndGoTest, R_65_connections_leave_nothing) {
  ComeAndGo world;
  for (std::size_t i = 0; i < 300; ++i) world.connect_and_end(i);
  world.pair.run_for(10s);
  const Held before(world.pair);
  EXPECT_EQ(before.queue_pairs, 0U);
  const std::size_t count = count_of(100'000, 1000);
  for (std::size_t i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) {
    world.connect_and_end(i);
  }
  world.pair.run_for(10s);
  expect_same(Held(world.pair), before);
}

TEST(ComeAndGoTest, R_65_registrations_leave_nothing) {
  ComeAndGo world;
  const std::size_t count = count_of(1'000'000, 50'000);
  for (std::size_t i = 0; i < 1000; ++i) world.register_and_end();
  const Held before(world.pair);
  for (std::size_t i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) {
    world.register_and_end();
  }
  expect_same(Held(world.pair), before);
}

}  // namespace splitnic::fabric::testing::come_and_go_test
