// Counters of subnet management in a switch. An SMP that came in was served, passed on, handed to
// the manager here, or dropped for one of these reasons.
#pragma once

#include <array>
#include <string_view>

#include "base/counters.h"

namespace splitnic::fabric {

enum class SubnetCounter {
  kServed,      // requests that got a reply, with those of a manager in this switch
  kRefused,     // of these, from a manager that this switch does not obey
  kPassed,      // to the next switch of the route
  kForManager,  // replies and traps
  kTrap,        // sent
  kTable,       // a table of a manager came into force
  kPolicy,      // lanes and partitions of a manager did
  kDropFormat,  // no SMP, or none that is whole
  kDropRoute,   // its way is none that it may take, or the next port is down or has no room
  kSweep,       // of a manager in this switch: begun
  kRound,       // of these, with tables to change
  kRepeat,      // requests that it sent once more
  kSilent,      // requests that no switch or node replied to
  kCount_
};

}  // namespace splitnic::fabric

template <>
struct splitnic::base::CounterNames<splitnic::fabric::SubnetCounter> {
  static constexpr std::array<std::string_view,
                              static_cast<std::size_t>(splitnic::fabric::SubnetCounter::kCount_)>
      kNames{"subnet.served",        "subnet.refused",        "subnet.passed",
             "subnet.for_manager",   "subnet.trap",           "subnet.table",
             "subnet.policy",        "subnet.rx.drop.format", "subnet.rx.drop.route",
             "subnet.manager.sweep", "subnet.manager.round",  "subnet.manager.repeat",
             "subnet.manager.silent"};
};
