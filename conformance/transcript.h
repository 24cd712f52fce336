// The datagrams that a case and the target have exchanged, as a report shows them. Of a keyed link
// it has the datagrams of flits, not the records around them, but for those that a case about keys
// makes itself. A flood is cut: the number of datagrams is kept, their bytes are not.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"

namespace splitnic::conformance {

enum class Direction : std::uint8_t { kSent, kReceived };

struct Exchanged {
  Direction direction = Direction::kSent;
  base::Duration at{};  // since the case began
  std::vector<std::byte> bytes;
};

class Transcript {
 public:
  static constexpr std::size_t kKept = 400;

  explicit Transcript(base::Time begin = {}) : begin_(begin) {}
  void add(Direction direction, base::Time now, base::Bytes datagram) {
    if (direction == Direction::kReceived) ++received_;
    if (all_.size() == kKept) {
      ++left_out_;
      return;
    }
    all_.push_back({direction, now - begin_, {datagram.begin(), datagram.end()}});
  }
  const std::vector<Exchanged>& all() const { return all_; }
  std::size_t received() const { return received_; }
  std::size_t left_out() const { return left_out_; }

 private:
  base::Time begin_;
  std::vector<Exchanged> all_;
  std::size_t received_ = 0, left_out_ = 0;
};

}  // namespace splitnic::conformance
