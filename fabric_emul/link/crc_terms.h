// Agreement about the cell CRC of a link in the speed profile. The cell CRC covers the whole cell.
// It covers only the head if both ends agree, because they were started so, are keyed (a tag
// authenticates each datagram) or run on one machine. The client states in ANSWER what it accepts,
// the listener decides and states the result in READY. "One machine" is proven by a hash under a
// key that only the processes of one kernel have, over the identities and nonces of the step. Pure.
// Thread: the data thread. docs/protocol/init.md#payload-crc
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "fabric_emul/link/port_config.h"
#include "fabric_emul/underlay/underlay.h"
#include "fabric_emul/wire/init.h"

namespace splitnic::fabric {

// Whether the cells of a link have a CRC over their payload, and why not.
enum class PayloadCrcState : std::uint8_t {
  kOn,
  kOffSharedMemory,  // shm profile
  kOffSealed,        // the tag of each datagram covers it
  kOffSameMachine,   // proven
  kOffAtBothEnds,    // PayloadCrcMode::kOff at both ends, not proven to be one machine
};
// Returns "on", "off (shared memory)", ...
std::string_view name(PayloadCrcState state);

class CrcTerms {
 public:
  // config outlives this object.
  explicit CrcTerms(const PortConfig& config) : config_(config) {}

  // The state before any INIT.
  PayloadCrcState initial() const;
  // Client: completes an ANSWER that is complete otherwise. path: to the peer.
  void offer(Init& init, PathKind path) const;
  // Listener: returns the state of the link after this ANSWER.
  PayloadCrcState decide(const Init& init, PathKind path) const;
  // Listener: completes a READY that is complete otherwise.
  void state(Init& ready, PayloadCrcState state) const;
  // Client: returns the state that this READY reports; nothing if it omits the payload CRC without
  // the right to. `offered` is that of the last ANSWER to this instance.
  std::optional<PayloadCrcState> accept(const Init& ready, PayloadCrc offered, PathKind path) const;

 private:
  // Returns the payload_crc of this end's ANSWER.
  PayloadCrc accepted(PathKind path) const;
  std::uint64_t proof_of(const Init& init) const;  // 0 without a key
  bool is_proven(const Init& init) const;

  const PortConfig& config_;
};

}  // namespace splitnic::fabric
