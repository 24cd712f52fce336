// The limits of hosts, of frames and of requests, as far as they are used up. They outlive a
// connection, so that a new one brings no new burst and ends no debt, until all has flowed back.
// Thread: the data thread. [M-2] [M-3] docs/nic_service.md#limits
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "base/rate_limit.h"
#include "iou_module/hosts/host_id.h"
#include "iou_module/hosts/host_meter.h"

namespace splitnic::iou {

struct HostLimits {
  // CfgUtil requests that are executed, but ECHO; others get the status busy [M-2]. Enough for all
  // settings of a new connection at once.
  static constexpr std::uint32_t kRequestsPerSecond = 50;
  static constexpr std::uint32_t kRequestsBurst = 20;

  HostLimits(const HostRights& rights, std::uint32_t queues) : meter(rights, queues) {}
  // Returns whether nothing of them is used.
  bool is_full(base::Time now) const { return meter.is_full(now) && requests.is_full(now); }

  HostMeter meter;
  base::RateLimit requests{base::Duration(std::chrono::seconds(1)) / kRequestsPerSecond,
                           kRequestsBurst};
};

// By principal (host_id.h). Bounded: beyond kHostsMax those of hosts that are not attached are
// forgotten.
class KeptLimits {
 public:
  static constexpr std::size_t kHostsMax = 1024;

  // Returns the limits of this host; the rights hold from now on. `queues` as in HostMeter.
  std::shared_ptr<HostLimits> of(const HostId& host, const HostRights& rights, std::uint32_t queues,
                                 base::Time now) {
    std::erase_if(kept_, [&](const auto& entry) {
      return entry.second.use_count() == 1 && entry.second->is_full(now);
    });
    if (const auto found = kept_.find(host); found != kept_.end()) {
      found->second->meter.set_rights(rights, queues);
      return found->second;
    }
    if (kept_.size() >= kHostsMax) {
      std::erase_if(kept_, [](const auto& entry) { return entry.second.use_count() == 1; });
    }
    return kept_.emplace(host, std::make_shared<HostLimits>(rights, queues)).first->second;
  }
  std::size_t size() const { return kept_.size(); }

 private:
  std::map<HostId, std::shared_ptr<HostLimits>> kept_;
};

}  // namespace splitnic::iou
