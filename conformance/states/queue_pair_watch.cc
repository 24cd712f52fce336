// The RC queue pairs of the target. docs/protocol/transport.md#states-of-a-queue-pair
#include <map>

#include "conformance/states/watch.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::AckCode;
using fabric::InitStep;
using fabric::MgmtKind;
using fabric::Op;

constexpr unsigned kTriesMin = 7;
constexpr base::Duration kTriesLast = 4500ms;  // 5 s, with room for the clock of the target
constexpr std::size_t kQueuePairsMax = 1024;

class QueuePairWatch final : public Watch {
 public:
  explicit QueuePairWatch(Coverage& coverage) : coverage_(coverage) {}

  void on(const Seen& seen) override {
    switch (seen.kind) {
      case SeenKind::kProcess:
        all_.clear();
        return;
      case SeenKind::kCell:
        if (all_.size() > kQueuePairsMax) all_.clear();
        return seen.is_sent() ? on_sent(seen) : on_received(seen);
      case SeenKind::kMgmt:
        if (!seen.is_sent()) on_mgmt(seen);
        return;
      case SeenKind::kInit:
        if (!seen.is_sent() && seen.is_init(InitStep::kReady)) restart(seen.init.peer_instance);
        return;
      default:
        return;
    }
  }

 private:
  struct QueuePair {
    bool is_up = false;
    bool has_refused = false;  // it is in ERR
    bool is_tried = false;     // in ERR, and a cell was sent to it
    bool has_nak = false, has_terminate = false;
    // The cell that it repeats.
    fabric::Lcn lcn{};
    unsigned tries = 0;
    base::Time since{};
  };

  void reach(std::string_view edge) { coverage_.reach("queue pair", edge); }

  void on_sent(const Seen& seen) {
    const fabric::MacHeader& h = seen.cell.header;
    const auto at = all_.find(h.dqpn.value);
    if (at == all_.end() || !at->second.is_up) return;
    QueuePair& qp = at->second;
    fabric::AckExt ack;
    if (h.op == Op::kNak && fabric::parse_ack(seen.cell, ack)) qp.has_nak |= is_final(ack.code);
    if (h.op == Op::kTerminate) qp.has_terminate = true;
    const bool is_request = h.op == Op::kSend || h.op == Op::kRdmaWrite;
    if (is_request) qp.is_tried |= qp.has_refused;
  }

  static bool is_final(AckCode code) { return code >= AckCode::kInvalidRequest; }

  void on_received(const Seen& seen) {
    const fabric::MacHeader& h = seen.cell.header;
    QueuePair& qp = all_[h.sqpn.value];
    if (!qp.is_up) reach("agreed");
    qp.is_up = true;
    fabric::AckExt ack;
    if (h.op == Op::kAck || h.op == Op::kNak) {
      qp.is_tried = false;  // it takes cells
      if (!fabric::parse_ack(seen.cell, ack) || !is_final(ack.code)) return;
      reach("refuses");
      qp.has_refused = true;
      return;
    }
    if (qp.tries == 0 || qp.lcn != h.lcn) {
      if (qp.tries > 0 && h.lcn - qp.lcn > 0 && (h.flags & fabric::kFlagRetransmission) != 0)
        return;
      qp.lcn = h.lcn;
      qp.tries = 0;
      qp.since = seen.at;
    }
    ++qp.tries;
  }

  // The connection ends, and with it all of its queue pairs.
  void on_mgmt(const Seen& seen) {
    restart(seen.mgmt.peer_instance);
    const bool ends = seen.mgmt.kind == MgmtKind::kDisc;
    if (!ends && seen.mgmt.kind != MgmtKind::kDiscRep) return;
    for (auto& [number, qp] : all_) {
      if (qp.is_tried) reach("dropped");
      if (!ends) continue;
      if (qp.has_nak) reach("nak");
      if (qp.has_terminate) reach("terminate");
      if (qp.tries > kTriesMin && seen.at - qp.since >= kTriesLast) reach("tries");
      qp.has_nak = qp.has_terminate = false;
      qp.tries = 0;
    }
  }

  void restart(std::uint64_t instance) {
    if (instance == 0 || instance == instance_) return;
    for (const auto& [number, qp] : all_) {
      if (qp.is_up && instance_ != 0) reach("restart");
    }
    all_.clear();
    instance_ = instance;
  }

  Coverage& coverage_;
  std::uint64_t instance_ = 0;              // of the suite's end, as the target has it
  std::map<std::uint32_t, QueuePair> all_;  // by the target's number
};

}  // namespace

std::unique_ptr<Watch> watch_queue_pairs(Coverage& coverage) {
  return std::make_unique<QueuePairWatch>(coverage);
}

}  // namespace splitnic::conformance
