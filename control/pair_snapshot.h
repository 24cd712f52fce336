// What a pair of channels adds to a snapshot, the same on both sides. `Pair` is
// messaging::Connection; this folder knows no messaging, so it comes as a parameter.
#pragma once

#include <string>

#include "control/snapshot.h"

namespace splitnic::control {

template <class Pair>
void add_pair(Snapshot& snapshot, const Pair& pair, const std::string& peer) {
  const auto queue_of = [&](const auto& view) -> std::optional<std::uint64_t> {
    if (pair.queues() == 1) return std::nullopt;
    return view.queue;
  };
  for (const auto& channel : pair.channels()) {
    snapshot.channels.push_back({peer, channel.number, channel.qpn.value, channel.peer_qpn.value,
                                 std::string(channel.service), std::string(channel.state),
                                 queue_of(channel)});
  }
  for (const auto& pool : pair.pools()) {
    PoolInfo info;
    info.ref = pool.ref;
    info.elements = pool.elements;
    info.size = pool.size;
    info.available = pool.available;
    info.peer = peer;
    info.side = pool.ours ? "own" : "peer";
    info.queue = queue_of(pool);
    info.elements_by_state = {
        {pool.ours ? "posted" : "available", pool.available},
        {pool.ours ? "filled" : "writing", pool.in_use},
        {pool.ours ? "released" : "consumed", pool.elements - pool.available - pool.in_use}};
    snapshot.pools.push_back(info);
  }
}

}  // namespace splitnic::control
