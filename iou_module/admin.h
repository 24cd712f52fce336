// What the control socket of the I/O unit can ask: show, stats, ping (of the first host). On the
// data thread.
#pragma once

#include <functional>
#include <utility>

#include "base/clock.h"
#include "control/admin.h"
#include "control/snapshot.h"
#include "iou_module/iou.h"
#include "iou_module/options.h"

namespace splitnic::iou {

class Admin {
 public:
  Admin(const IouOptions& options, base::Clock& clock) : options_(options), clock_(clock) {}
  // `visit_carriers` visits the counters of what is below the adapter.
  using VisitCounters = std::function<void(const base::CounterVisitor&)>;
  void attach(Iou& unit, VisitCounters visit_carriers) {
    unit_ = &unit;
    visit_carriers_ = std::move(visit_carriers);
  }
  void handle(const control::Request& request, control::ReplyFunction reply);

 private:
  control::Snapshot snapshot() const;
  void ping(std::uint32_t count, control::ReplyFunction reply);

  const IouOptions& options_;
  base::Clock& clock_;
  Iou* unit_ = nullptr;
  VisitCounters visit_carriers_;
};

}  // namespace splitnic::iou
