// The address of a name, found while the caller does other work: a name server that does not reply
// takes the resolver of the system 10 s and more. Thread: any; the lookup has its own, which ends
// with it or with the process.
#pragma once

#include <memory>

#include "base/status.h"
#include "control/values.h"

namespace splitnic::control {

class NameLookup {
 public:
  // Begins. An endpoint that has no name is its own result.
  explicit NameLookup(const Endpoint& endpoint);

  bool is_done() const;
  // Returns the endpoint with an address in place of its name: the first that was found. REQUIRES
  // is_done().
  base::Result<Endpoint> result() const;

 private:
  struct Shared;  // with the thread, which may outlive this
  std::shared_ptr<Shared> shared_;
};

}  // namespace splitnic::control
