// The state that a port shares with its links: the underlay, the settings, the counters, the cells
// of the batch being received, the links to flush and the common deadline. Owned by the Port,
// outlives its links. Thread: the data thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "fabric_emul/link/crc_terms.h"
#include "fabric_emul/link/init_terms.h"
#include "fabric_emul/link/lid_terms.h"
#include "fabric_emul/link/link_counters.h"
#include "fabric_emul/link/link_observer.h"
#include "fabric_emul/link/port_config.h"
#include "fabric_emul/link/received_cells.h"
#include "fabric_emul/underlay/underlay.h"

namespace splitnic::fabric {

struct PortContext {
  PortContext(Underlay& underlay_, const PortConfig& config_, base::Random& random_,
              LinkObserver& observer_);
  PortContext(const PortContext&) = delete;
  PortContext& operator=(const PortContext&) = delete;

  LinkProfile profile() const { return profile_of(config); }
  bool uses_fragments() const {
    return profile() == LinkProfile::kSpeed && config.uses_fragments &&
           underlay.carries_fragments();
  }
  // A link must be called at `at`: the port's deadline is never later.
  void call_at(base::Time at) { deadline = std::min(deadline, at); }
  // The link in this slot has something to send. REQUIRES that it is not queued.
  void queue(std::size_t slot);
  // Sends one INIT flit at once, in its own datagram, ahead of batches that wait; zeros behind
  // it extend the datagram to datagram_bytes. REQUIRES no claim on the room to this address.
  void send_init(const PeerAddress& to, const Init& init, std::size_t datagram_bytes = 0);
  // Returns false if the underlay did not take the datagram. REQUIRES as send_init().
  bool send_control(const PeerAddress& to, base::Bytes datagram);

  Underlay& underlay;
  const std::uint16_t& blocked_lanes;  // the underlay's
  const PortConfig config;
  base::Random& random;
  LinkObserver& observer;
  const InitTerms terms;
  const CrcTerms crc_terms;
  const LidTerms lid_terms;
  base::Counters<LinkCounter> counters;
  base::Counters<FullLinkCounter> full_counters;
  ReceivedCells received;
  std::vector<std::size_t> to_flush;  // slots of links with something to send, each once
  base::Time deadline = base::kNever;
  std::vector<std::byte> init_datagram;  // as long as the longest that was sent
};

}  // namespace splitnic::fabric
