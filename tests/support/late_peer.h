// A peer of a worker whose name has no address when the worker starts, and has one later.
//
//   const LatePeer late;
//   worker.uplinks().follow_names(late.lookups(first), clock.now());
//   EXPECT_TRUE(late.is_reached_by(worker, clock));
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "control/config/values.h"
#include "control/daemon/name_lookup.h"
#include "fabric_emul/underlay/udp_underlay.h"

namespace splitnic::support {

class LatePeer {
 public:
  // Returns the lookups of a worker with two peers, `first` and this one, which is found now.
  std::vector<std::unique_ptr<control::NameLookup>> lookups(const control::Endpoint& first) const {
    const auto found = control::parse_endpoint("udp://" + at_->name_of(at_->local_address()));
    std::vector<std::unique_ptr<control::NameLookup>> all;
    all.push_back(control::NameLookup::open(first, std::nullopt).value());
    all.push_back(control::NameLookup::open(found.value(), std::nullopt).value());
    return all;
  }
  // Runs the worker until it has sent something to this peer. Returns false if nothing comes.
  template <class Worker>
  bool is_reached_by(Worker& worker, base::Clock& clock) const {
    const base::Time until = clock.now() + std::chrono::seconds(10);
    while (clock.now() < until) {
      worker.step(clock.now());
      if (at_->receive()) return true;
    }
    return false;
  }

 private:
  const std::unique_ptr<fabric::UdpUnderlay> at_ =
      fabric::UdpUnderlay::open({.bind = "127.0.0.1:0"}).value();
};

}  // namespace splitnic::support
