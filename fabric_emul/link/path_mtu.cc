#include "fabric_emul/link/path_mtu.h"

#include <algorithm>

#include "fabric_emul/underlay/underlay.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kStrideMax = kBatchBytesMax;

}  // namespace

std::size_t PathMtu::carried(std::size_t datagram_bytes_max) const {
  if (found_stride_ == 0) return datagram_bytes_max;
  return std::min(datagram_bytes_max, found_stride_ + kSessionReserveBytes);
}

std::uint16_t PathMtu::offer(std::size_t datagram_bytes_max, std::size_t batch_bytes_max) const {
  const std::size_t datagram = carried(datagram_bytes_max);
  if (datagram < kSessionReserveBytes + kStrideOverhead + kMcpMin) return kMcpMin;
  const std::size_t stride =
      std::min({datagram - kSessionReserveBytes, kStrideMax, batch_bytes_max});
  const auto mcp = static_cast<std::uint16_t>((stride - kStrideOverhead) & ~std::size_t{3});
  if (mcp_wanted_ == 0)
    return profile_ == LinkProfile::kFull ? std::min(mcp, kDefaultMcpFull) : mcp;
  return std::max(kMcpMin, std::min(mcp, static_cast<std::uint16_t>(mcp_wanted_ & ~3U)));
}

void PathMtu::expire(base::Time now) {
  if (now - found_at_ > path_known_) found_stride_ = 0;
}

void PathMtu::set_mcp(std::uint16_t mcp) {
  mcp_ = mcp;
  mcp_largest_ = std::max(mcp_largest_, mcp);
  if (profile_ != LinkProfile::kFull) set_probed(stride());
}

std::size_t PathMtu::full_stride(std::size_t datagram_bytes_max, std::size_t batch_bytes_max,
                                 std::size_t flit_payload_max) const {
  std::size_t bytes = stride();
  const std::size_t datagram = carried(datagram_bytes_max);
  if (datagram > kSessionReserveBytes) {
    bytes = std::max(bytes, std::min(datagram - kSessionReserveBytes, batch_bytes_max));
  }
  return std::max(bytes, kFlitHeaderBytes + flit_payload_max);
}

bool PathMtu::take_narrowed(base::Time now) {
  const auto stride = probe_.take_narrowed();
  if (!stride) return false;
  found_stride_ = *stride;
  found_at_ = now;
  return true;
}

}  // namespace splitnic::fabric
