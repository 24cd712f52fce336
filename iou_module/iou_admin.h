// The control socket of the I/O unit serves every LAN port, every host and every counter. `set`
// belongs to the host side; `ping` goes to the first host that is connected. Thread: the data
// thread.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "control/daemon/admin.h"
#include "iou_module/admission.h"
#include "iou_module/iou.h"
#include "iou_module/policy/iou_options.h"
#include "lan_bridge/ports/watched_port.h"

namespace splitnic::iou {

class IouAdmin final : public control::Admin {
 public:
  // All outlive this.
  IouAdmin(const IouOptions& options, base::Clock& clock, Admission& admission,
           VisitCounters visit_carriers)
      : control::Admin(clock, std::move(visit_carriers)),
        options_(options),
        admission_(admission) {}
  // Before this call the state is "connecting" and there is nothing to show.
  void attach(Iou& unit, std::span<const std::unique_ptr<lan::WatchedPort>> lans = {}) {
    unit_ = &unit;
    lans_ = lans;
  }

 private:
  control::Snapshot snapshot(control::SnapshotParts parts) const override;
  // A part is a host.
  AddPart more_parts(control::SnapshotParts parts) const override;
  base::Result<control::KnownPeers> known_peers() const override { return admission_.peers(); }
  base::Status evict(const std::string& name) override {
    return admission_.evict(name, clock_.now());
  }
  base::Result<messaging::Connection*> connection_to_ping() override;
  base::Result<messaging::Connection*> connection_of(const std::string& peer) override;
  base::Status begin_capture(lan::FrameCapture& capture, const std::string& interface) override;

  void add_details(control::PeerInfo& peer, const LanNic& nic, const AttachedHost& host) const;

  const IouOptions& options_;
  Admission& admission_;
  Iou* unit_ = nullptr;
  std::span<const std::unique_ptr<lan::WatchedPort>> lans_;  // as options_.lan
};

}  // namespace splitnic::iou
