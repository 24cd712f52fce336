// Finds out whether datagrams of the full length arrive: a form of packetization layer path MTU
// discovery (RFC 8899). A run is rounds of one long and one short probe, to each of which the peer
// sends a short reply. When only the short ones get replies, round after round, lengths between are
// tried too, and the longest that gets a reply is what the path carries. One lost probe decides
// nothing, and neither does a report of the network (ICMP), which anybody can send: it only makes a
// run begin at once. [H-6] Pure: time and nonces come in. [L-33] docs/protocol/init.md#path-probes
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/random.h"

namespace splitnic::fabric {

class PathProbe {
 public:
  struct Probe {
    std::uint64_t nonce = 0;
    std::size_t datagram_bytes = 0;  // 0: the minimum
  };
  // Strides that paths of well-known MTUs carry, the longest first.
  static constexpr std::array<std::size_t, 9> kLengths{8916, 4268, 1964, 1416, 1408,
                                                       1336, 1196, 940,  492};
  static constexpr std::size_t kProbesMax = kLengths.size() + 2;

  // Datagrams of up to `full` bytes are sent from now on; forgets all probes.
  void start(std::size_t full);
  std::size_t full() const { return full_; }
  // A datagram was sent that a narrower path may not carry, as it is longer than the shortest of
  // kLengths: a run begins soon. One as long as the full length may not come for a long time.
  void on_long_sent(base::Time now);
  // There is a reason to doubt the length: a run begins now and has shorter rounds, and one that
  // has begun has shorter rounds from its next one on. The number of rounds is the same.
  void hurry(base::Time now);
  base::Time deadline() const { return due_; }
  // Returns the probes to send now; the span is valid until the next call. REQUIRES
  // deadline() <= now.
  std::span<const Probe> on_time(base::Time now, base::Random& random);
  void on_reply(std::uint64_t nonce);
  // Returns, once, the length that passes where the full one does not.
  std::optional<std::size_t> take_narrowed();

 private:
  static constexpr std::size_t kFull = 0, kShort = 1, kFirstLength = 2;
  bool has(std::size_t which) const { return (replied_ >> which & 1) != 0; }
  void go_idle();
  void conclude();

  std::size_t full_ = 0;
  base::Time due_ = base::kNever;
  std::uint64_t nonce_ = 0;  // of the long probe; the others count from it. 0: idle
  bool is_hurried_ = false;
  unsigned rounds_ = 0;
  unsigned missed_ = 0;        // rounds in which only the short probe got a reply
  std::uint32_t replied_ = 0;  // bit n: probe n
  std::optional<std::size_t> narrowed_;
  std::array<Probe, kProbesMax> out_{};
};

}  // namespace splitnic::fabric
