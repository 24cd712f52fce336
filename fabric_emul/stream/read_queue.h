// The read request queue (untagged buffer 2): the reads that the peer has requested, by message
// sequence number [S002-21]. A place is free when its response was sent, but keeps its content
// until another request takes it, because cells of the response may have to be retransmitted.
// Allocates in its constructor only. Thread: the data thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "fabric_emul/wire/extensions.h"

namespace splitnic::fabric {

struct ReadResponse {
  std::uint32_t msn = 0;
  Psn psn;
  VaMh source{};  // the whole range
  MemoryHandle sink_handle{};
  std::uint64_t sink_offset = 0;
  std::uint32_t cells = 1;
  std::uint32_t next = 0;        // cell that is sent next; == cells when all were sent
  StreamNumber end{};            // behind its last byte, once all were sent
  bool is_acknowledged = false;  // all of it: `end` may be any distance behind from then on
  bool is_sent() const { return next == cells; }
};

enum class ReadAdmission : std::uint8_t { kTaken, kNotNext, kFull };

class ReadQueue {
 public:
  // depth: requests that are open at a time; with 0 none is accepted.
  explicit ReadQueue(std::uint32_t depth)
      : depth_(depth), places_(std::bit_ceil<std::size_t>(depth > 0 ? depth : 1)) {}

  ReadAdmission check(std::uint32_t msn) const {
    if (msn != next_msn_) return ReadAdmission::kNotNext;
    if (depth_ == 0) return ReadAdmission::kFull;
    const ReadResponse* oldest = oldest_open();
    return oldest != nullptr && msn - oldest->msn >= depth_ ? ReadAdmission::kFull
                                                            : ReadAdmission::kTaken;
  }
  // REQUIRES check() == kTaken.
  void push(const ReadResponse& response) {
    at(next_msn_) = response;
    ++next_msn_;
    ++taken_;
  }
  // The response whose arrival the request with the next MSN implies; nullptr if there is none, or
  // if an ACK has reported it. The end of one that is not acknowledged is at most a window old.
  const ReadResponse* arrived() const {
    if (depth_ == 0 || taken_ < depth_) return nullptr;
    const ReadResponse& response = at(next_msn_ - depth_);
    return response.is_acknowledged ? nullptr : &response;
  }
  // All of this response has arrived.
  void acknowledge(std::uint32_t msn) { at(msn).is_acknowledged = true; }
  // The response that is being sent, or nullptr.
  const ReadResponse* oldest_open() const {
    return open_msn_ != next_msn_ ? &at(open_msn_) : nullptr;
  }
  ReadResponse* oldest_open() { return open_msn_ != next_msn_ ? &at(open_msn_) : nullptr; }
  // Its last cell was sent. REQUIRES oldest_open().
  void close_oldest(StreamNumber end) {
    at(open_msn_).end = end;
    ++open_msn_;
  }
  // Calls fn for every response that is kept, sent or not.
  template <class Fn>
  void for_each(Fn&& fn) const {
    const std::uint64_t kept = std::min<std::uint64_t>(taken_, places_.size());
    for (std::uint32_t i = 1; i <= kept; ++i) fn(at(next_msn_ - i));
  }
  ReadResponse& at(std::uint32_t msn) { return places_[msn & (places_.size() - 1)]; }
  const ReadResponse& at(std::uint32_t msn) const { return places_[msn & (places_.size() - 1)]; }

 private:
  static constexpr std::uint32_t kFirstMsn = 1;
  std::uint32_t depth_;
  std::vector<ReadResponse> places_;  // by MSN; a power of two, so that MSNs may wrap
  std::uint32_t next_msn_ = kFirstMsn;
  std::uint32_t open_msn_ = kFirstMsn;
  std::uint64_t taken_ = 0;  // total; unlike MSNs it does not wrap
};

}  // namespace splitnic::fabric
