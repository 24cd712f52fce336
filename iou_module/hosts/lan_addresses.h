// The source addresses of frames from one LAN: what its machines have used within kUsedFor no host
// gets. Bounded; the oldest of a set is forgotten first, so a machine that invents addresses makes
// room for itself alone. A repeated source costs one compare. Thread: the data thread. [H-1]
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "lan_bridge/mac_table.h"

namespace splitnic::iou {

class LanAddresses {
 public:
  static constexpr base::Duration kUsedFor = std::chrono::minutes(5);
  // An address that is in use is learned again after this time.
  static constexpr base::Duration kLearnEvery = std::chrono::seconds(10);
  static constexpr std::size_t kEntriesMax = 8192;

  // `seed` as in lan::MacTable.
  explicit LanAddresses(std::uint64_t seed) : table_(kEntriesMax, kUsedFor, seed) {}

  // Returns true if learn() has something to do for a frame with this source.
  bool is_due(const lan::MacAddress& source, base::Time now) {
    if (source == last_ && now < last_until_) return false;
    const auto seen = table_.last_seen(source, now);
    if (!seen || now - *seen >= kLearnEvery) return true;
    last_ = source;
    last_until_ = *seen + kLearnEvery;
    return false;
  }
  void learn(const lan::MacAddress& source, base::Time now) { table_.learn(source, kLan, now); }
  void forget(const lan::MacAddress& mac) {
    table_.forget(mac);
    if (last_ == mac) last_until_ = {};
  }
  bool has(const lan::MacAddress& mac, base::Time now) const {
    return table_.find(mac, now).has_value();
  }

 private:
  static constexpr lan::HostSlot kLan = 0;
  lan::MacTable table_;
  lan::MacAddress last_{};
  base::Time last_until_{};
};

}  // namespace splitnic::iou
