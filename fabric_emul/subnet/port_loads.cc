#include "fabric_emul/subnet/port_loads.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace splitnic::fabric {
namespace {

// Counts come from other machines: no two of them make a number that is too large.
constexpr double kPerSecondMax = 1e18;

// REQUIRES time > 0.
std::uint64_t mean(std::uint64_t cells, base::Duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  const double per_second = static_cast<double>(cells) / seconds;
  return static_cast<std::uint64_t>(std::round(std::min(per_second, kPerSecondMax)));
}

}  // namespace

void PortLoads::begin_round() {
  std::erase_if(switches_, [](const auto& one) { return !one.second.has_reported; });
  for (auto& [name, of] : switches_) of.has_reported = false;
}

void PortLoads::on_report(const std::string& of_switch, const SmpLoad& load, base::Time now) {
  OfSwitch& of = switches_[of_switch];
  of.has_reported = true;
  const auto before = of.load.used_ports();
  if (!before.empty() && now <= of.at) return;
  of.per_second.clear();
  for (const SmpLoad::Port& port : load.used_ports()) {
    const auto known = std::ranges::find(before, port.number, &SmpLoad::Port::number);
    if (known == before.end() || port.cells < known->cells) continue;
    of.per_second[port.number] = mean(port.cells - known->cells, now - of.at);
  }
  of.load = load;
  of.at = now;
}

PortLoads::CellsPerSecond PortLoads::per_second() const {
  CellsPerSecond all;
  for (const auto& [name, of] : switches_) {
    for (const auto& [port, cells] : of.per_second) all[{name, port}] = cells;
  }
  return all;
}

}  // namespace splitnic::fabric
