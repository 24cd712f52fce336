// A measurement of `splitnic bench` whose active end reaches the passive one by several ports.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>

#include "tests/unit/tools/bench/bench_ends.h"

namespace splitnic::bench::bench_ports_test {
namespace {

using namespace bench_ends;

// Counts what its owner sends.
class CountingUnderlay final : public fabric::UnderlayDecorator {
 public:
  using UnderlayDecorator::UnderlayDecorator;
  std::size_t bytes_sent = 0;

  SendStatus send(const fabric::PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    bytes_sent += bytes.size();
    return below_.send(to, bytes, stride);
  }
  std::optional<Received> receive() override { return below_.receive(); }
  bool may_sleep() override { return false; }
  base::Time deadline() const override { return below_.deadline(); }
};

TEST(BenchPortsTest, S000_46_messages_go_by_all_ports) {
  for (const Op op : {Op::kWrite, Op::kSend}) {
    Listener listener;
    DrivingUnderlay near(listener.hub.add_endpoint());
    near.before_receive = [&] { listener.end.iterate(); };
    CountingUnderlay other(listener.hub.add_endpoint());
    FabricEnd active(near, {.eui64 = kActive, .is_active = true, .spins = true});
    active.add_port(other, listener.endpoint.address());
    const bench::Run run = run_of(fabric::Service::kRc, op, 65536);
    const auto connected =
        active.connect(listener.endpoint.address(), run, std::chrono::seconds(10));
    ASSERT_TRUE(connected.has_value()) << connected.error().text();
    const auto row = measure(active, run);
    ASSERT_TRUE(row.has_value()) << row.error().text();
    EXPECT_GT(row->messages, 0U);
    EXPECT_EQ(listener.end.arrived(), active.posted());
    EXPECT_GT(other.bytes_sent, 65536U) << "by the first port alone it sends INIT and ACKs";
  }
}

}  // namespace
}  // namespace splitnic::bench::bench_ports_test
