// The hosts of one LAN NIC: which of them, or the LAN, owns a MAC address, and which of them a
// frame is for, those that only other queues have included. A host is removed only between
// iterations, and its counters stay in the sums. Thread: the data thread.
#pragma once

#include <memory>
#include <vector>

#include "iou_module/hosts/attached_host.h"
#include "iou_module/hosts/former_owners.h"
#include "iou_module/hosts/lan_addresses.h"
#include "iou_module/hosts/neighbours.h"
#include "iou_module/hosts/sent_groups.h"

namespace splitnic::iou {

class HostTable {
 public:
  using Hosts = std::vector<std::unique_ptr<AttachedHost>>;

  // `siblings` as in Neighbours, `seed` as in lan::MacTable.
  explicit HostTable(std::size_t nic = 0, Siblings* siblings = nullptr, std::uint64_t seed = 0)
      : nic_(nic), siblings_(siblings), neighbours_(nic, siblings), lan_addresses_(seed) {}

  // The time of all other calls until the next one.
  void set_time(base::Time now) { now_ = now; }
  base::Time time() const { return now_; }
  void add(std::unique_ptr<AttachedHost> host) { hosts_.push_back(std::move(host)); }
  // Closes and removes the hosts that have ended.
  void remove_ended(base::Time now);
  // One iteration: the other queues hear of the hosts that have changed, and it is found out which
  // of theirs are absent here. A host that another queue has reached alone so far gets nothing from
  // this one for messaging::kQueueSettleFor.
  void exchange_news(base::Time now);
  void on_news(std::size_t queue, const HostNews& news);
  // A frame from another queue for this host.
  void on_handed(const HostId& node, base::Bytes frame);
  // Closes all connections and removes all hosts, without counting anything.
  void abandon(base::Time now);

  const Hosts& all() const { return hosts_; }
  Hosts::const_iterator begin() const { return hosts_.begin(); }
  Hosts::const_iterator end() const { return hosts_.end(); }
  std::size_t size() const { return hosts_.size(); }
  AttachedHost& operator[](std::size_t index) const { return *hosts_[index]; }
  // The host with this connection, or nullptr.
  AttachedHost* find(fabric::ConnectionId id) const;
  // The host that is up if it is the only one, here and at other queues, else nullptr.
  AttachedHost* sole_up() const;
  // As in Neighbours::other_than().
  std::optional<HostId> other_neighbour(const HostId& node) const {
    return neighbours_.other_than(node);
  }
  // No frame of this host can be for another one.
  bool is_alone() const { return hosts_.size() == 1 && !neighbours_.has_absent(); }

  // Returns true if a host other than `by` owns this address. One whose NIC is stopped for longer
  // than kClaimedFor owns none.
  bool is_taken(const lan::MacAddress& mac, const AttachedHost& by) const;
  // Returns true if a host that is gone had this address last, and may come back for it.
  bool was_of_another(const lan::MacAddress& mac, const AttachedHost& by) const {
    return former_.is_of_another(mac, by.identity().node(), now_);
  }
  // The host has started its NIC: what it had before is free.
  void on_started(const AttachedHost& host) { former_.forget(host.identity().node()); }
  // `by` has got this address: a host that is_taken() does not respect any more fails, and its next
  // connection finds out.
  void give(const lan::MacAddress& mac, const AttachedHost& by);
  // Queues a copy of the frame for each host that wants it, but `except`. Returns true if there is
  // such a host. `frame` is [virtio-net header][Ethernet frame].
  bool distribute(base::Bytes frame, const AttachedHost* except);
  // The same for a frame whose destination is on the LAN: only hosts in promiscuous mode get it,
  // whatever addresses others have.
  void distribute_to_sniffers(base::Bytes frame, const AttachedHost& except);

  // A frame has come from the LAN: its source is an address of the LAN. Not if it is a group frame
  // of a host that the LAN returns, and never if the rights of a host list the address. REQUIRES a
  // whole Ethernet header.
  void learn(base::Bytes frame) {
    const lan::MacAddress source = lan::source_mac(frame.subspan(lan::kVnetHeaderBytes));
    if (lan_addresses_.is_due(source, now_)) learn_source(source, frame);
  }
  // A machine on the LAN has used this address within LanAddresses::kUsedFor, as far as this queue
  // or another one has seen.
  bool is_of_lan(const lan::MacAddress& mac) const { return lan_addresses_.has(mac, now_); }
  void on_lan_address(const lan::MacAddress& mac) {
    if (!has_right_to(mac)) lan_addresses_.learn(mac, now_);
  }
  // A group frame of this host leaves for the LAN, with its tag; it may come back to any queue.
  void note_group(const AttachedHost& from, base::Bytes frame);
  void on_group(const HostId& node, const SentGroups::Head& head) {
    groups_.note(node, head, now_);
  }
  // The rights of a host changed, or it is new: the addresses that they list are not the LAN's.
  void respect_rights(const AttachedHost& host);

  // Of all hosts and their connections together, the removed ones included.
  void visit_sums(const base::CounterVisitor& visitor) const;

 private:
  void learn_source(const lan::MacAddress& source, base::Bytes frame);
  bool has_right_to(const lan::MacAddress& mac) const;
  // The host is gone here; its addresses wait for it, but those that another one has got.
  void keep_addresses(const HostId& node, std::vector<lan::MacAddress> macs);
  // Another queue has given these addresses to `node`.
  void yield_to(const HostId& node, const NicSettings& settings);
  // The host of this node, or nullptr; of two processes the one that frames can be queued for.
  AttachedHost* find_node(const HostId& node) const;

  const std::size_t nic_;
  Siblings* const siblings_;
  Neighbours neighbours_;
  LanAddresses lan_addresses_;
  SentGroups groups_;
  FormerOwners former_;
  base::Time now_{};
  Hosts hosts_;
  base::Counters<AttachedHostCounter> removed_;
  messaging::CounterSums removed_pairs_;
};

}  // namespace splitnic::iou
