// The cell payload maximum (MCP) and the datagram length (stride) of one path: derived from what
// the underlay carries, reduced by what probes find. A reduced result expires after path_known,
// so that the next INIT offers the full length again. Pure: time and nonces come in.
// [L-33] docs/protocol/init.md#path-probes
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/link/path_probe.h"
#include "fabric_emul/link/port_config.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

class PathMtu {
 public:
  explicit PathMtu(const PortConfig& config)
      : profile_(profile_of(config)),
        mcp_wanted_(config.mcp_wanted),
        path_known_(config.path_known) {}

  // The MCP to offer in INIT on a path that carries datagrams of datagram_bytes_max.
  std::uint16_t offer(std::size_t datagram_bytes_max, std::size_t batch_bytes_max) const;
  // A new INIT starts: forgets a probe's result that has expired.
  void expire(base::Time now);
  void forget() {
    found_stride_ = 0;
    mcp_largest_ = 0;
  }

  // Probes found that the path carries less than the underlay, and the result is in force.
  bool is_narrowed() const { return found_stride_ != 0; }

  // The MCP that both ends agreed; 0 before the first INIT.
  std::uint16_t mcp() const { return mcp_; }
  void set_mcp(std::uint16_t mcp);
  // The stride in the speed and shm profiles.
  std::size_t stride() const { return mcp_ + kStrideOverhead; }
  // The longest cell that the peer may send: of a queue pair, on this path so far, or of MGMT.
  std::size_t cell_bytes_max() const {
    return std::max<std::size_t>(mcp_largest_, kMgmtPayloadMax) + kCellOverheadMax;
  }
  // The stride in the full profile: as long as the path carries, so that a datagram holds many
  // flits.
  std::size_t full_stride(std::size_t datagram_bytes_max, std::size_t batch_bytes_max,
                          std::size_t flit_payload_max) const;

  // Probes. Datagrams of up to this stride are sent from now on.
  void set_probed(std::size_t stride) {
    if (stride != probe_.full()) probe_.start(stride);
  }
  base::Time deadline() const { return probe_.deadline(); }
  // The longest of the datagrams that were sent has this many bytes.
  void on_sent(std::size_t datagram_bytes, base::Time now) {
    if (datagram_bytes > PathProbe::kLengths.back()) probe_.on_long_sent(now);
  }
  void probe_now(base::Time now) { probe_.hurry(now); }
  std::span<const PathProbe::Probe> on_time(base::Time now, base::Random& random) {
    return probe_.on_time(now, random);
  }
  void on_reply(std::uint64_t nonce) { probe_.on_reply(nonce); }
  // Returns true once after probes found that only shorter datagrams arrive.
  bool take_narrowed(base::Time now);

 private:
  // The datagrams that the path carries: of what the underlay does, what probes found.
  std::size_t carried(std::size_t datagram_bytes_max) const;

  const LinkProfile profile_;
  const std::uint16_t mcp_wanted_;
  const base::Duration path_known_;
  PathProbe probe_;
  std::uint16_t mcp_ = 0;
  std::uint16_t mcp_largest_ = 0;  // since forget()
  std::size_t found_stride_ = 0;   // result of probes; 0: no limit but the underlay's
  base::Time found_at_{};
};

}  // namespace splitnic::fabric
