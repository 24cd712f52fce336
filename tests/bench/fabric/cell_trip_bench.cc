// Measures the round trip of a cell of 64 bytes between two ports, which one thread polls without
// ever sleeping, directly or by a switch. So with a switch that spins too there are two threads
// that spin. Prints lines "name value", times in microseconds; asserts nothing.
// tests/bench/switches.sh compares the two.
//   --by A,B          by the ports of a switch at these two addresses
//   --direct ADDRESS  without a switch: one port listens at this address, the other connects to it
//   --full            the links are of the full profile
//   --seconds S       default 1, after 0.1 s that are not measured
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "tests/bench/fabric/bench_options.h"
#include "tests/bench/fabric/switch_node.h"

namespace splitnic::bench {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kWarmUp = 100ms;
constexpr base::Duration kLostAfter = 50ms;

struct Options : CommonOptions {
  std::string one, other;  // addresses
  bool has_switch = false;
  bool is_full_profile = false;
};

struct Trips {
  std::vector<double> us{};
  std::uint64_t lost = 0;
};

// Returns false if the cell has not come in within kLostAfter.
bool pass(SwitchNode& from, SwitchNode& to, base::Bytes cell) {
  const base::Time limit = from.now() + kLostAfter;
  bool has_arrived = false;
  from.send(cell, 1);
  while (!has_arrived) {
    to.step([&](fabric::Link&, std::span<const fabric::ReceivedCell> cells) {
      has_arrived |= std::ranges::any_of(cells, is_small_cell);
    });
    if (!has_arrived && to.now() > limit) return false;
  }
  return true;
}

// Takes what comes late, or it would be taken for the next cell.
void discard_late(SwitchNode& one, SwitchNode& other) {
  const auto none = [](fabric::Link&, std::span<const fabric::ReceivedCell>) {};
  for (const base::Time until = one.now() + kLostAfter; one.now() < until;) {
    one.step(none);
    other.step(none);
  }
}

void travel(SwitchNode& one, SwitchNode& other, base::Duration time, Trips& trips) {
  const auto there = small_cell(one.link(), other.link().local_lid());
  const auto back = small_cell(other.link(), one.link().local_lid());
  base::Time begin = one.now();
  const base::Time until = begin + time;
  while (begin < until) {
    const bool is_back = pass(one, other, there) && pass(other, one, back);
    const base::Time now = one.now();
    if (is_back) {
      trips.us.push_back(1e6 * seconds_in(now - begin));
    } else {
      ++trips.lost;
      discard_late(one, other);
    }
    begin = one.now();
  }
}

void print(Trips& trips) {
  if (trips.us.empty()) fail("nothing arrives");
  std::ranges::sort(trips.us);
  const auto at = [&](double part) {
    return trips.us[static_cast<std::size_t>(part * static_cast<double>(trips.us.size() - 1))];
  };
  std::printf("trip_p50_us %.2f\ntrip_p99_us %.2f\ntrips %.0f\ntrips_lost %.0f\n", at(0.5),
              at(0.99), static_cast<double>(trips.us.size()), static_cast<double>(trips.lost));
}

void measure(const Options& options) {
  SwitchNode other(options.other, 2, options.is_full_profile,
                   options.has_switch ? SwitchNode::Role::kConnects : SwitchNode::Role::kListens);
  SwitchNode one(options.one, 1, options.is_full_profile);
  one.wait_until_up(options.one, &other);
  other.wait_until_up(options.other, &one);
  Trips trips;
  travel(one, other, kWarmUp, trips);
  trips = Trips();
  travel(one, other, seconds_of(options.seconds), trips);
  print(trips);
}

Options options_of(int argc, char** argv) {
  Options options;
  parse_options(
      argc, argv, options,
      {{"by", true,
        [&](std::string_view value) {
          options.has_switch = true;
          std::tie(options.one, options.other) = two_of(value, "--by takes two addresses: A,B");
        }},
       {"direct", true, [&](std::string_view value) { options.one = options.other = value; }},
       {"full", false, [&](std::string_view) { options.is_full_profile = true; }}},
      "tests/bench/fabric/cell_trip_bench.cc");
  if (options.one.empty()) fail("--by or --direct is missing");
  return options;
}

}  // namespace
}  // namespace splitnic::bench

int main(int argc, char** argv) {
  using namespace splitnic::bench;
  measure(options_of(argc, argv));
  return 0;
}
