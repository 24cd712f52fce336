// The hosts that the other queues of the unit have on the same NIC, as their news describe them. A
// host is absent here while another queue can reach it and this one cannot: it has fewer queues, or
// its queue has failed. Frames for an absent host are handed to a queue that reaches it.
// docs/adr/0006-a-queue-is-whole.md Thread: the data thread.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "iou_module/hosts/siblings.h"

namespace splitnic::iou {

enum class NeighbourCounter {
  kHanded,    // frames given to another queue
  kDropFull,  // the other queue did not take them in time
  kDropGone,  // handed here, and the host is no longer here or no longer wants them
  kCount_
};

class Neighbours {
 public:
  // `siblings` null: there are no other queues. It outlives this.
  Neighbours(std::size_t nic, Siblings* siblings) : nic_(nic), siblings_(siblings) {}

  // REQUIRES that the news is of this NIC.
  void learn(std::size_t queue, const HostNews& news, base::Time now);
  bool empty() const { return hosts_.empty(); }
  // Returns true if a host other than `by` owns this address, and has started its NIC or has not
  // been stopped for kClaimedFor.
  bool owns(const lan::MacAddress& mac, const HostId& by, base::Time now) const;
  // Returns the addresses that owns() counts for this host at that queue.
  std::vector<lan::MacAddress> addresses_of(std::size_t queue, const HostId& node,
                                            base::Time now) const;
  // Returns true if the rights of one of them list the address.
  bool has_right_to(const lan::MacAddress& mac) const;
  // Returns a host of another queue that is not `node`, if there is one.
  std::optional<HostId> other_than(const HostId& node) const;
  // Returns true if another queue reaches this host.
  bool reaches(const HostId& node) const;

  // Finds out who is absent. `is_here(node)` is true if this queue reaches the host.
  template <class IsHere>
  void observe(IsHere&& is_here) {
    absent_.clear();
    for (const Host& host : hosts_) {
      if (const At* at = reached(host); at != nullptr && !is_here(host.node)) {
        absent_.push_back({host.node, at});
      }
    }
  }
  // As of the last observe().
  bool has_absent() const { return !absent_.empty(); }
  // Hands the frame on for each absent host that wants it, but `except`. Returns true if there is
  // such a host.
  bool hand(base::Bytes frame, const lan::MacAddress& destination, const HostId& except);
  // The same for those in promiscuous mode.
  void hand_to_sniffers(base::Bytes frame, const HostId& except);

  base::Counters<NeighbourCounter>& counters() { return counters_; }
  const base::Counters<NeighbourCounter>& counters() const { return counters_; }

 private:
  struct At {
    std::size_t queue;
    bool is_usable;
    NicSettings settings;
    std::vector<lan::MacAddress> macs;
    base::Time stopped_since;
    bool is_owner(base::Time now) const {
      return settings.started || now - stopped_since < kClaimedFor;
    }
  };
  struct Host {
    HostId node;
    std::vector<At> at;  // by queue, ascending
  };
  struct Absent {
    HostId node;
    const At* at;
  };
  // The first queue that reaches it, or null.
  static const At* reached(const Host& host);
  void hand_to(const Absent& absent, base::Bytes frame);

  const std::size_t nic_;
  Siblings* const siblings_;
  std::vector<Host> hosts_;
  std::vector<Absent> absent_;
  base::Counters<NeighbourCounter> counters_;
};

}  // namespace splitnic::iou

template <>
struct splitnic::base::CounterNames<splitnic::iou::NeighbourCounter> {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"iou.handed.frames", "lan.rx.drop.handed_full", "lan.rx.drop.handed_gone"});
};
