// Takes the present state of queue 0 to the data threads of the other queues, the followers. A
// follower whose commands are full gets it 1 ms later, and so do all the others: a post is the
// whole state. Thread: the data thread of queue 0.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace splitnic::control {

class FollowerUpdates {
 public:
  static constexpr base::Duration kAgain = std::chrono::milliseconds(1);

  // Posts the present state to a follower; false: it cannot take it now.
  using Post = std::function<bool()>;
  void add(Post post) { posts_.push_back(std::move(post)); }
  // The state has changed: the next step() posts it.
  void request(base::Time now) { due_at_ = now; }
  void step(base::Time now) {
    if (now < due_at_) return;
    bool is_taken = true;
    for (const Post& post : posts_) is_taken &= post();
    due_at_ = is_taken ? base::kNever : now + kAgain;
  }
  base::Time deadline() const { return due_at_; }

 private:
  std::vector<Post> posts_;
  base::Time due_at_ = base::kNever;
};

}  // namespace splitnic::control
