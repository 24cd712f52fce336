// The NIC settings of hosts that are away, kept for a while: a process that reconnects finds them,
// and sends its settings only if the digest (GET_STATE) differs. Meanwhile no frame is kept for the
// host; its addresses wait for it elsewhere (iou_module/hosts/former_owners.h). Bounded: the oldest
// settings are dropped first. Thread: the data thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "iou_module/hosts/host_process.h"
#include "iou_module/hosts/nic_settings.h"

namespace splitnic::iou {

class ParkedSettings {
 public:
  static constexpr base::Duration kKeptFor = std::chrono::seconds(60);
  static constexpr std::size_t kHostsMax = 256;

  void park(const HostProcess& host, NicSettings settings, base::Time now) {
    static_cast<void>(take(host, now));
    if (kept_.size() == kHostsMax) kept_.erase(kept_.begin());
    settings.started = false;
    kept_.push_back({host, std::move(settings), now + kKeptFor});
  }
  // Removes and returns the settings of this process, unless it was away for too long. Settings of
  // an earlier process of the same node are dropped.
  std::optional<NicSettings> take(const HostProcess& host, base::Time now) {
    std::optional<NicSettings> found;
    std::erase_if(kept_, [&](Kept& k) {
      if (k.until > now && k.host == host) found = std::move(k.settings);
      return k.until <= now || k.host.node == host.node;
    });
    return found;
  }
  std::size_t size() const { return kept_.size(); }

 private:
  struct Kept {
    HostProcess host;
    NicSettings settings;
    base::Time until;
  };
  std::vector<Kept> kept_;  // oldest first
};

}  // namespace splitnic::iou
