// Asks the switches of a subnet how many cells they have forwarded out of each port, after a sweep
// of the subnet manager. What a switch replies, or that it does not, as a program that has no LOAD
// yet, changes no table and delays no sweep. Sans-I/O. Thread: the data thread.
// docs/protocol/subnet.md#load
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fabric_emul/subnet/port_loads.h"
#include "fabric_emul/subnet/subnet_agent.h"
#include "fabric_emul/subnet/switch_requests.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {

class LoadReader {
 public:
  // Sweeps that follow each other faster, as after a change, are too short to count in.
  static constexpr base::Duration kReadEvery = std::chrono::milliseconds(500);

  using Routes = std::map<std::string, SmpRoute>;  // to switches, by name

  // The agent, which is that of the manager's switch, outlives this. Transactions count from
  // `transaction` on.
  LoadReader(ManagerId id, SubnetAgent& agent, std::uint64_t transaction)
      : requests_(id, agent, transaction) {}

  // Whether it is time to read after a sweep that began then.
  bool is_due(base::Time begun_at) const { return begun_at >= next_at_; }
  // Asks the switches that this sweep has found. Requests of before that wait for a reply end.
  void read(const Routes& routes, base::Time begun_at, base::Time now);
  // Another manager has the subnet: nothing is asked, and what was read is forgotten.
  void stop();
  // Takes a reply to one of these requests, and ignores all others.
  void on_smp(const Smp& reply) { requests_.on_smp(reply); }
  void step(base::Time now);
  base::Time deadline(base::Time now) const { return requests_.deadline(now); }

  const PortLoads& loads() const { return loads_; }

 private:
  SwitchRequests requests_;
  std::vector<std::string> names_;  // by the number of the request
  base::Time next_at_{};
  PortLoads loads_;
};

}  // namespace splitnic::fabric
