// The settings of a port: identity, profile, limits and timers.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "fabric_emul/link/full_profile/full_link_config.h"
#include "fabric_emul/link/siphash.h"
#include "fabric_emul/underlay/underlay.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/init.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

// Default offer of this end of a full-profile link. cell_bytes_max follows from the MCP.
constexpr FullLinkConfig full_defaults() {
  FullLinkConfig config;
  config.receive_blocks = 4096;
  config.window = 1024;
  return config;
}

// The same for links between processes, of one machine or several. A process that waits for a
// processor sends nothing for longer than 35 ms and is not dead: it gets as long as in the speed
// profile.
constexpr FullLinkConfig full_between_processes() {
  FullLinkConfig config = full_defaults();
  config.idle_missing_max = 90;
  config.failures_max = 900;  // at least 1 ms each
  return config;
}

// The CRC over the payload of cells, in the speed profile.
enum class PayloadCrcMode : std::uint8_t {
  kOn,
  kOff,   // left out towards a peer that accepts it
  kAuto,  // left out where the link is keyed, or where the path is memory and the peer is proven to
          // run on the same machine
};

// The LIDs of both ends of a link.
struct LinkLids {
  Lid local, remote;
  friend bool operator==(const LinkLids&, const LinkLids&) = default;
};

struct PortConfig {
  Eui64 eui64;
  std::uint64_t instance = 0;  // random per process start, not 0
  // Accepts HELLOs; has LID lid_base + 1 and assigns lid_base + 2 .. lid_base + 1 + links_max to
  // its peers.
  bool listens = false;
  // Where a topology gives the LIDs: those of the link to this peer, at either end. A listener then
  // assigns them, a client takes no others, and a peer without LIDs is dropped. Empty: as above.
  std::function<std::optional<LinkLids>(const PeerAddress& peer)> lids{};
  // Where a topology gives who is at the other end: whether that is the sender of this INIT. A
  // listener refuses others as kIdentity, a client drops their READY. Empty: anybody is.
  std::function<bool(const Init& peer)> is_expected{};
  // A client that takes LID 0 of a switch: who is behind a switch may get its LID later, by SMP.
  bool takes_no_lid = false;
  std::uint8_t number = 0;     // of the port of a switch, stated in INIT; 0: of an end node
  std::uint16_t lid_base = 0;  // set by Adapter::add_port: after those of earlier ports [S001-29]
  // 0: derived from the path, stride = min(datagram_bytes_max - 36, 65000) and MCP = (stride - 72)
  // & ~3; in the full profile at most 256.
  std::uint16_t mcp_wanted = 0;
  // Peers that accept cells of this payload at least; others are refused, because short cells cost
  // us more work than they cost the peer. At least kMcpMin. [M-2]
  std::uint16_t mcp_min = kMcpMin;
  // Speed profile: where a path has become narrower, longer cells are sent and taken in fragments.
  // Not between switches: the ends of a path probe for cells that all of it carries whole.
  bool uses_fragments = true;
  std::size_t links_max = 64;
  std::uint32_t program_version =
      0x00010000;              // major (8), minor (8), patch (16); majors must be equal
  bool crc_head_only = false;  // shm profile, whatever `profile` is
  PayloadCrcMode payload_crc = PayloadCrcMode::kOn;
  // Only processes on this machine have it. None: nothing can be proven.
  std::optional<SipKey> machine_key;
  LinkProfile profile = LinkProfile::kSpeed;
  FullLinkConfig full = full_defaults();
  // The lane of each service level, in every profile [S004-21].
  std::array<std::uint8_t, kSlMax + 1> sl_to_vl{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
  // The DSCP of the datagrams that carry flits of each lane, 0 to 63 [S002-43].
  std::array<std::uint8_t, kLaneCount> dscp_of_lane{};
  base::Duration idle = std::chrono::milliseconds(200);  // IDLE after this long without sending
  unsigned idle_missing_max = 4;                         // then the link is down
  base::Duration hello_min = std::chrono::milliseconds(100);
  base::Duration hello_max = std::chrono::seconds(1);
  // A peer that sent BYE may be back soon: HELLO is repeated so often, for so long after BYE.
  base::Duration hello_after_bye = std::chrono::milliseconds(50);
  base::Duration return_expected = std::chrono::seconds(1);
  // One that fell silent may be started again: HELLO is repeated after hello_silent at most, for so
  // long after its last flit. In the full profile, where only INIT brings a link back, always.
  base::Duration hello_silent = std::chrono::milliseconds(200);
  base::Duration return_possible = std::chrono::seconds(5);
  // When all slots are in use, that of a link that was down for this long may go to another peer.
  base::Duration forget_after = std::chrono::seconds(60);
  // The result of path probes is used for this long; the next INIT then offers the full MCP.
  base::Duration path_known = std::chrono::minutes(10);
};

// The profile that a port offers in INIT.
constexpr LinkProfile profile_of(const PortConfig& config) {
  return config.crc_head_only ? LinkProfile::kShm : config.profile;
}

// The largest cell that a port of the full profile sends.
constexpr std::size_t full_cell_bytes_max(const PortConfig& config) {
  const std::size_t mcp = config.mcp_wanted == 0 ? kDefaultMcpFull : config.mcp_wanted;
  return std::min(std::max(mcp, kMgmtPayloadMax) + kCellOverheadMax, kFlitPayloadMax);
}

// The lanes with the DSCP of this one, and so with the same datagrams: bit n is lane n.
constexpr std::uint16_t lanes_with_dscp_of(const PortConfig& config, std::uint8_t vl) {
  std::uint16_t lanes = 0;
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    if (config.dscp_of_lane[lane] == config.dscp_of_lane[vl]) {
      lanes = static_cast<std::uint16_t>(lanes | 1U << lane);
    }
  }
  return lanes;
}

// Bytes of the cells that one batch completes and earlier ones began: in the full profile one of
// each lane.
constexpr std::size_t carried_bytes_max(const PortConfig& config) {
  return profile_of(config) == LinkProfile::kFull ? kLaneCount * full_cell_bytes_max(config) : 0;
}

}  // namespace splitnic::fabric
