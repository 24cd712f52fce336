// Watches the pool memory of one side: all of it is filled with a pattern when a pair is made, and
// every byte that no delivered frame covers must still hold it [M-04]. So a write outside its
// element, past its frame, or of a frame that was never indicated is seen.
#pragma once

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "messaging/connection.h"

namespace splitnic::sim {

class PoolCanary {
 public:
  // `connection` may be null. True if this is another one than before, or it has additional
  // queues now: its memory was filled.
  bool watch(messaging::Connection* connection) {
    const std::uint64_t id = connection == nullptr ? 0 : connection->first().connection().value;
    if (id == 0) return false;
    const std::size_t channels =
        connection->channels().size();  // of all its queues, before any frame
    if (id == id_ && channels == channels_) return false;
    id_ = id;
    channels_ = channels;
    covered_.clear();
    pools_.clear();
    connection->for_each([&](messaging::ChannelPair& pair) {
      std::ranges::copy(pair.TEST_pool_memory(), std::back_inserter(pools_));
    });
    for (const base::MutableBytes pool : pools_) std::memset(pool.data(), kPattern, pool.size());
    return true;
  }
  // The frame lies in an element now.
  void delivered(base::Bytes frame) {
    std::size_t& bytes = covered_[frame.data()];
    bytes = std::max(bytes, frame.size());
  }
  // REQUIRES that the watched pair lives and nothing is on its way. Empty: nothing was written
  // elsewhere.
  std::string check() const {
    for (const base::MutableBytes pool : pools_) {
      const std::byte* at = pool.data();
      for (auto c = covered_.lower_bound(pool.data());
           c != covered_.end() && c->first < pool.data() + pool.size(); ++c) {
        if (!is_pattern(at, c->first))
          return "pool memory outside of the delivered frames was written";
        at = c->first + c->second;
      }
      if (!is_pattern(at, pool.data() + pool.size()))
        return "pool memory behind the last frame was written";
    }
    return {};
  }
  // The pair gives pages back, which then hold zeros.
  bool pages_go = false;

 private:
  static constexpr int kPattern = 0xA5;
  bool is_pattern(const std::byte* from, const std::byte* to) const {
    if (from >= to) return from == to;
    // Each byte equals the next one: megabytes of them, of which sanitizers check each access.
    const auto rest = static_cast<std::size_t>(to - from - 1);
    if (*from == std::byte{kPattern} && std::memcmp(from, from + 1, rest) == 0) return true;
    return pages_go && std::all_of(from, to, [](std::byte b) {
             return b == std::byte{kPattern} || b == std::byte{0};
           });
  }

  std::uint64_t id_ = 0;
  std::size_t channels_ = 0;
  std::vector<base::MutableBytes> pools_;
  std::map<const std::byte*, std::size_t> covered_;
};

}  // namespace splitnic::sim
