// Opens a LAN port as a program does that was given this text.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/config/values.h"
#include "lan_bridge/ports/port_factory.h"

namespace splitnic::support {

// One port per queue. `clock` outlives them.
inline base::Result<std::vector<std::unique_ptr<lan::FramePort>>> open_lan_queues(
    const std::string& text, const lan::PortOptions& options, base::Clock& clock,
    std::uint32_t queues) {
  const auto spec = control::parse_lan_port(text);
  if (!spec) return spec.error();
  return lan::open_queues(*spec, options, clock, queues);
}

inline base::Result<std::unique_ptr<lan::FramePort>> open_lan_port(const std::string& text,
                                                                   const lan::PortOptions& options,
                                                                   base::Clock& clock) {
  auto queues = open_lan_queues(text, options, clock, 1);
  if (!queues) return queues.error();
  return std::move(queues->front());
}

}  // namespace splitnic::support
