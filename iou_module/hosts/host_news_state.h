// Decides when the other queues of the unit have to hear of one host: when it has become usable or
// unusable, and when its settings or its rights may have changed. The news are HostNews
// (siblings.h). Pure.
#pragma once

#include <utility>

namespace splitnic::iou {

class HostNewsState {
 public:
  // The settings or the rights of the host may have changed.
  void set_due() { is_due_ = true; }
  // Returns true if news are due, which the caller then sends: set_due() was called, or the host
  // has become usable or unusable, since the last call. They are due at first.
  bool take_due(bool is_usable) {
    const bool has_changed = std::exchange(is_usable_, is_usable) != is_usable;
    return std::exchange(is_due_, false) || has_changed;
  }
  // As of the last take_due(); false before.
  bool was_usable() const { return is_usable_; }

 private:
  bool is_due_ = true;
  bool is_usable_ = false;
};

}  // namespace splitnic::iou
