// The control socket of the I/O unit serves every LAN port, every host and every counter. `set`
// belongs to the host side; `ping` goes to the first host that is connected. Thread: the data
// thread.
#pragma once

#include <string>

#include "control/daemon/admin.h"
#include "iou_module/iou.h"
#include "iou_module/options.h"

namespace splitnic::iou {

class Admin final : public control::Admin {
 public:
  Admin(const IouOptions& options, base::Clock& clock, VisitCounters visit_carriers)
      : control::Admin(clock, std::move(visit_carriers)), options_(options) {}
  // Before this call the state is "connecting" and there is nothing to show.
  void attach(Iou& unit) { unit_ = &unit; }

 private:
  control::Snapshot snapshot() const override;
  control::Reply set(const std::string& what, const std::string& value) override;
  base::Result<messaging::Connection*> connection_to_ping() override;

  const IouOptions& options_;
  Iou* unit_ = nullptr;
};

}  // namespace splitnic::iou
