#include "iou_module/policy/hosts_handover.h"

#include <utility>

namespace splitnic::iou {

HostsHandover::HostsHandover(std::vector<Queue>& queues, Known known, std::uint64_t number,
                             std::function<void()> done)
    : queues_(queues),
      known_(std::move(known)),
      number_(number),
      done_(std::move(done)),
      left_(queues.size()) {}

std::optional<std::size_t> HostsHandover::begin() {
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (post_to(i)) continue;
    settle(Outcome::kForNone);
    return i;
  }
  if (settle(Outcome::kForAll)) return std::nullopt;
  return busy_.load();
}

bool HostsHandover::post_to(std::size_t queue) {
  return queues_[queue].post([self = shared_from_this(), queue] { self->run_in(queue); });
}

// While it is open the control thread posts to the other queues, which takes microseconds. From the
// moment at which it is for all, every queue has its command or is running it. The next handover
// may begin then, and its command be posted before the one that a queue posts to itself here.
void HostsHandover::run_in(std::size_t queue) {
  if (outcome_.load() == Outcome::kOpen) {
    if (post_to(queue)) return;
    busy_.store(queue);
    settle(Outcome::kForNone);
  }
  if (outcome_.load() == Outcome::kForNone) return;
  if (Queue& to = queues_[queue]; number_ > to.newest) {
    to.newest = number_;
    to.replace(known_);
  }
  if (left_.fetch_sub(1) == 1) done_();
}

bool HostsHandover::settle(Outcome outcome) {
  Outcome open = Outcome::kOpen;
  return outcome_.compare_exchange_strong(open, outcome);
}

}  // namespace splitnic::iou
