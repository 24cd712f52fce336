#include "fabric_emul/subnet/switch_requests.h"

#include <algorithm>
#include <utility>

namespace splitnic::fabric {

std::size_t SwitchRequests::add(const SmpRoute& route) {
  targets_.push_back({.route = route});
  return targets_.size() - 1;
}

void SwitchRequests::start(std::size_t to, SmpMethod method, SmpAttribute attribute,
                           base::Bytes body, base::Time now) {
  Smp smp;
  smp.manager = id_;
  smp.method = method;
  smp.attribute = attribute;
  smp.transaction = ++transaction_;
  smp.route = targets_.at(to).route;
  smp.body = body;
  targets_[to].request.start(smp, agent_, now);
}

void SwitchRequests::on_smp(const Smp& smp) {
  const auto from = std::ranges::find_if(
      targets_, [&](const Target& one) { return !one.reply && one.request.is_reply(smp); });
  if (from == targets_.end()) return;
  from->reply_body.assign(smp.body.begin(), smp.body.end());
  from->reply = smp;
}

std::optional<SwitchRequests::Reply> SwitchRequests::next_reply() {
  const auto from =
      std::ranges::find_if(targets_, [](const Target& one) { return one.reply.has_value(); });
  if (from == targets_.end()) return std::nullopt;
  from->request.stop();
  taken_body_ = std::exchange(from->reply_body, {});
  Reply out{static_cast<std::size_t>(from - targets_.begin()),
            *std::exchange(from->reply, std::nullopt)};
  out.smp.body = taken_body_;
  return out;
}

std::optional<std::size_t> SwitchRequests::repeat(base::Time now) {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (!targets_[i].reply && !targets_[i].request.repeat(agent_, now)) return i;
  }
  return std::nullopt;
}

bool SwitchRequests::are_waiting() const {
  return std::ranges::any_of(targets_, [](const Target& one) { return one.request.is_waiting(); });
}

base::Time SwitchRequests::deadline(base::Time now) const {
  base::Time at = base::kNever;
  for (const Target& one : targets_) {
    if (one.reply) return now;
    if (one.request.is_waiting()) at = std::min(at, one.request.repeat_at());
  }
  return at;
}

}  // namespace splitnic::fabric
