// Set-up, timers and flushing of a port. Receiving: port_receive.cc; INIT: port_init.cc.
#include "fabric_emul/link/port.h"

#include <algorithm>

#include "base/check.h"

namespace splitnic::fabric {

Port::Port(Underlay& underlay, const PortConfig& config, base::Random& random,
           LinkObserver& observer)
    : context_(underlay, config, random, observer), challenge_(random), sources_(random) {
  CHECK(config.instance != 0);
  links_.reserve(config.links_max);
  flushing_.reserve(config.links_max);
}

Link& Port::connect(const PeerAddress& address, base::Time now) {
  context_.received.clear();  // the cells of the last batch have arrived: none is dropped here
  PortLink* link = free_slot(now);
  CHECK(link != nullptr);
  link->connect(now, address);
  return *link;
}

Link* Port::by_lid(Lid lid) {
  for (auto& link : links_) {
    // A peer that lost its address may have had this LID.
    if (link->state() == LinkState::kFree || !link->has_address()) continue;
    if (link->remote_lid() == lid) return link.get();
  }
  return nullptr;
}

bool Port::wants_write() const {
  if (context_.underlay.is_blocked_by_lane()) return false;
  return std::any_of(context_.to_flush.begin(), context_.to_flush.end(),
                     [this](std::size_t slot) { return links_[slot]->wants_write(); });
}

void Port::flush(base::Time now) {
  if (context_.to_flush.empty()) return;
  flush_queued(now);
  // Observers that learned of a narrowed path wrote more cells.
  if (!context_.to_flush.empty() && !wants_write()) flush_queued(now);
}

void Port::flush_queued(base::Time now) {
  std::swap(context_.to_flush, flushing_);
  for (const std::size_t slot : flushing_) links_[slot]->flush(now);
  flushing_.clear();
}

// The report does not name a peer, and may be forged.
void Port::doubt_paths(base::Time now) {
  for (auto& link : links_) {
    if (link->up()) link->doubt_path(now);
  }
}

bool Port::take_room() {
  bool found = context_.underlay.take_room();
  for (auto& link : links_) found |= link->take_room();
  return found;
}

void Port::visit_counters(const base::CounterVisitor& visitor) const {
  context_.counters.visit(visitor);
  if (profile() == LinkProfile::kFull) context_.full_counters.visit(visitor);
}

void Port::on_time(base::Time now) {
  if (now < context_.deadline) return;
  for (auto& link : links_) link->on_time(now);
  context_.deadline = base::kNever;
  for (auto& link : links_) context_.call_at(link->deadline());
}

// The common deadline is never late. Of a full link it is often early: each flit that leaves moves
// its timers.
base::Time Port::deadline() const {
  base::Time at = context_.underlay.deadline();
  if (profile() != LinkProfile::kFull) return std::min(at, context_.deadline);
  for (const auto& link : links_) at = std::min(at, link->deadline());
  return at;
}

void Port::send_bye(base::Time now) {
  flush(now);
  for (auto& link : links_) link->send_bye(now);
}

std::size_t Port::batch_payload_max(const PeerAddress& peer) const {
  const std::size_t batch = context_.underlay.batch_bytes_max();
  const PathMtu path{PortConfig{}};
  const std::size_t mcp = path.offer(context_.underlay.datagram_bytes_max(peer), batch);
  return batch / (mcp + kStrideOverhead) * mcp;
}

}  // namespace splitnic::fabric
