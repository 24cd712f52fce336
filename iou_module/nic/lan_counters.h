// Counters of one LAN NIC of the I/O unit, apart from those of its port and its hosts.
#pragma once

#include <array>
#include <string_view>

#include "base/counters.h"

namespace splitnic::iou {

enum class LanCounter {
  kRxFrames,
  kRxBytes,
  kRxDropNoHost,
  kTxFrames,
  kTxBytes,
  kHostToHost,
  kHostsSilent,
  kCount_
};

}  // namespace splitnic::iou

template <>
struct splitnic::base::CounterNames<splitnic::iou::LanCounter> {
  static constexpr std::array<std::string_view, 7> kNames = {
      "lan.rx.frames", "lan.rx.bytes",     "lan.rx.drop.no_host", "lan.tx.frames",
      "lan.tx.bytes",  "iou.host_to_host", "iou.hosts.silent"};
};
