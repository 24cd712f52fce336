// Queue pairs by number. Numbers are random and are not reused for 60 s, so late cells of an old
// connection find no queue pair. Number 0 is none, 1 is the management queue pair.
// Thread: the data thread.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>

#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/transport/qp.h"

namespace splitnic::fabric {

class QpTable {
 public:
  QpTable(std::size_t qps_max, base::Random& random) : qps_max_(qps_max), random_(random) {}

  // Returns a free number, or none at the limit.
  std::optional<Qpn> pick(base::Time now) {
    if (qps_.size() >= qps_max_) return std::nullopt;
    while (!resting_.empty() && resting_.front().until <= now) {
      resting_set_.erase(resting_.front().qpn);
      resting_.pop_front();
    }
    for (;;) {
      const Qpn qpn(random_.next32() & 0xFFFFFF);
      if (qpn.value > 15 && !qps_.contains(qpn) && !resting_set_.contains(qpn)) return qpn;
    }
  }
  Qp& insert(Qpn qpn, std::unique_ptr<Qp> qp) {
    last_ = {};
    return *(qps_[qpn] = std::move(qp));
  }
  Qp* find(Qpn qpn) {
    if (qpn == last_.qpn) return last_.qp;
    const auto at = qps_.find(qpn);
    if (at == qps_.end()) return nullptr;
    last_ = {qpn, at->second.get()};
    return last_.qp;
  }
  void erase(Qpn qpn, base::Time now) {
    last_ = {};
    qps_.erase(qpn);
    resting_.push_back({qpn, now + kRest});
    resting_set_.emplace(qpn, true);
  }
  std::size_t size() const { return qps_.size(); }
  template <class Fn>
  void for_each(Fn&& fn) {
    for (auto& [qpn, qp] : qps_) fn(*qp);
  }

 private:
  static constexpr base::Duration kRest = std::chrono::seconds(60);
  struct Resting {
    Qpn qpn;
    base::Time until;
  };
  struct Found {
    Qpn qpn;  // 0: none
    Qp* qp = nullptr;
  };
  std::size_t qps_max_;
  base::Random& random_;
  Found last_;  // most cells and posts are for the queue pair of the one before
  std::unordered_map<Qpn, std::unique_ptr<Qp>> qps_;
  std::deque<Resting> resting_;
  std::unordered_map<Qpn, bool> resting_set_;
};

}  // namespace splitnic::fabric
