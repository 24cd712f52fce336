// The counters of a channel pair, or the sums over several. Thread: its owner.
#pragma once

#include "base/counters.h"
#include "messaging/drop_reason.h"
#include "messaging/pair_counters.h"
#include "messaging/pools/pool_user.h"

namespace splitnic::messaging {

struct CounterSums {
  base::Counters<PairCounter> pairs;
  DropCounters drops;
  base::Counters<PoolCounter> pools;

  void visit(const base::CounterVisitor& visitor) const {
    pairs.visit(visitor);
    drops.visit(visitor);
    pools.visit(visitor);
  }
};

}  // namespace splitnic::messaging
