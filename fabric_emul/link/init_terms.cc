#include "fabric_emul/link/init_terms.h"

#include <algorithm>

namespace splitnic::fabric {
namespace {

constexpr std::uint16_t kLanesMask = 0x800F;    // data 0..3, management 15
constexpr std::uint16_t kLanesNeeded = 0x8001;  // what every link has

constexpr std::uint32_t major_of(std::uint32_t program_version) { return program_version >> 24; }

}  // namespace

Init InitTerms::state(InitStep step, std::uint16_t mcp) const {
  Init init;
  init.step = step;
  init.profile = profile_of(config_);
  init.cell_crc = config_.crc_head_only ? CellCrcMode::kHeadOnly : CellCrcMode::kWholeCell;
  init.program_version = config_.program_version;
  init.lanes_mask = kLanesMask;
  if (takes_fragments_) init.lanes_mask |= Init::kTakesFragments;
  init.mcp_max = mcp;
  init.flit_payload_max = static_cast<std::uint16_t>(
      std::clamp(mcp + kCellOverheadMax, kFlitPayloadMin, kFlitPayloadMax));
  if (init.profile == LinkProfile::kFull) {
    init.lanes_mask = config_.full.lanes_mask;
    init.flit_payload_max = static_cast<std::uint16_t>(config_.full.flit_payload_max);
    init.initial_credit = config_.full.receive_blocks;
  }
  init.receive_buffer_bytes =
      static_cast<std::uint32_t>(std::min<std::size_t>(receive_buffer_bytes_, 0xFFFFFFFFU));
  init.port = config_.number;
  init.eui64 = config_.eui64;
  init.instance = config_.instance;
  return init;
}

InitReason InitTerms::check(const Init& peer) const {
  if (major_of(peer.program_version) != major_of(config_.program_version)) {
    return InitReason::kVersion;
  }
  const Init own = state(InitStep::kHello, kMcpMin);
  if (peer.profile != own.profile || peer.cell_crc != own.cell_crc) return InitReason::kProfile;
  const bool has_lanes = (peer.lanes_mask & kLanesNeeded) == kLanesNeeded;
  if (peer.profile == LinkProfile::kFull && !has_lanes) return InitReason::kProfile;
  if (peer.mcp_max < config_.mcp_min) return InitReason::kMcp;
  const bool is_other = peer.eui64 != config_.eui64 && peer.eui64 != Eui64();
  if (!is_other || !is_expected(peer)) return InitReason::kIdentity;
  return InitReason::kNone;
}

FullLinkConfig InitTerms::agree(const Init& peer) const {
  FullLinkConfig agreed = config_.full;
  agreed.cell_bytes_max = full_cell_bytes_max(config_);
  agreed.lane_queue_bytes = std::max(agreed.lane_queue_bytes, 4 * agreed.cell_bytes_max);
  agreed.lanes_mask = config_.full.lanes_mask & peer.lanes_mask;
  agreed.flit_payload_max = std::min<std::size_t>(agreed.flit_payload_max, peer.flit_payload_max);
  agreed.peer_receive_blocks = peer.initial_credit;
  return agreed;
}

}  // namespace splitnic::fabric
