// Blocks hosts that repeatedly access memory that was not granted to them: after the eighth
// connection within a minute that ends with a remote access error, the node is blocked for five
// minutes, whatever process it starts. Nodes are principals: a key, a user, or without both an
// EUI-64 [M-8]. One guess of a handle costs a connection (its queue pair
// ends), so guessing is hopeless [S-59]. Bounded: the node whose last error is the oldest is
// forgotten first. Thread: the data thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "iou_module/hosts/host_id.h"
#include "messaging/message_dispatch.h"

namespace splitnic::iou {

class Quarantine {
 public:
  static constexpr base::Duration kFor = std::chrono::seconds(300);
  static constexpr std::size_t kNodesMax = 256;

  // A connection of this node ended with a remote access error. Returns true if the node is blocked
  // from now on.
  bool note(const HostId& node, base::Time now) {
    Node& n = find_or_add(node);
    n.last = now;
    n.refusals.note(now);
    if (!n.refusals.is_exceeded()) return false;
    n.until = now + kFor;
    n.refusals = {};
    return true;
  }
  // Returns how long the node is still blocked, or 0.
  base::Duration left(const HostId& node, base::Time now) const {
    for (const Node& n : nodes_) {
      if (n.node == node && n.until > now) return n.until - now;
    }
    return base::Duration{0};
  }

 private:
  struct Node {
    HostId node;
    messaging::ErrorWindow refusals;
    base::Time last{};
    base::Time until{};
  };
  Node& find_or_add(const HostId& node) {
    const auto at = std::ranges::find(nodes_, node, &Node::node);
    if (at != nodes_.end()) return *at;
    if (nodes_.size() == kNodesMax) nodes_.erase(std::ranges::min_element(nodes_, {}, &Node::last));
    return nodes_.emplace_back(Node{.node = node, .refusals = {}});
  }

  std::vector<Node> nodes_;
};

}  // namespace splitnic::iou
