// A request of a subnet manager, from the moment it is sent until its reply is there or nobody
// replies [P-SUBN-12]. Sans-I/O. Thread: the data thread.
#pragma once

#include <vector>

#include "base/clock.h"
#include "fabric_emul/subnet/subnet_agent.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {

class SmpRequest {
 public:
  static constexpr base::Duration kRepeatAfter = std::chrono::milliseconds(50);
  static constexpr unsigned kAttempts = 12;  // then whoever was asked counts as silent

  // Sends it. A reply of the switch of the agent comes before this returns.
  void start(const Smp& smp, SubnetAgent& agent, base::Time now);
  void stop() { is_waiting_ = false; }
  bool is_waiting() const { return is_waiting_; }
  // Whether this is what it waits for, and came by the way that the request took.
  bool is_reply(const Smp& reply) const;
  // Sends it once more if it is time. Returns false if all attempts were in vain: it waits no more.
  bool repeat(SubnetAgent& agent, base::Time now);
  // REQUIRES is_waiting().
  base::Time repeat_at() const { return repeat_at_; }

 private:
  void transmit(SubnetAgent& agent, base::Time now);

  Smp smp_;
  std::vector<std::byte> body_;
  bool is_waiting_ = false;
  unsigned attempts_ = 0;
  base::Time repeat_at_{};
};

}  // namespace splitnic::fabric
