// The way of datagrams to the target and from it: the only input and output of the suite. A carrier
// is given by its owner, so the suite runs over UDP, over shared memory, and over queues of a test
// with a manual clock. Thread: one owner.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "fabric_emul/underlay/underlay.h"

namespace splitnic::conformance {

class Carrier {
 public:
  // Returns when something may have arrived, and at `until` at the latest.
  using Wait = std::function<void(base::Time until)>;

  // `underlay` and `clock` outlive this. `target` is the address of the target there; without one
  // the target is whoever has sent last.
  Carrier(fabric::Underlay& underlay, const std::optional<fabric::PeerAddress>& target,
          base::Clock& clock, Wait wait)
      : underlay_(underlay),
        is_listening_(!target),
        target_(target.value_or(fabric::PeerAddress{})),
        clock_(clock),
        wait_(std::move(wait)) {}

  // Sends one datagram. One that the system refuses is lost, as on any path, and so is one to
  // nobody. REQUIRES bytes.
  void send(base::Bytes datagram);
  // Returns the next datagram from the target, or nothing if none arrives before `until`. The bytes
  // are valid until the next call.
  std::optional<base::Bytes> receive(base::Time until);
  base::Time now() { return clock_.now(); }
  std::size_t datagram_bytes_max() const { return underlay_.datagram_bytes_max(target_); }

 private:
  fabric::Underlay& underlay_;
  const bool is_listening_;
  fabric::PeerAddress target_;
  base::Clock& clock_;
  const Wait wait_;
  base::Bytes rest_;  // of the batch that the underlay returned last
  std::size_t stride_ = 0;
};

}  // namespace splitnic::conformance
