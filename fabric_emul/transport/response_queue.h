// The answers of a responder: those it owes, in the order of requests, and those that it may have
// to give again because a cell of them was lost. A FetchOp is kept with its result and so is never
// executed twice [S000-05]. Bounded by what was said in CONNECT; allocates in its constructor only.
// Thread: the data thread.
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
  VaMh target;              // the whole range
  std::uint64_t value = 0;  // FetchOp: the old one
  std::uint32_t next = 0;   // cell that goes next
  std::uint32_t end = 0;    // behind the last that goes before the rest is asked for
  std::uint32_t cells = 1;  // in all
  bool was_whole = false;   // the last cell has gone, so the peer may have had it all
  bool is_due() const { return next < end; }
  void give_from(std::uint32_t first) {
    next = first;
    end = first + kResponseCellsMax < cells ? first + kResponseCellsMax : cells;
  }
};

class ResponseQueue {
 public:
  // depth: requests that are open at a time; 0: none is taken.
  explicit ResponseQueue(std::size_t depth) : responses_(depth > 0 ? depth : 1), depth_(depth) {}

  // False: as many as fit are still being answered, and the peer asks for more than was agreed. One
  // that is given again does not count: its repeated request and what the peer asks next, since it
  // had the answer after all, come close together.
  bool can_take() const {
    if (depth_ == 0) return false;
    return !responses_.full() || !responses_[0].is_due() || responses_[0].was_whole;
  }
  // REQUIRES can_take(). The oldest is forgotten if there is no room, and returned.
  std::optional<Response> push(const Response& response) {
    std::optional<Response> forgotten;
    if (responses_.full()) {
      forgotten = responses_.front();
      responses_.pop();
    }
    responses_.push(response).give_from(0);
    return forgotten;
  }
  std::size_t size() const { return responses_.size(); }
  const Response& operator[](std::size_t i) const { return responses_[i]; }
  // A request that came again: its answer is owed anew, from the cell that it names. False: nothing
  // that was asked for, or too long ago. mcp: bytes of a full cell.
  bool give_again(Op request, Psn psn, const VaMh& range, std::uint16_t mcp) {
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
      response.give_from(first);
      return true;
    }
    return false;
  }
  // The oldest that has cells to go, or nullptr.
  Response* due() {
    for (std::size_t i = 0; i < responses_.size(); ++i) {
      if (responses_[i].is_due()) return &responses_[i];
    }
    return nullptr;
  }
  bool owes() const {
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
