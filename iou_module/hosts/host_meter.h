// The limits of the frames that a host sends: bits and frames of the wire per second, and group
// frames (broadcast and multicast) per second, of which the LAN and every host get a copy. A
// super-frame is charged for each of its frames on the wire (lan_bridge/frame/wire_bytes.h). Frames
// beyond a limit are dropped; it allows bursts of a tenth of a second. Each queue of a unit with
// several has an equal part of each limit. Pure. [M-3] docs/nic_service.md#limits
#pragma once

#include <cstdint>

#include "base/token_bucket.h"
#include "iou_module/hosts/host_rights.h"
#include "lan_bridge/frame/wire_bytes.h"

namespace splitnic::iou {

class HostMeter {
 public:
  enum class Verdict : std::uint8_t { kPass, kStorm, kRate };

  // REQUIRES queues > 0.
  HostMeter(const HostRights& rights, std::uint32_t queues)
      : bits_(bucket(rights.bits_per_second, queues)),
        frames_(bucket(rights.frames_per_second, queues)),
        group_(bucket(rights.group_frames_per_second, queues)),
        is_limited_(bits_.is_limited() || frames_.is_limited()) {}

  // Other limits from now on. What is used of the former ones stays used. REQUIRES queues > 0.
  void set_rights(const HostRights& rights, std::uint32_t queues) {
    change(bits_, rights.bits_per_second, queues);
    change(frames_, rights.frames_per_second, queues);
    change(group_, rights.group_frames_per_second, queues);
    is_limited_ = bits_.is_limited() || frames_.is_limited();
  }
  // Returns whether nothing of the limits is used.
  bool is_full(base::Time now) const {
    return bits_.is_full(now) && frames_.is_full(now) && group_.is_full(now);
  }
  // Charges the frame if it passes.
  Verdict take(bool is_group, const lan::WireCost& cost, base::Time now) {
    if (!is_group && !is_limited_) return Verdict::kPass;
    if (is_group && !group_.may_take(now)) return Verdict::kStorm;
    if (!bits_.may_take(now) || !frames_.may_take(now)) return Verdict::kRate;
    if (is_group) group_.charge(cost.frames);
    bits_.charge(cost.bytes * 8);
    frames_.charge(cost.frames);
    return Verdict::kPass;
  }

 private:
  static base::TokenBucket bucket(std::uint64_t per_second, std::uint32_t queues) {
    base::TokenBucket made{0, 0};
    change(made, per_second, queues);
    return made;
  }
  static void change(base::TokenBucket& bucket, std::uint64_t per_second, std::uint32_t queues) {
    const std::uint64_t rate =
        per_second == 0 ? 0 : std::max<std::uint64_t>(per_second / queues, 1);
    bucket.set_rate(rate, rate / 10);
  }

  base::TokenBucket bits_;
  base::TokenBucket frames_;
  base::TokenBucket group_;
  bool is_limited_;  // unicast frames too
};

}  // namespace splitnic::iou
