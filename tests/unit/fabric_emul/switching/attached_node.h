// An end node behind a switch: an attachment, and the port above it.
#pragma once

#include <string>

#include "fabric_emul/switching/attachment.h"
#include "tests/unit/fabric_emul/switching/switch_world.h"

namespace splitnic::fabric::switch_world {

struct Node {
  Node(Underlay& carrier, const PeerAddress& switch_at, std::uint64_t eui64, std::uint64_t instance,
       bool listens, base::Clock& clock, std::size_t links_max = 4, std::uint32_t queue = 0,
       const PartitionTable& partitions = {}, LinkProfile hop = LinkProfile::kSpeed,
       const std::string& name = "node")
      : random(eui64),
        attachment(carrier, switch_at,
                   link_world::with_profile(link_world::config_of(eui64, instance), hop), clock,
                   random, queue, partitions, name) {
    PortConfig config = link_world::config_of(eui64, instance, listens);
    config.links_max = links_max;
    config.lids = [this](const PeerAddress& peer) { return attachment.lids_of(peer); };
    end = std::make_unique<link_world::End>(attachment, config);
  }
  base::SeededRandom random;
  Attachment attachment;
  std::unique_ptr<link_world::End> end;
};

}  // namespace splitnic::fabric::switch_world
