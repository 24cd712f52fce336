// The terms of this end in INIT: what it states of itself in every step, what it requires of a
// peer, and what both agree in the full profile. Pure. Thread: the data thread.
// docs/protocol/init.md#init
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric_emul/link/port_config.h"
#include "fabric_emul/wire/init.h"

namespace splitnic::fabric {

class InitTerms {
 public:
  // config outlives this object.
  InitTerms(const PortConfig& config, std::size_t receive_buffer_bytes, bool takes_fragments)
      : config_(config),
        receive_buffer_bytes_(receive_buffer_bytes),
        takes_fragments_(takes_fragments) {}

  // An INIT of this step with everything that does not depend on the link.
  Init state(InitStep step, std::uint16_t mcp) const;
  // Returns kNone if the terms of the peer go together with ours.
  InitReason check(const Init& peer) const;
  // Whether this is the peer that a topology has there.
  bool is_expected(const Init& peer) const {
    return !config_.is_expected || config_.is_expected(peer);
  }
  // Full profile: the configuration that follows from both ends' terms.
  FullLinkConfig agree(const Init& peer) const;

 private:
  const PortConfig& config_;
  const std::size_t receive_buffer_bytes_;
  const bool takes_fragments_;
};

}  // namespace splitnic::fabric
