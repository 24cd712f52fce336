// The datagrams being gathered for one peer: they leave with one send() of the underlay, all of one
// length, the stride, and all for lanes of one DSCP. Flow: reserve() -> the caller writes a flit ->
// commit() -> flush(). The batch lies in room claimed from the underlay (zero-copy), else in its
// own buffer. Invariants: used_ <= datagram_end_ <= batch_end_; while the underlay blocks, the
// batch is complete and unchanged. Thread: the data thread. docs/protocol/datagram.md
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/counters.h"
#include "fabric_emul/link/link_counters.h"
#include "fabric_emul/underlay/underlay.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

class SendBatch {
 public:
  // `counters` and `dscp_of_lane` outlive this. The underlay has the DSCP of the management lane,
  // and gets it back behind each batch with another one.
  SendBatch(Underlay& underlay, base::Counters<LinkCounter>& counters,
            const std::array<std::uint8_t, kLaneCount>& dscp_of_lane)
      : underlay_(underlay), counters_(counters), dscp_of_lane_(dscp_of_lane) {}

  // Returns room for one flit of this lane at the end of the batch, which is flushed first when it
  // is full or for lanes of another DSCP. Returns nothing if the underlay is blocked. A second
  // reserve() without commit() returns the same room. REQUIRES !is_blocked() and
  // flit_bytes <= capacity().
  base::MutableBytes reserve(std::size_t flit_bytes, std::uint8_t vl) {
    const bool fits = flit_bytes <= datagram_end_ - used_ && dscp_of_lane_[vl] == dscp_;
    if (!fits && !make_room(flit_bytes, dscp_of_lane_[vl])) return {};
    reserved_ = flit_bytes;
    return {room_.data() + used_, flit_bytes};
  }
  // Adds the front of the reserved room to the batch and returns it, to be sealed. REQUIRES
  // flit_bytes <= the bytes of the last reserve(), once each.
  base::MutableBytes commit(std::size_t flit_bytes) {
    CHECK(flit_bytes <= reserved_);
    reserved_ = 0;
    const base::MutableBytes flit(room_.data() + used_, flit_bytes);
    used_ += flit_bytes;
    return flit;
  }
  void cancel() { reserved_ = 0; }

  // Full profile: fills datagrams for lanes with the DSCP of this one by
  // fill(MutableBytes) -> bytes written, until that returns 0. REQUIRES empty().
  template <class Fill>
  void gather(std::uint8_t vl, Fill&& fill) {
    dscp_ = dscp_of_lane_[vl];
    const std::size_t datagrams = std::min(buffer_.size() / stride_, kDatagramsMax);
    batch_stride_ = stride_;
    room_ = buffer_;
    for (std::size_t i = 0; i < datagrams; ++i) {
      const base::MutableBytes datagram = base::MutableBytes(buffer_).subspan(i * stride_, stride_);
      const std::size_t bytes = fill(datagram);
      if (bytes == 0) break;
      used_ = i * stride_ + bytes;
      std::memset(datagram.data() + bytes, 0, stride_ - bytes);  // filler
    }
  }

  // Sends the batch. Returns false if the underlay is blocked: the batch is kept.
  bool flush();
  // Discards the batch because its link went down or its peer is another instance.
  void drop();

  bool empty() const { return used_ == 0; }
  bool is_blocked() const { return is_blocked_; }
  // The largest flit that reserve() takes. Flits beyond the stride travel alone in a datagram.
  std::size_t capacity() const { return buffer_.size(); }
  std::size_t stride() const { return stride_; }
  // Sets the length of the datagrams of the next batch.
  void set_stride(std::size_t stride);

  const PeerAddress& address() const { return address_; }
  // Claimed room belongs to an address: a batch in it moves to the own buffer first.
  void set_address(const PeerAddress& address);
  // Moves the batch to the own buffer and aborts the claim: anything else is sent to the peer only
  // after this.
  void abort_claim();

  // The result of flushes since the last take_outcome(); reserve() may flush, too.
  struct Outcome {
    bool is_sent = false;      // a batch left
    std::size_t longest = 0;   // datagram of these, in bytes
    bool is_too_long = false;  // the path refused a datagram as too long
  };
  Outcome take_outcome() { return std::exchange(outcome_, {}); }

 private:
  // Segments of one UDP_SEGMENT call that every kernel takes.
  static constexpr std::size_t kDatagramsMax = 64;

  // Begins the next datagram, or the next batch; false: blocked.
  bool make_room(std::size_t flit_bytes, std::uint8_t dscp);
  void start(std::size_t stride, std::size_t first_bytes, std::uint8_t dscp);
  Underlay::SendStatus send();
  void clear();

  Underlay& underlay_;
  base::Counters<LinkCounter>& counters_;
  const std::array<std::uint8_t, kLaneCount>& dscp_of_lane_;
  base::MutableBytes room_;  // where the batch is: buffer_, or claimed from the underlay
  std::size_t used_ = 0;
  std::size_t datagram_end_ = 0;
  std::size_t reserved_ = 0;
  std::uint8_t dscp_ = 0;
  bool is_blocked_ = false;
  bool is_claimed_ = false;
  Outcome outcome_;
  std::size_t batch_end_ = 0;
  std::size_t batch_stride_ = 0;
  std::size_t stride_ = 0;
  std::vector<std::byte> buffer_;
  PeerAddress address_;
};

}  // namespace splitnic::fabric
