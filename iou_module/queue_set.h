// Connects the queues of one I/O unit: frames pass by a ring for each ordered pair of queues, news
// of hosts, addresses and groups by the command queue of each thread.
// docs/adr/0006-a-queue-is-whole.md
// Thread: of(i) is used by the data thread of queue i; the rest before the threads start.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "iou_module/hand_off_ring.h"
#include "iou_module/hosts/siblings.h"
#include "iou_module/iou.h"

namespace splitnic::iou {

class QueueSet {
 public:
  // Runs the command in the thread of the queue, between iterations, in the order of the calls.
  // Returns false if it cannot be taken now. From any thread.
  using Post = std::function<bool(std::function<void(Iou& unit, base::Time now)> command)>;

  explicit QueueSet(std::size_t queues);
  ~QueueSet();
  QueueSet(const QueueSet&) = delete;
  QueueSet& operator=(const QueueSet&) = delete;

  // Sets how the others post to this queue. No thread starts before every queue has this.
  void connect(std::size_t queue, Post post);
  // Null if there is one queue only.
  Siblings* of(std::size_t queue);

 private:
  class Member;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace splitnic::iou
