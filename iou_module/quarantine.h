// Hosts that tried to reach memory that they were not given: the eighth session within a minute
// that ends by a refused access keeps its node out for five minutes, whatever process it starts.
// One guess of a handle costs a session (its queue pair ends), so guessing is hopeless [S-59].
// Bounded: the node whose last refusal is the oldest goes first. Thread: the data thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "fabric_emul/wire/ids.h"
#include "messaging/message_dispatch.h"

namespace splitnic::iou {

class Quarantine {
 public:
  static constexpr base::Duration kFor = std::chrono::seconds(300);
  static constexpr std::size_t kNodesMax = 256;

  // A session of this node ended by a refused access. True: that was one too many.
  bool note(fabric::Eui64 node, base::Time now) {
    Node& n = find_or_add(node);
    n.last = now;
    n.refusals.note(now);
    if (!n.refusals.is_exceeded()) return false;
    n.until = now + kFor;
    n.refusals = {};
    return true;
  }
  // How long it is still kept out; 0: it is not.
  base::Duration left(fabric::Eui64 node, base::Time now) const {
    for (const Node& n : nodes_) {
      if (n.node == node && n.until > now) return n.until - now;
    }
    return base::Duration{0};
  }

 private:
  struct Node {
    fabric::Eui64 node;
    messaging::ErrorWindow refusals;
    base::Time last{};
    base::Time until{};
  };
  Node& find_or_add(fabric::Eui64 node) {
    const auto at = std::ranges::find(nodes_, node, &Node::node);
    if (at != nodes_.end()) return *at;
    if (nodes_.size() == kNodesMax) nodes_.erase(std::ranges::min_element(nodes_, {}, &Node::last));
    return nodes_.emplace_back(Node{.node = node, .refusals = {}});
  }

  std::vector<Node> nodes_;
};

}  // namespace splitnic::iou
