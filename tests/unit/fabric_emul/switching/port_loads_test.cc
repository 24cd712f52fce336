// Loads of ports: counts and times in, cells per second out.
#include "fabric_emul/subnet/port_loads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>

#include "base/clock.h"
#include "fabric_emul/wire/smp_load.h"

namespace splitnic::fabric {
namespace port_loads_test {

using namespace std::chrono_literals;
using Loads = PortLoads::CellsPerSecond;

constexpr base::Time kStart{1000s};

SmpLoad counts(std::initializer_list<SmpLoad::Port> ports) {
  SmpLoad out;
  for (const SmpLoad::Port& port : ports) out.ports.at(out.port_count++) = port;
  return out;
}

TEST(PortLoadsTest, a_load_is_the_mean_between_the_last_two_reports) {
  PortLoads loads;
  loads.on_report("s1", counts({{1, 100}, {3, 0}}), kStart);
  EXPECT_TRUE(loads.per_second().empty()) << "one report";
  loads.on_report("s1", counts({{1, 1100}, {3, 5}}), kStart + 500ms);
  EXPECT_EQ(loads.per_second(), (Loads{{{"s1", 1}, 2000}, {{"s1", 3}, 10}}));
  loads.on_report("s2", counts({{1, 7}}), kStart + 600ms);
  loads.on_report("s1", counts({{1, 1100}, {3, 6}}), kStart + 1500ms);
  EXPECT_EQ(loads.per_second(), (Loads{{{"s1", 1}, 0}, {{"s1", 3}, 1}}));
  loads.on_report("s2", counts({{1, 10}}), kStart + 2600ms);
  EXPECT_EQ(loads.per_second(), (Loads{{{"s1", 1}, 0}, {{"s1", 3}, 1}, {{"s2", 1}, 2}}))
      << "1.5, rounded";
  loads.clear();
  EXPECT_TRUE(loads.per_second().empty());
}

TEST(PortLoadsTest, a_count_that_begins_again_has_no_load_yet) {
  PortLoads loads;
  loads.on_report("s1", counts({{1, 100}, {2, 100}}), kStart);
  loads.on_report("s1", counts({{1, 99}, {2, 200}, {3, 50}}), kStart + 1s);
  EXPECT_EQ(loads.per_second(), (Loads{{{"s1", 2}, 100}})) << "port 3 is new";
  loads.on_report("s1", counts({{1, 109}, {3, 60}}), kStart + 2s);
  EXPECT_EQ(loads.per_second(), (Loads{{{"s1", 1}, 10}, {{"s1", 3}, 10}})) << "port 2 is gone";
}

TEST(PortLoadsTest, a_switch_that_reports_no_more_has_no_load) {
  PortLoads loads;
  const auto report = [&](const char* name, std::uint64_t cells, base::Time at) {
    loads.on_report(name, counts({{1, cells}}), at);
  };
  loads.begin_round();
  report("s1", 0, kStart);
  report("s2", 0, kStart);
  loads.begin_round();
  report("s1", 5, kStart + 1s);
  report("s2", 6, kStart + 1s);
  EXPECT_EQ(loads.per_second(), (Loads{{{"s1", 1}, 5}, {{"s2", 1}, 6}}));
  loads.begin_round();
  report("s1", 6, kStart + 2s);
  EXPECT_EQ(loads.per_second(), (Loads{{{"s1", 1}, 1}, {{"s2", 1}, 6}})) << "it may come yet";
  loads.begin_round();
  EXPECT_EQ(loads.per_second(), (Loads{{{"s1", 1}, 1}}));
  report("s2", 1000, kStart + 3s);
  EXPECT_EQ(loads.per_second(), (Loads{{{"s1", 1}, 1}})) << "its first report";
  report("s2", 1002, kStart + 4s);
  EXPECT_EQ(loads.per_second(), (Loads{{{"s1", 1}, 1}, {{"s2", 1}, 2}}));
}

TEST(PortLoadsTest, whatever_counts_and_times_come_there_is_a_number) {
  PortLoads loads;
  loads.on_report("s1", counts({{1, 0}}), kStart);
  loads.on_report("s1", counts({{1, 10}}), kStart);
  EXPECT_TRUE(loads.per_second().empty()) << "no time has passed";
  loads.on_report("s1", counts({{1, 20}}), kStart + 1s);
  EXPECT_EQ(loads.per_second(), (Loads{{{"s1", 1}, 20}}));
  loads.on_report("s1", counts({{1, 5000}}), kStart + 500ms);
  EXPECT_EQ(loads.per_second(), (Loads{{{"s1", 1}, 20}})) << "earlier than the last one";
  loads.on_report("s1", counts({{1, UINT64_MAX}}), kStart + 1s + 1ns);
  EXPECT_EQ(loads.per_second(), (Loads{{{"s1", 1}, 1'000'000'000'000'000'000}})) << "the most";
  loads.on_report("s1", counts({}), kStart + 2s);
  EXPECT_TRUE(loads.per_second().empty());
}

}  // namespace port_loads_test
}  // namespace splitnic::fabric
