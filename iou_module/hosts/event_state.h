// Decides when one host gets an EVENT about its LAN. Only the newest state counts: each change has
// a number, and EVENT requests report the newest one until the host has replied [S001-24]. At most
// one request is outstanding, and at most one per kInterval starts. Pure.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace splitnic::iou {

class EventState {
 public:
  static constexpr base::Duration kInterval = std::chrono::milliseconds(10);

  // The state of the LAN has changed.
  void on_change() {
    ++newest_;
    ++changes_;
  }
  // The reply to INIT_NIC reports the state as well. A repeated INIT_NIC gets the same reply from
  // the reply cache: the host applies it after every EVENT sent between the two, so a change in
  // that time has to be reported once more. The host's next request proves that it has the reply.
  void on_init_request() {
    is_init_last_ = true;
    changes_at_init_ = changes_;
  }
  void on_other_request() {
    if (!is_init_last_) return;
    is_init_last_ = false;
    if (changes_at_init_ != changes_) ++newest_;
  }

  bool is_due() const { return reported_ != newest_ && !is_outstanding_; }
  base::Time not_before() const { return not_before_; }
  std::uint64_t newest() const { return newest_; }
  // An attempt to send was made now; `is_sent`: a reply, or its absence, will follow.
  void on_attempt(bool is_sent, base::Time now) {
    is_outstanding_ = is_sent;
    not_before_ = now + kInterval;
  }
  // The request that reported `number` has ended.
  void on_end(std::uint64_t number, bool is_replied) {
    is_outstanding_ = false;
    if (is_replied) reported_ = number;
  }

 private:
  std::uint64_t newest_ = 0;    // 0: nothing to report
  std::uint64_t reported_ = 0;  // and replied to
  bool is_outstanding_ = false;
  base::Time not_before_{};
  std::uint64_t changes_ = 0;
  std::uint64_t changes_at_init_ = 0;
  bool is_init_last_ = false;  // no other request has followed it
};

}  // namespace splitnic::iou
