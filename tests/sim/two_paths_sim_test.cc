// A host with two paths to one I/O unit, as by two switches, each of which ends at a port of the
// unit. It uses the first, and never goes back.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string_view>

#include "base/check.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "host_module/host.h"
#include "iou_module/iou.h"
#include "tests/sim/fake_port.h"
#include "tests/sim/ledger.h"
#include "tests/support/counter_sum.h"
#include "tests/support/fault_underlay.h"

namespace splitnic::sim {
namespace two_paths_sim_test {

using namespace std::chrono_literals;

constexpr lan::MacAddress kHost{0x02, 0, 0, 0, 0, 0x0A};
constexpr lan::MacAddress kLan{0x02, 0, 0, 0, 0, 0x0B};
constexpr lan::MacAddress kPeer{0x02, 0, 0, 0, 0, 0x0C};

class TwoPathsSim : public ::testing::Test {
 protected:
  explicit TwoPathsSim(std::array<std::uint64_t, 2> instances = {7, 7}) {
    lan.on_write = [this](base::Bytes frame) { to_lan.take(frame); };
    tap.on_write = [this](base::Bytes frame) { to_host.take(frame); };
    std::array<fabric::Port*, 2> host_ports{};
    for (std::size_t i = 0; i < 2; ++i) {
      unit_ends[i] = &hub.add_endpoint();
      paths[i] = std::make_unique<fabric::FaultUnderlay>(hub.add_endpoint(), random, clock);
      fabric::PortConfig of_unit;
      of_unit.eui64 = fabric::Eui64(0x10 + i);
      of_unit.instance = instances[i];
      of_unit.listens = true;
      CHECK(iou_adapter.add_port(*unit_ends[i], of_unit).has_value());
      fabric::PortConfig of_host;
      of_host.eui64 = fabric::Eui64(0x20);
      of_host.instance = 5;
      host_ports[i] = host_adapter.add_port(*paths[i], of_host).value();
    }
    iou::IouConfig unit;
    unit.host.pair.node_name = "iou";
    iou = std::make_unique<iou::Iou>(unit, iou_adapter, lan, random);
    host::HostConfig settings;
    settings.pair.node_name = "host";
    settings.units = 2;
    host = std::make_unique<host::Host>(settings, host_adapter, tap, random);
    for (std::size_t i = 0; i < 2; ++i) {
      host->add_unit(i, *host_ports[i], unit_ends[i]->address(), clock.now());
    }
  }
  ~TwoPathsSim() override {
    host->stop(clock.now());
    iou->stop(clock.now());
  }
  static fabric::AdapterLimits limits() { return {.profile = fabric::MrwtProfile::kStrictWindows}; }

  // A millisecond. With traffic each side has a frame for the other every 5 ms.
  void iterate() {
    if (has_traffic && ++milliseconds % 5 == 0) {
      tap.queue(to_lan.make(200));
      lan.queue(to_host.make(200));
    }
    for (int i = 0; i < 64; ++i) {
      bool made_progress = !is_host_paused && host->step(clock.now(), tap.queued() > 0);
      made_progress |= !is_unit_paused && iou->step(clock.now(), lan.queued() > 0);
      if (!made_progress) break;
    }
    clock.advance(1ms);
  }
  void run(base::Duration span) {
    for (const base::Time end = clock.now() + span; clock.now() < end;) iterate();
  }
  template <class Done>
  bool run_until(base::Duration span, Done&& done) {
    const base::Time end = clock.now() + span;
    while (!done() && clock.now() < end) iterate();
    return done();
  }
  bool is_usual() { return host->nic_up() && host->unit_in_use() == 0U && host->link_to(1)->up(); }
  // Until frames cross both ways from now on.
  bool traffic_crosses(base::Duration within) {
    const std::uint64_t lan_before = to_lan.taken(), host_before = to_host.taken();
    return run_until(within,
                     [&] { return to_lan.taken() > lan_before && to_host.taken() > host_before; });
  }
  std::uint64_t counter(std::string_view name) const { return support::counter_of(*host, name); }
  // Frames may be lost where a connection ends, and no more.
  void expect_no_violation() const {
    EXPECT_TRUE(to_lan.violations().empty()) << to_lan.violations().front();
    EXPECT_TRUE(to_host.violations().empty()) << to_host.violations().front();
  }

  base::ManualClock clock;
  base::SeededRandom random{11};
  fabric::InProcessHub hub{fabric::InProcessConfig{
      .datagram_bytes_max = 1472, .batch_queue_max = 1024, .drops_when_full = true}};
  std::array<fabric::InProcessUnderlay*, 2> unit_ends{};
  std::array<std::unique_ptr<fabric::FaultUnderlay>, 2> paths;  // at the host
  FakePort tap{kHost}, lan{kLan};
  Ledger to_lan{"to LAN", kHost, kPeer}, to_host{"to host", kPeer, kHost};
  fabric::Adapter iou_adapter{limits(), random};
  fabric::Adapter host_adapter{limits(), random};
  std::unique_ptr<iou::Iou> iou;
  std::unique_ptr<host::Host> host;
  bool has_traffic = false;
  bool is_host_paused = false;
  bool is_unit_paused = false;
  int milliseconds = 0;
};

TEST_F(TwoPathsSim, S000_47_traffic_continues_within_200_ms_when_a_path_dies) {
  ASSERT_TRUE(run_until(2s, [this] { return is_usual(); }));
  has_traffic = true;
  run(1s);
  ASSERT_EQ(counter("host.unit.moves"), 0U);
  paths[0]->set_cut(true);
  EXPECT_TRUE(traffic_crosses(200ms));
  EXPECT_EQ(host->unit_in_use(), 1U);
  EXPECT_TRUE(host->link_to(0)->up()) << "keep-alives do not show it yet";
  EXPECT_TRUE(host->is_left(0));
  EXPECT_FALSE(host->move_to(0, clock.now()).has_value()) << "nothing is heard there";
  EXPECT_EQ(counter("host.unit.silences"), 1U);
  run(1s);
  EXPECT_TRUE(traffic_crosses(100ms));
  EXPECT_EQ(counter("host.unit.moves"), 1U);
  paths[0]->set_cut(false);
  ASSERT_TRUE(run_until(2s, [this] { return !host->is_left(0); }));
  EXPECT_EQ(counter("host.unit.pauses"), 0U);
  EXPECT_EQ(host->unit_in_use(), 1U);
  expect_no_violation();
}

// The host does not send and the LAN does, so nothing waits for an acknowledgement.
TEST_F(TwoPathsSim, S000_47_a_host_that_only_receives_moves_as_soon) {
  ASSERT_TRUE(run_until(2s, [this] { return is_usual(); }));
  for (int i = 0; i < 100; ++i) {
    lan.queue(to_host.make(200));
    run(10ms);
  }
  paths[0]->set_cut(true);
  run(200ms);
  EXPECT_EQ(host->unit_in_use(), 1U);
  EXPECT_EQ(counter("host.unit.silences"), 1U);
}

TEST_F(TwoPathsSim, S000_47_pauses_of_100_ms_of_either_end_move_nothing) {
  ASSERT_TRUE(run_until(2s, [this] { return is_usual(); }));
  has_traffic = true;
  for (int i = 0; i < 20; ++i) {
    bool& is_paused = i % 2 == 0 ? is_unit_paused : is_host_paused;
    is_paused = true;
    run(100ms);
    is_paused = false;
    run(150ms);
  }
  is_unit_paused = true;  // longer than silence takes, but the other path ends there, too
  run(300ms);
  is_unit_paused = false;
  run(150ms);
  EXPECT_GT(counter("host.unit.probes"), 0U);
  EXPECT_EQ(counter("host.unit.silences"), 0U);
  EXPECT_EQ(counter("host.unit.moves"), 0U);
  EXPECT_TRUE(traffic_crosses(100ms));
  expect_no_violation();
}

TEST_F(TwoPathsSim, a_host_without_traffic_sends_no_probe_and_moves_by_keep_alives) {
  ASSERT_TRUE(run_until(2s, [this] { return is_usual(); }));
  run(1s);
  const std::uint64_t before = counter("host.unit.probes");
  run(5s);
  paths[0]->set_cut(true);
  run(300ms);
  EXPECT_EQ(host->unit_in_use(), 0U);
  run(400ms);
  EXPECT_EQ(host->unit_in_use(), 1U);
  EXPECT_EQ(counter("host.unit.probes"), before);
  EXPECT_EQ(counter("host.unit.silences"), 0U);
  EXPECT_EQ(counter("host.unit.moves"), 1U);
}

// The same with the ports of two units, of which one may only wait for a processor.
class TwoUnitsSim : public TwoPathsSim {
 protected:
  TwoUnitsSim() : TwoPathsSim({7, 8}) {}
};

TEST_F(TwoUnitsSim, another_unit_takes_over_by_keep_alives_alone) {
  ASSERT_TRUE(run_until(2s, [this] { return is_usual(); }));
  has_traffic = true;
  run(1s);
  paths[0]->set_cut(true);
  run(300ms);
  EXPECT_EQ(host->unit_in_use(), 0U);
  run(500ms);
  EXPECT_EQ(host->unit_in_use(), 1U);
  EXPECT_EQ(counter("host.unit.silences"), 0U);
}

// A switch that waits for a processor. The second time as long decides nothing.
TEST_F(TwoPathsSim, S000_47_a_path_that_pauses_is_left_once) {
  ASSERT_TRUE(run_until(2s, [this] { return is_usual(); }));
  has_traffic = true;
  run(1s);
  for (std::size_t i = 0; i < 2; ++i) {
    paths[i]->set_cut(true);
    run(150ms);
    paths[i]->set_cut(false);
    run(2s);
  }
  EXPECT_EQ(host->unit_in_use(), 1U);
  EXPECT_EQ(counter("host.unit.silences"), 1U);
  EXPECT_EQ(counter("host.unit.pauses"), 1U);
  EXPECT_EQ(counter("host.unit.moves"), 1U);
  EXPECT_TRUE(traffic_crosses(100ms));
  expect_no_violation();
}

}  // namespace two_paths_sim_test
}  // namespace splitnic::sim
