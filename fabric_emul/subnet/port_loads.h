// The load of each port of the switches of a subnet, in cells per second, from the counts that
// their agents report and the times at which the reports came. Pure. Thread: the data thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"
#include "fabric_emul/switching/topology.h"
#include "fabric_emul/wire/smp_load.h"

namespace splitnic::fabric {

class PortLoads {
 public:
  using CellsPerSecond = std::map<PortPlace, std::uint64_t>;

  // From now on each switch reports once more. One that has not since the last call is forgotten:
  // it has no load until it has reported twice.
  void begin_round();
  // The counts of this switch, as they were at `now`. One that is less than before has begun at 0
  // again: its port has no load until the next report.
  void on_report(const std::string& of_switch, const SmpLoad& load, base::Time now);
  void clear() { switches_.clear(); }
  // Of each port with a count in the last two reports of its switch: the mean between these.
  CellsPerSecond per_second() const;

 private:
  struct OfSwitch {
    bool has_reported = false;  // in this round
    base::Time at{};            // of the last report
    SmpLoad load{};             // in it
    std::map<std::uint8_t, std::uint64_t> per_second{};
  };

  std::map<std::string, OfSwitch> switches_;
};

}  // namespace splitnic::fabric
