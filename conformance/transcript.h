// The datagrams that a case and the target have exchanged, as a report shows them. Of a keyed link
// it has the datagrams of flits, not the records around them, but for those that a case about keys
// makes itself. A flood is cut, by datagrams and by bytes: of the rest only the number is kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"

namespace splitnic::conformance {

enum class Direction : std::uint8_t { kSent, kReceived };

struct Exchanged {
  Direction direction = Direction::kSent;
  base::Duration at{};  // since the case began
  std::vector<std::byte> bytes;
  unsigned host = 0;  // 1: the second end of the case
};

class Transcript {
 public:
  static constexpr std::size_t kKept = 400;
  static constexpr std::size_t kBytesKept = 256 << 10;

  explicit Transcript(base::Time begin = {}) : begin_(begin) {}
  void add(Direction direction, base::Time now, base::Bytes datagram) {
    if (direction == Direction::kReceived) ++received_;
    if (all_.size() == kKept || bytes_ + datagram.size() > kBytesKept) {
      ++left_out_;
      return;
    }
    bytes_ += datagram.size();
    all_.push_back({direction, now - begin_, {datagram.begin(), datagram.end()}});
  }
  // Those of another end of the suite too, in the order of time. `number`: 1 is the second end.
  void merge(const Transcript& second, unsigned number = 1) {
    for (Exchanged one : second.all_) {
      one.at += second.begin_ - begin_;
      one.host = number;
      all_.push_back(std::move(one));
    }
    std::ranges::stable_sort(all_, {}, &Exchanged::at);
    bytes_ += second.bytes_;
    received_ += second.received_;
    left_out_ += second.left_out_;
  }
  const std::vector<Exchanged>& all() const { return all_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t received() const { return received_; }
  std::size_t left_out() const { return left_out_; }

 private:
  base::Time begin_;
  std::vector<Exchanged> all_;
  std::size_t bytes_ = 0, received_ = 0, left_out_ = 0;
};

}  // namespace splitnic::conformance
