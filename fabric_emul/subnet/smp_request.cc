#include "fabric_emul/subnet/smp_request.h"

namespace splitnic::fabric {

void SmpRequest::start(const Smp& smp, SubnetAgent& agent, base::Time now) {
  smp_ = smp;
  body_.assign(smp.body.begin(), smp.body.end());
  is_waiting_ = true;
  attempts_ = 0;
  transmit(agent, now);
}

void SmpRequest::transmit(SubnetAgent& agent, base::Time now) {
  ++attempts_;
  repeat_at_ = now + kRepeatAfter;
  smp_.body = body_;
  agent.send(smp_);
}

// A switch on the way knows the transactions that it passes on, and could guess others: each switch
// writes by which port a reply came, so one of another switch or node has another route.
bool SmpRequest::is_reply(const Smp& reply) const {
  return is_waiting_ && smp_.transaction == reply.transaction &&
         smp_.attribute == reply.attribute && smp_.route == reply.route.reversed();
}

bool SmpRequest::repeat(SubnetAgent& agent, base::Time now) {
  if (!is_waiting_ || now < repeat_at_) return true;
  if (attempts_ == kAttempts) {
    agent.counters().add(SubnetCounter::kSilent);
    is_waiting_ = false;
    return false;
  }
  agent.counters().add(SubnetCounter::kRepeat);
  transmit(agent, now);
  return true;
}

}  // namespace splitnic::fabric
