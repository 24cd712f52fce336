// A capture that runs: the interfaces whose frames it has, and the copies of each of their queues.
// It ends with this object: the queues then copy nothing any more. Thread: any; what copies() has
// is read by one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "lan_bridge/frame/frame_copies.h"

namespace splitnic::lan {

class FrameCapture {
 public:
  using Copies = std::vector<std::shared_ptr<FrameCopies>>;

  // `to_wall_clock` and `snap` are as in FrameCopies.
  FrameCapture(base::Duration to_wall_clock, std::uint32_t snap)
      : to_wall_clock_(to_wall_clock), snap_(snap) {}
  ~FrameCapture() { end(); }
  FrameCapture(const FrameCapture&) = delete;
  FrameCapture& operator=(const FrameCapture&) = delete;

  // Returns room for the copies of one queue of the interface, which is numbered by its first use.
  std::shared_ptr<FrameCopies> add(const std::string& interface) {
    const std::lock_guard lock(mutex_);
    auto found = std::ranges::find(interfaces_, interface);
    if (found == interfaces_.end()) found = interfaces_.insert(found, interface);
    const auto number = static_cast<std::size_t>(found - interfaces_.begin());
    copies_.push_back(std::make_shared<FrameCopies>(number, to_wall_clock_, snap_));
    return copies_.back();
  }
  // The names of its interfaces, by their numbers.
  std::vector<std::string> interfaces() const {
    const std::lock_guard lock(mutex_);
    return interfaces_;
  }
  Copies copies() const {
    const std::lock_guard lock(mutex_);
    return copies_;
  }
  // No more frames are copied, but for those that are being copied now. What is there stays.
  void end() {
    const std::lock_guard lock(mutex_);
    for (const auto& one : copies_) one->end();
  }

 private:
  const base::Duration to_wall_clock_;
  const std::uint32_t snap_;
  mutable std::mutex mutex_;
  std::vector<std::string> interfaces_;  // guarded by mutex_
  Copies copies_;                        // guarded by mutex_
};

}  // namespace splitnic::lan
