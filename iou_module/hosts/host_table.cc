#include "iou_module/hosts/host_table.h"

#include <algorithm>

namespace splitnic::iou {

void HostTable::remove_ended(base::Time now) {
  for (const auto& host : hosts_) {
    if (!host->has_ended() || host->is_stopped_for(kClaimedFor, now_)) continue;
    keep_addresses(host->identity().node(), host->nic().addresses());
  }
  std::vector<HostId> ended;
  std::erase_if(hosts_, [&](const auto& host) {
    if (!host->has_ended()) return false;
    host->close(now);
    ended.push_back(host->identity().node());
    removed_.merge(host->stats().counters);
    host->connection().for_each(
        [&](const messaging::ChannelPair& pair) { pair.add_to(removed_pairs_); });
    return true;
  });
  if (siblings_ == nullptr) return;
  for (const HostId& node : ended) {
    // Another process of the node may be here already: the others have to hear of that one.
    if (AttachedHost* other = find_node(node); other != nullptr) {
      other->news().set_due();
    } else {
      siblings_->notify({.nic = nic_, .node = node, .is_gone = true});
    }
  }
}

void HostTable::exchange_news(base::Time now) {
  if (siblings_ == nullptr) return;
  for (const auto& host : hosts_) {
    if (host->has_ended()) continue;
    const bool is_usable = host->is_usable();
    const bool was_usable = host->news().was_usable();
    if (!host->news().take_due(is_usable)) continue;
    if (!was_usable && is_usable && neighbours_.reaches(host->identity().node())) {
      host->tx().hold_until(now + messaging::kQueueSettleFor);
    }
    siblings_->notify({.nic = nic_,
                       .node = host->identity().node(),
                       .is_usable = is_usable,
                       .settings = host->nic(),
                       .macs = host->rights().macs});
  }
  if (neighbours_.empty()) return;
  neighbours_.observe([this](const HostId& node) {
    const AttachedHost* host = find_node(node);
    return host != nullptr && host->is_usable();
  });
}

void HostTable::on_news(std::size_t queue, const HostNews& news) {
  std::vector<lan::MacAddress> had;
  if (news.is_gone) had = neighbours_.addresses_of(queue, news.node, now_);
  neighbours_.learn(queue, news, now_);
  for (const lan::MacAddress& mac : news.macs) lan_addresses_.forget(mac);
  if (news.is_gone) return keep_addresses(news.node, std::move(had));
  if (news.settings.started) former_.forget(news.node);
  yield_to(news.node, news.settings);
}

void HostTable::keep_addresses(const HostId& node, std::vector<lan::MacAddress> macs) {
  std::erase_if(macs, [&](const lan::MacAddress& mac) {
    const auto owns_it = [&](const auto& host) {
      return !host->has_ended() && host->nic().owns(mac);
    };
    return std::ranges::any_of(hosts_, owns_it) || neighbours_.owns(mac, node, now_);
  });
  if (!macs.empty()) former_.keep(node, macs, now_);
}

// The other queue has found that the host here had been stopped for too long. If both were asked at
// the same time, the lower node keeps the address.
void HostTable::yield_to(const HostId& node, const NicSettings& settings) {
  const std::vector<lan::MacAddress> macs = settings.addresses();
  for (const auto& host : hosts_) {
    const HostId own = host->identity().node();
    if (own == node || (!host->is_stopped_for(kClaimedFor, now_) && own < node)) continue;
    const auto is_own = [&](const lan::MacAddress& mac) { return host->nic().owns(mac); };
    if (std::ranges::any_of(macs, is_own)) host->fail();
  }
}

void HostTable::on_handed(const HostId& node, base::Bytes frame) {
  AttachedHost* host = find_node(node);
  if (host != nullptr && host->wants(lan::destination_mac(frame.subspan(lan::kVnetHeaderBytes)))) {
    return host->tx().queue_copy(frame);
  }
  neighbours_.counters().add(NeighbourCounter::kDropGone);
}

AttachedHost* HostTable::find_node(const HostId& node) const {
  AttachedHost* found = nullptr;
  for (const auto& host : hosts_) {
    if (host->identity().node() != node || host->has_ended()) continue;
    if (found == nullptr || host->is_usable()) found = host.get();
  }
  return found;
}

void HostTable::abandon(base::Time now) {
  for (const auto& host : hosts_) host->connection().close(now);
  hosts_.clear();
}

AttachedHost* HostTable::find(fabric::ConnectionId id) const {
  const auto at =
      std::ranges::find_if(hosts_, [&](const auto& h) { return h->connection().has(id); });
  return at == hosts_.end() ? nullptr : at->get();
}

AttachedHost* HostTable::sole_up() const {
  AttachedHost* found = nullptr;
  if (neighbours_.has_absent()) return nullptr;
  for (const auto& host : hosts_) {
    if (!host->is_up()) continue;
    if (found != nullptr) return nullptr;
    found = host.get();
  }
  return found;
}

bool HostTable::is_taken(const lan::MacAddress& mac, const AttachedHost& by) const {
  const auto owns_it = [&](const auto& host) {
    return host.get() != &by && !host->has_ended() && host->nic().owns(mac) &&
           !host->is_stopped_for(kClaimedFor, now_);
  };
  return std::ranges::any_of(hosts_, owns_it) || neighbours_.owns(mac, by.identity().node(), now_);
}

void HostTable::give(const lan::MacAddress& mac, const AttachedHost& by) {
  for (const auto& host : hosts_) {
    if (host.get() != &by && host->nic().owns(mac)) host->fail();
  }
  former_.forget(mac);
}

void HostTable::learn_source(const lan::MacAddress& source, base::Bytes frame) {
  if (lan::is_multicast(source) || source == lan::MacAddress{} || has_right_to(source)) return;
  const lan::MacAddress to = lan::destination_mac(frame.subspan(lan::kVnetHeaderBytes));
  if (lan::is_multicast(to) && groups_.has(SentGroups::head_of(frame), now_)) return;
  lan_addresses_.learn(source, now_);
  if (siblings_ != nullptr) siblings_->notify_address(nic_, source);
}

void HostTable::note_group(const AttachedHost& from, base::Bytes frame) {
  const HostId node = from.identity().node();
  const SentGroups::Head head = SentGroups::head_of(frame);
  groups_.note(node, head, now_);
  if (siblings_ != nullptr) siblings_->notify_group({nic_, node, head});
}

bool HostTable::has_right_to(const lan::MacAddress& mac) const {
  const auto lists_it = [&](const auto& host) {
    return std::ranges::find(host->rights().macs, mac) != host->rights().macs.end();
  };
  return std::ranges::any_of(hosts_, lists_it) || neighbours_.has_right_to(mac);
}

void HostTable::respect_rights(const AttachedHost& host) {
  for (const lan::MacAddress& mac : host.rights().macs) lan_addresses_.forget(mac);
}

bool HostTable::distribute(base::Bytes frame, const AttachedHost* except) {
  const lan::MacAddress destination = lan::destination_mac(frame.subspan(lan::kVnetHeaderBytes));
  bool is_wanted = false;
  for (const auto& host : hosts_) {
    if (host.get() == except || !host->wants(destination)) continue;
    host->tx().queue_copy(frame);
    is_wanted = true;
  }
  if (!neighbours_.has_absent()) return is_wanted;
  const HostId sender = except == nullptr ? HostId() : except->identity().node();
  return neighbours_.hand(frame, destination, sender) || is_wanted;
}

void HostTable::distribute_to_sniffers(base::Bytes frame, const AttachedHost& except) {
  for (const auto& host : hosts_) {
    if (host.get() != &except && host->is_usable() && host->nic().filter.promiscuous) {
      host->tx().queue_copy(frame);
    }
  }
  if (neighbours_.has_absent()) {
    neighbours_.hand_to_sniffers(frame, except.identity().node());
  }
}

void HostTable::visit_sums(const base::CounterVisitor& visitor) const {
  base::Counters<AttachedHostCounter> sums = removed_;
  messaging::CounterSums of_pairs = removed_pairs_;
  for (const auto& host : hosts_) {
    sums.merge(host->stats().counters);
    host->connection().for_each([&](const messaging::ChannelPair& pair) { pair.add_to(of_pairs); });
  }
  sums.visit(visitor);
  of_pairs.visit(visitor);
  neighbours_.counters().visit(visitor);
}

}  // namespace splitnic::iou
