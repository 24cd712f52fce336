// Hands a list of hosts to all queues of the unit, or to none: a queue that is too busy or is
// stopping does not leave the others with another list than its own. Each queue gets a command. It
// replaces the list once every queue has its command; a queue that comes to it earlier posts it to
// itself once more, and waits for nothing. So the command of a later list may come before: a queue
// that has a later list keeps it. Threads: begin() the control thread, the rest the data thread of
// each queue. docs/hosts_file.md#reload
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "iou_module/policy/known_hosts.h"

namespace splitnic::iou {

class HostsHandover : public std::enable_shared_from_this<HostsHandover> {
 public:
  using Known = std::shared_ptr<const KnownHosts>;
  struct Queue {
    // Runs the command in the thread of the queue, between two iterations. Returns false if the
    // queue cannot take it. From any thread.
    std::function<bool(std::function<void()> command)> post;
    // The queue has this list from now on. In its thread.
    std::function<void(Known known)> replace;
    std::uint64_t newest = 0;  // the number of the list that it has. Its thread alone uses it.
  };

  // `queues` outlive this. Lists that come later have higher numbers, from 1 on. The last queue
  // that has the list, or a later one, calls done().
  HostsHandover(std::vector<Queue>& queues, Known known, std::uint64_t number,
                std::function<void()> done);

  // Returns the number of a queue that cannot take a command, if there is one: then no queue gets
  // the list. REQUIRES that it is called once, and that a shared_ptr owns this.
  std::optional<std::size_t> begin();

 private:
  enum class Outcome : std::uint8_t { kOpen, kForAll, kForNone };

  bool post_to(std::size_t queue);
  void run_in(std::size_t queue);
  // Returns false if it is settled already, as before.
  bool settle(Outcome outcome);

  std::vector<Queue>& queues_;
  const Known known_;
  const std::uint64_t number_;
  const std::function<void()> done_;
  std::atomic<Outcome> outcome_ = Outcome::kOpen;
  std::atomic<std::size_t> busy_ = 0;  // a queue because of which it is for none
  std::atomic<std::size_t> left_;      // queues that do not have the list yet
};

}  // namespace splitnic::iou
