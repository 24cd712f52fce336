// Carriers of one queue with the keys of the program on them. Each queue has sessions for itself,
// as it has sockets. Thread: the data thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "base/status.h"
#include "control/daemon/key_options.h"
#include "control/daemon/stamps.h"
#include "fabric_emul/session/keyed_underlay.h"

namespace splitnic::control {

struct KeyedCarrier {
  fabric::Underlay* underlay = nullptr;    // with the keys on it
  std::vector<fabric::PeerAddress> peers;  // as the layers above know them
  std::uint64_t eui64 = 0;                 // follows from our key
  std::string public_key;                  // ours
};

class KeyedCarriers {
 public:
  // All outlive this. `instance` is that of the process.
  KeyedCarriers(const KeyOptions& options, std::uint64_t instance, std::uint32_t queue,
                base::Clock& clock, base::Random& random)
      : options_(options),
        instance_(instance),
        clock_(clock),
        random_(random),
        stamps_(stamp_path(queue), milliseconds_since_1970) {}

  // Reads the key files and puts the keys on `below`. With `endpoint`, every peer is there and this
  // side initiates. REQUIRES options.are_given().
  base::Result<KeyedCarrier> add(fabric::Underlay& below,
                                 const std::optional<fabric::PeerAddress>& endpoint);
  // Whether keys are agreed with this peer, on any of the carriers.
  bool are_agreed(const fabric::PeerAddress& peer) const;
  void visit_counters(const base::CounterVisitor& visitor) const;

 private:
  const KeyOptions& options_;
  const std::uint64_t instance_;
  base::Clock& clock_;
  base::Random& random_;
  Stamps stamps_;
  std::vector<std::unique_ptr<fabric::session::KeyedUnderlay>> keyed_;
};

}  // namespace splitnic::control
