// Opens a port of any kind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "lan_bridge/frame_port.h"
#include "lan_bridge/ports/fabric_filter.h"
#include "lan_bridge/ports/port_spec.h"

namespace splitnic::lan {

// Options that apply to some kinds of port only; the others ignore them.
struct PortOptions {
  std::vector<FabricEndpoint> exclude = {};  // pcap, packet: datagrams that are not captured
  bool promiscuous = true;                   // pcap, packet
  std::string alias = "splitnic";            // tap: marks it as one of this program
  bool keep_tap = false;                     // tap
  bool has_carrier = true;                   // tap: at the start
  std::uint32_t gso_max = 0;                 // tap; 0: as it is
  std::uint32_t mtu = 0;                     // 0: as it is; file: 1500
  std::optional<MacAddress> mac = {};        // tap, file
};

// Returns the port with up to `queues` queues, for one thread each; the kernel spreads flows over
// them. Each queue but the first is a port that observes the interface and changes nothing of it:
// set_mac(), set_mtu(), set_carrier() and set_promiscuous() have no effect and succeed. Returns
// fewer queues where the interface or the kernel has no more (a capture file has one), which is
// logged once. An error is one line with the cause and the remedy. `clock` outlives the ports.
// REQUIRES queues > 0 and a name or an interface in `spec`.
base::Result<std::vector<std::unique_ptr<FramePort>>> open_queues(const PortSpec& spec,
                                                                  const PortOptions& options,
                                                                  base::Clock& clock,
                                                                  std::uint32_t queues);

// Returns `queues` queues of an interface that is not there, and that they use once they get
// sockets for it (FramePort::return_by()). REQUIRES queues > 0 and an interface of pcap: or
// packet:.
base::Result<std::vector<std::unique_ptr<FramePort>>> expect_queues(const PortSpec& spec,
                                                                    const PortOptions& options,
                                                                    std::uint32_t queues);

}  // namespace splitnic::lan
