// The pools of both ends, as the target keeps them: its own as their owner, those of the suite as
// the initiator. docs/protocol/pools.md#states-of-pools-and-elements
#include <map>
#include <set>

#include "conformance/states/watch.h"
#include "messaging/wire/buffer_pool_flush.h"
#include "messaging/wire/buffer_rdma_indicate.h"
#include "messaging/wire/buffer_recv_pool.h"
#include "messaging/wire/buffer_recv_pool_update.h"
#include "messaging/wire/idata.h"

namespace splitnic::conformance {
namespace {

using fabric::MgmtKind;
using fabric::Op;
using messaging::Function;

constexpr std::string_view kAtOwner = "element at its owner";
constexpr std::string_view kAtInitiator = "element at the initiator";
constexpr std::size_t kKeptAtMost = 4096;  // more are a flood

class PoolWatch final : public Watch {
 public:
  explicit PoolWatch(Coverage& coverage) : coverage_(coverage) {}

  void on(const Seen& seen) override {
    if (seen.kind == SeenKind::kProcess) return forget();
    if (seen.kind == SeenKind::kMgmt && seen.mgmt.kind == MgmtKind::kConnectRep) {
      if (seen.mgmt.transaction != transaction_) forget();
      transaction_ = seen.mgmt.transaction;
    }
    if (seen.kind == SeenKind::kCell) seen.is_sent() ? on_sent_cell(seen.cell) : on_write(seen);
    if (seen.kind == SeenKind::kMessage) on_message(seen);
  }

 private:
  enum class Given : std::uint8_t { kFilled, kReturned, kFilledAgain };
  enum class Taken : std::uint8_t { kWriting, kConsumed, kOvertaken, kReturned };
  struct TakenElement {
    Taken state = Taken::kWriting;
    std::uint32_t qpn = 0;  // of the suite
    fabric::Lcn last{};     // of the cells of the write
  };
  using ElementId = std::pair<std::uint32_t, std::uint32_t>;  // pool, element

  void forget() {
    of_target_.clear();
    of_suite_.clear();
    given_.clear();
    taken_.clear();
    flushes_.clear();
  }

  void on_message(const Seen& seen) {
    const auto header = messaging::MessageHeader::parse(seen.message);
    if (!header) return;
    switch (static_cast<Function>(header->function_code)) {
      case Function::kBufferRecvPool:
        return on_pools(seen);
      case Function::kBufferRecvPoolUpdate:
        return on_update(seen);
      case Function::kBufferRdmaIndicate:
        if (seen.is_sent()) on_indicate(seen);
        return;
      case Function::kBufferPoolFlushRequest:
        if (seen.is_sent() && flushes_.size() < kKeptAtMost) on_flush(seen, header->context);
        return;
      case Function::kBufferPoolFlushReply:
        if (!seen.is_sent()) on_flush_reply(header->context);
        return;
      default:
        return;
    }
  }

  void on_pools(const Seen& seen) {
    const auto pools = messaging::BufferRecvPool::parse(seen.message);
    if (!pools) return;
    auto& all = seen.is_sent() ? of_suite_ : of_target_;
    for (std::size_t i = 0; i < pools->size() && all.size() < kKeptAtMost; ++i) {
      all.emplace((*pools)[i].pool.value, (*pools)[i]);
    }
    if (!seen.is_sent()) coverage_.reach("pool at its owner", "offered");
  }

  // A flush names the pools of one side.
  void on_flush(const Seen& seen, messaging::TransactionContext context) {
    const auto request = messaging::BufferPoolFlushRequest::parse(seen.message);
    if (!request) return;
    const bool is_of_target = messaging::names_receivers_pools(context);
    auto& all = is_of_target ? of_target_ : of_suite_;
    for (std::size_t i = 0; i < request->size(); ++i) {
      if (all.erase((*request)[i].pool.value) > 0) flushes_[context.value] = is_of_target;
    }
  }
  void on_flush_reply(messaging::TransactionContext context) {
    const auto at = flushes_.find(context.value);
    if (at == flushes_.end()) return;
    const std::string_view table = at->second ? "pool at its owner" : "pool at the initiator";
    coverage_.reach(table, "flush");
    coverage_.reach(table, "flushed");
    flushes_.erase(at);
  }

  // The suite fills elements of the target.
  void fill(const ElementId& id) {
    if (given_.size() >= kKeptAtMost) return;
    const auto [at, is_new] = given_.emplace(id, Given::kFilled);
    if (!is_new && at->second == Given::kReturned) at->second = Given::kFilledAgain;
  }
  void on_indicate(const Seen& seen) {
    const auto indicate = messaging::BufferRdmaIndicate::parse(seen.message);
    if (!indicate) return;
    for (std::size_t i = 0; i < indicate->size(); ++i) {
      fill({(*indicate)[i].pool.value, (*indicate)[i].first});
    }
  }
  void on_sent_cell(const fabric::CellView& cell) {
    if (cell.header.op == Op::kRdmaWrite && cell.idata) {
      const auto named = messaging::PoolElementIdata::decode(*cell.idata);
      fill({named.pool, named.element});
    }
    fabric::AckExt ack;
    if (cell.header.op != Op::kAck || !fabric::parse_ack(cell, ack) || !ack.selective) return;
    for (auto& [id, element] : taken_) {
      const bool is_covered =
          element.qpn == cell.header.sqpn.value && ack.cumulative - element.last >= 0;
      if (element.state == Taken::kWriting && is_covered) element.state = Taken::kConsumed;
    }
  }

  // The target fills elements of the suite.
  void on_write(const Seen& seen) {
    const fabric::MacHeader& h = seen.cell.header;
    if (h.op != Op::kRdmaWrite || (h.flags & fabric::kFlagRetransmission) != 0) return;
    if (seen.cell.va_mh) begin_write(*seen.cell.va_mh);
    if (!writing_ || !fabric::is_last(h.pos) || taken_.size() >= kKeptAtMost) return;
    taken_[*writing_] = {Taken::kWriting, h.dqpn.value, h.lcn};
    writing_.reset();
  }
  void begin_write(const fabric::VaMh& to) {
    writing_.reset();
    for (const auto& [reference, pool] : of_suite_) {
      const std::uint64_t offset = to.address.value - pool.address.value;
      const bool is_in = pool.handle == to.handle && pool.element_bytes > 0 &&
                         offset / pool.element_bytes < pool.elements;
      if (is_in) writing_ = {reference, static_cast<std::uint32_t>(offset / pool.element_bytes)};
    }
    if (!writing_) return;
    coverage_.reach("pool at the initiator", "known");
    coverage_.reach(kAtInitiator, "chosen");
    const auto before = taken_.find(*writing_);
    if (before == taken_.end()) return;
    if (before->second.state == Taken::kOvertaken) coverage_.reach(kAtInitiator, "overtaken");
    if (before->second.state != Taken::kReturned) return;
    coverage_.reach(kAtInitiator, "completed");
    coverage_.reach(kAtInitiator, "update");
  }

  void on_update(const Seen& seen) {
    const auto update = messaging::BufferRecvPoolUpdate::parse(seen.message);
    if (!update) return;
    for (std::size_t i = 0; i < update->size(); ++i) {
      const messaging::ElementRange range = (*update)[i];
      const auto names = [&range](const ElementId& id) {
        return id.first == range.pool.value && id.second >= range.first &&
               (range.count == 0 || id.second - range.first < range.count);
      };
      for (auto& [id, state] : given_) {
        if (!seen.is_sent() && names(id)) on_returned(state);
      }
      for (auto& [id, element] : taken_) {
        if (!seen.is_sent() || !names(id)) continue;
        if (element.state == Taken::kWriting) element.state = Taken::kOvertaken;
        if (element.state == Taken::kConsumed) element.state = Taken::kReturned;
      }
    }
  }
  void on_returned(Given& state) {
    if (state == Given::kReturned) return;
    for (const std::string_view edge : {"filled", "read", "returned"}) {
      coverage_.reach(kAtOwner, edge);
    }
    if (state == Given::kFilledAgain) coverage_.reach(kAtOwner, "filled_again");
    state = Given::kReturned;
  }

  Coverage& coverage_;
  std::uint64_t transaction_ = 0;
  std::map<std::uint32_t, messaging::PoolRecord> of_target_, of_suite_;  // by reference
  std::map<ElementId, Given> given_;                                     // by the suite
  std::map<ElementId, TakenElement> taken_;                              // by the target
  std::optional<ElementId> writing_;                                     // by the target
  std::map<std::uint64_t, bool> flushes_;  // context; whether of the target's pools
};

}  // namespace

std::unique_ptr<Watch> watch_pools(Coverage& coverage) {
  return std::make_unique<PoolWatch>(coverage);
}

}  // namespace splitnic::conformance
