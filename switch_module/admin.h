// The control socket of a switch: its ports with who is there, its links and every counter. `set`
// and `ping` are for hosts and I/O units. Thread: the data thread.
#pragma once

#include <string>

#include "control/daemon/admin.h"
#include "fabric_emul/switching/switch.h"
#include "switch_module/options.h"

namespace splitnic::fabric_switch {

class Admin final : public control::Admin {
 public:
  // All outlive this.
  Admin(const SwitchOptions& options, base::Clock& clock, VisitCounters visit_carriers)
      : control::Admin(clock, std::move(visit_carriers)), options_(options) {}
  // Before this call the state is "connecting" and there is nothing to show.
  void attach(const fabric::Switch& to) { switch_ = &to; }

 private:
  control::Snapshot snapshot() const override;
  control::Reply set(const std::string& what, const std::string& value) override;
  base::Result<messaging::Connection*> connection_to_ping() override;

  const SwitchOptions& options_;
  const fabric::Switch* switch_ = nullptr;
};

}  // namespace splitnic::fabric_switch
