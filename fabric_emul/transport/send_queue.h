// The send queue of one queue pair: posted work requests in order, of which the first have
// completed or are completing and the rest wait to be sent. Work requests are numbered from 0 in
// the order of posts, so a number stays valid when those before it leave the queue.
// Invariant: head_no() <= next_no() <= tail_no(). Allocates in its constructor only.
// Thread: the data thread.
#pragma once

#include <algorithm>
#include <cerrno>
#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/ring.h"
#include "base/status.h"
#include "fabric_emul/transport/send_wqe.h"
#include "fabric_emul/transport/wc.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

template <std::derived_from<SendWqe> Wqe>
class SendQueue {
 public:
  explicit SendQueue(std::size_t depth) : ring_(depth) {}

  // Fills `w` with what every service keeps of a post. Refused: the queue is full, the gather list
  // has too many pieces, or the packet is longer than 65536 cells or 2^31 bytes.
  base::Status prepare(const SendWr& wr, std::uint16_t mcp, Wqe& w) const {
    return ring_.full() ? error_of_full() : fill(wr, mcp, w);
  }
  // REQUIRES that prepare() filled `w`.
  void push(const Wqe& w) { ring_.push(w); }
  // Both in place, because an element that is made elsewhere is written twice. `finish(Wqe&)`
  // returns a base::Status: it adds what else is kept, or refuses the post. It does not use the
  // queue.
  template <class Finish>
  base::Status post(const SendWr& wr, std::uint16_t mcp, Finish&& finish) {
    static_assert(std::is_trivially_destructible_v<Wqe>);
    if (ring_.full()) return error_of_full();
    Wqe& w = *std::construct_at(&ring_.push_slot());
    if (auto filled = fill(wr, mcp, w); !filled) {
      ring_.pop_back();
      return filled;
    }
    auto finished = finish(w);
    if (!finished) ring_.pop_back();
    return finished;
  }

  bool empty() const { return ring_.empty(); }
  std::size_t size() const { return ring_.size(); }
  std::size_t capacity() const { return ring_.capacity(); }
  std::uint64_t head_no() const { return head_no_; }
  std::uint64_t next_no() const { return next_no_; }
  std::uint64_t tail_no() const { return head_no_ + ring_.size(); }
  // REQUIRES head_no() <= no < tail_no().
  Wqe& operator[](std::uint64_t no) { return ring_[static_cast<std::size_t>(no - head_no_)]; }
  const Wqe& operator[](std::uint64_t no) const {
    return ring_[static_cast<std::size_t>(no - head_no_)];
  }
  Wqe& front() { return ring_.front(); }
  const Wqe& front() const { return ring_[0]; }
  Wqe& back() { return ring_.back(); }

  // The work request that is sent next. REQUIRES has_unsent().
  Wqe& next() { return (*this)[next_no_]; }
  bool has_unsent() const { return next_no_ != tail_no(); }
  void advance() { ++next_no_; }
  // Sending continues at `no`. REQUIRES head_no() <= no <= tail_no().
  void continue_at(std::uint64_t no) { next_no_ = no; }

  // Removes the oldest work request and returns its completion. REQUIRES !empty().
  Wc pop(WcStatus status) {
    const Wqe& w = ring_.front();
    Wc wc;
    wc.wr_id = w.wr_id;
    wc.status = status;
    wc.op = wc_op(w.op);
    if (status == WcStatus::kSuccess && is_responded(w.op)) {
      wc.bytes = static_cast<std::uint32_t>(w.gather.bytes);
    }
    ring_.pop();
    ++head_no_;
    next_no_ = std::max(next_no_, head_no_);
    return wc;
  }

 private:
  static base::Status error_of_full() { return base::Error("the send queue is full", ENOMEM); }
  static base::Status fill(const SendWr& wr, std::uint16_t mcp, Wqe& w) {
    if (!w.gather.assign(wr.gather)) {
      return base::Error("too many pieces in the gather list", EINVAL);
    }
    const std::uint64_t cells = cells_of(w.gather.bytes, mcp);
    if (cells > kCellsPerPacketMax || w.gather.bytes > kPacketBytesMax) {
      return base::Error("the packet is too long", EMSGSIZE);
    }
    w.wr_id = wr.wr_id;
    w.op = wr.op;
    w.remote_address = wr.remote_address;
    w.remote_handle = wr.remote_handle;
    w.idata = wr.idata;
    w.dereg = wr.dereg;
    w.is_fenced = wr.is_fenced;
    w.is_solicited = wr.is_solicited && w.consumes_receive();
    w.cells = is_local(wr.op) ? 0 : is_responded(wr.op) ? 1 : static_cast<std::uint32_t>(cells);
    return {};
  }

  base::Ring<Wqe> ring_;
  std::uint64_t head_no_ = 0;
  std::uint64_t next_no_ = 0;
};

}  // namespace splitnic::fabric
