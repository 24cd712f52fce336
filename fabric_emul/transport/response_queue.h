// The responses of a responder, in the order of requests: those that are due, and those that were
// sent and may have to be retransmitted because a cell was lost. A FetchOp is kept with its result
// and so is never executed twice [S000-05]. Bounded by the number agreed in CONNECT; allocates in
// its constructor only. Thread: the data thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ring.h"
#include "fabric_emul/wire/extensions.h"
#include "fabric_emul/wire/limits.h"
#include "fabric_emul/wire/op_table.h"

namespace splitnic::fabric {

struct Response {
  Op request = Op::kRdmaReadReq;
  Psn psn;
  VaMh target;                 // the whole range
  std::uint64_t value = 0;     // FetchOp: the old one
  std::uint32_t next = 0;      // cell that is sent next
  std::uint32_t end = 0;       // behind the last cell that this request asks for
  std::uint32_t cells = 1;     // of the whole response
  std::uint32_t requests = 0;  // for it, each of which is served by the next path
  bool is_sent = false;        // the last cell was sent, so the peer may have received all of it
  bool is_due() const { return next < end; }
  void send_from(std::uint32_t first) {
    ++requests;
    next = first;
    end = first + kResponseCellsMax < cells ? first + kResponseCellsMax : cells;
  }
};

class ResponseQueue {
 public:
  // depth: requests that are open at a time; with 0 none is accepted.
  explicit ResponseQueue(std::size_t depth) : responses_(depth > 0 ? depth : 1), depth_(depth) {}

  // Returns false when the responses of all places are being sent for the first time, so that the
  // peer has requested more than was agreed. A response that is being retransmitted does not count:
  // the peer may have received it after all, and its next request follows the repeated one closely.
  bool can_take() const {
    if (depth_ == 0) return false;
    return !responses_.full() || !responses_[0].is_due() || responses_[0].is_sent;
  }
  // REQUIRES can_take(). Forgets the oldest if there is no room, and returns it.
  std::optional<Response> push(const Response& response) {
    std::optional<Response> forgotten;
    if (responses_.full()) {
      forgotten = responses_.front();
      responses_.pop();
    }
    responses_.push(response).send_from(0);
    return forgotten;
  }
  std::size_t size() const { return responses_.size(); }
  const Response& operator[](std::size_t i) const { return responses_[i]; }
  // A repeated request: its response is due once more, from the cell that the request names.
  // Returns false when no such request is kept. mcp: bytes of a full cell.
  bool retransmit(Op request, Psn psn, const VaMh& range, std::uint16_t mcp) {
    for (std::size_t i = 0; i < responses_.size(); ++i) {
      Response& response = responses_[i];
      if (response.psn != psn || response.request != request) continue;
      const std::uint64_t offset = range.address.value - response.target.address.value;
      if (range.handle != response.target.handle || offset > response.target.length ||
          range.length != response.target.length - offset || offset % mcp != 0) {
        return false;
      }
      const auto first = static_cast<std::uint32_t>(offset / mcp);
      if (first >= response.cells) return false;
      response.send_from(first);
      return true;
    }
    return false;
  }
  // The oldest that has cells to send, or nullptr.
  Response* due() {
    for (std::size_t i = 0; i < responses_.size(); ++i) {
      if (responses_[i].is_due()) return &responses_[i];
    }
    return nullptr;
  }
  bool has_due() const {
    for (std::size_t i = 0; i < responses_.size(); ++i) {
      if (responses_[i].is_due()) return true;
    }
    return false;
  }
  void clear() { responses_.clear(); }

 private:
  base::Ring<Response> responses_;  // oldest first
  std::size_t depth_;
};

}  // namespace splitnic::fabric
