// Watches derive from the messages between the suite and its target which edges of the state tables
// the target has passed: one watch for each state machine. They know nothing of cases, and take
// only what the target has sent for a proof: an edge counts when its effect was seen. What they
// compare are numbers of the messages; that these are right the cases check.
#pragma once

#include <memory>

#include "conformance/states/coverage.h"
#include "conformance/states/seen.h"

namespace splitnic::conformance {

class Watch {
 public:
  virtual ~Watch() = default;
  virtual void on(const Seen& seen) = 0;

 protected:
  Watch() = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
};

// `coverage` outlives them. `role` is that of the suite.
std::unique_ptr<Watch> watch_link(Coverage& coverage, Role role);
std::unique_ptr<Watch> watch_connection(Coverage& coverage, Role role);
std::unique_ptr<Watch> watch_queue_pairs(Coverage& coverage);
std::unique_ptr<Watch> watch_pools(Coverage& coverage);
std::unique_ptr<Watch> watch_session(Coverage& coverage, Role role);
// Of a switch that manages: it sees the SMPs of all its ports.
std::unique_ptr<Watch> watch_manager(Coverage& coverage);

}  // namespace splitnic::conformance
