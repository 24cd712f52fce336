// The state of queue 0 of a host, which owns the interface, as the additional queues follow it.
// docs/adr/0006-a-queue-is-whole.md Plain values, passed between the data threads by message.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric_emul/verbs/adapter.h"

namespace splitnic::host {

struct QueueZero {
  bool is_configured = false;  // frames cross on queue 0
  std::uint32_t queues = 1;    // of the I/O unit, once configured
  // The process of the I/O unit. Another queue that finds another one there does not use it.
  fabric::Eui64 unit{};
  std::uint64_t instance = 0;
  std::size_t unit_number = 0;  // among the I/O units that the host knows
  friend bool operator==(const QueueZero&, const QueueZero&) = default;
};

}  // namespace splitnic::host
