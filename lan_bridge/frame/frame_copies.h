// Copies of the frames that cross one queue of an interface, for a reader in another thread. The
// thread of the frames never waits: a copy for which there is no room is counted as lost.
// Thread: add() from the thread of the frames; front(), pop() and end() from the reader's.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/record_ring.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::lan {

// An Ethernet frame, without the virtio-net header. A super-frame is one copy.
struct CopiedFrame {
  std::int64_t nanoseconds = 0;  // since 1970
  std::uint32_t length = 0;      // of the frame; `bytes` has its first ones
  bool is_sent = false;          // by the interface
  base::Bytes bytes;
};

class FrameCopies {
 public:
  // Enough for 10 ms at 10 Gbit/s.
  static constexpr std::size_t kBytes = 16U << 20;
  // Of a frame, as tcpdump has it by default: whole.
  static constexpr std::uint32_t kSnapMax = 262144;

  // `to_wall_clock` is added to the time since the clock's epoch and gives that since 1970. A copy
  // has at most `snap` bytes.
  FrameCopies(std::size_t interface, base::Duration to_wall_clock, std::uint32_t snap,
              std::size_t bytes = kBytes)
      : interface_(interface), to_wall_clock_(to_wall_clock), snap_(snap), ring_(bytes) {}

  // Returns false if the copy is lost. REQUIRES that `frame` begins with a virtio-net header.
  bool add(base::Bytes frame, bool is_sent, base::Time now) {
    const base::Bytes ethernet = frame.subspan(std::min(kVnetHeaderBytes, frame.size()));
    const Head head{std::chrono::nanoseconds(now.time_since_epoch() + to_wall_clock_).count(),
                    static_cast<std::uint32_t>(ethernet.size()), is_sent ? 1U : 0U};
    const bool has_room = ring_.push(std::as_bytes(std::span(&head, 1)),
                                     ethernet.first(std::min<std::size_t>(ethernet.size(), snap_)));
    if (!has_room) lost_.fetch_add(1, std::memory_order_relaxed);
    return has_room;
  }
  // Nobody reads any more.
  bool has_ended() const { return has_ended_.load(std::memory_order_relaxed); }

  std::size_t interface() const { return interface_; }  // as its capture numbers them
  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  bool empty() const { return ring_.empty(); }
  // Returns the oldest copy, which is valid until pop(). REQUIRES !empty(), and so has pop().
  CopiedFrame front() const {
    const base::Bytes record = ring_.front();
    Head head;
    std::memcpy(&head, record.data(), sizeof head);
    return {head.nanoseconds, head.length, head.is_sent != 0, record.subspan(sizeof head)};
  }
  void pop() { ring_.pop(); }
  void end() { has_ended_.store(true, std::memory_order_relaxed); }

 private:
  struct Head {
    std::int64_t nanoseconds = 0;
    std::uint32_t length = 0;
    std::uint32_t is_sent = 0;
  };

  const std::size_t interface_;
  const base::Duration to_wall_clock_;
  const std::uint32_t snap_;
  base::RecordRing ring_;
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<bool> has_ended_{false};
};

}  // namespace splitnic::lan
