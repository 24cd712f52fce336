// The memory limits of a host: each of its connections has an account (base/memory_account.h) with
// a limit, and the host has one connection at each queue. Pure. [M-1] docs/hosts_file.md#memory
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "iou_module/hosts/host_rights.h"
#include "messaging/pair_config.h"

namespace splitnic::iou {

// For a host whose rights name no limit: 64 MiB, or enough for pools that are larger than usual.
// `pools` are those of all queues.
inline std::uint64_t default_memory(std::span<const messaging::PoolSpec> pools) {
  constexpr std::uint64_t kUsual = std::uint64_t{64} << 20;
  constexpr std::uint64_t kBesidesPools = std::uint64_t{48} << 20;  // of 8 queues
  std::uint64_t bytes = kBesidesPools;
  for (const messaging::PoolSpec& pool : pools) bytes += std::uint64_t{pool.count} * pool.size;
  return std::max(kUsual, bytes);
}

// The part of one connection, where the unit has `queues`.
inline std::uint64_t memory_of_queue(const HostRights& rights, std::uint64_t usual,
                                     std::uint32_t queues) {
  return rights.memory_max.value_or(usual) / std::max(1U, std::min(queues, rights.queues_max));
}

}  // namespace splitnic::iou
