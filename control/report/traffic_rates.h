// Traffic and drops per second between two samples of a program's counters, for `splitnic show
// --rate`: a row for each interface, each host of an I/O unit or each port of a switch, and the
// drops of all causes. Plain functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace splitnic::control {

using CounterValues = std::map<std::string, std::uint64_t>;

// Returns by how much the counter `name` is more than before. One that is less was set to 0
// meanwhile, as those of a program that was started again are.
std::uint64_t change_of(const CounterValues& before, const std::string& name, std::uint64_t value);

struct TrafficRow {
  std::string name;  // "tap", "lan", "lan1", "host NAME", "port 3"
  // Per second. In: what the program receives there. A switch has cells in place of frames, and
  // does not count their bits.
  std::optional<double> in_bits{}, out_bits{};
  double in_frames = 0, out_frames = 0, drops = 0;
};

struct TrafficRates {
  double seconds = 0;  // between the samples
  std::vector<TrafficRow> rows{};
  double drops = 0;  // of all causes, whatever rows have them
};

// REQUIRES seconds > 0.
TrafficRates traffic_rates(const CounterValues& before, const CounterValues& now, double seconds);

// Returns a table that follows the text of `show`.
std::string rates_text(const TrafficRates& rates);
// Returns the object `show`, one line, with the key "rates" added; unchanged if it is none.
std::string with_rates(const std::string& show, const TrafficRates& rates);

}  // namespace splitnic::control
