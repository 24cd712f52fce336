// A queue pair whose peer is the input. End a of two adapters is attacked: it runs as ever, and its
// link is up. End b gives its address and numbers to the cells and does nothing else: once the
// queue pairs are connected it is not run any more, so nothing that end a sends has an effect.
// The cells of the input come with the right CRC, several in one batch. Time passes only in
// advance().
#pragma once

#include <vector>

#include "base/check.h"
#include "tests/support/adapter_pair.h"
#include "tests/support/cell_maker.h"
#include "tests/support/input.h"

namespace splitnic::fuzz {

class AttackedQp {
 public:
  static constexpr std::uint16_t kMcp = 64;
  static constexpr std::size_t kBatchCells = 8;
  using Cell = std::vector<std::byte>;

  AttackedQp(const fabric::QpInit& init, fabric::AdapterLimits limits)
      : pair_(options(limits)),
        qp_(connect(init)),
        maker_(pair_, 1, qp_.b, 0, qp_.a),
        victim_(pair_.a()) {
    victim_.tap.is_recording = true;
  }

  fabric::testing::End& victim() { return victim_; }
  fabric::Qp& qp() { return victim_.qp(qp_.a); }
  fabric::Qpn qpn() const { return qp_.a; }
  fabric::testing::CellMaker& maker() { return maker_; }
  fabric::Mrwt& memory() { return victim_.adapter->memory(); }
  // The first cell that end a sends has these numbers.
  const fabric::QpAttr& attr() { return qp().attr(); }

  // The cell is delivered with the next batch; a full batch is delivered at once.
  void add(Cell cell) {
    batch_.push_back(std::move(cell));
    if (batch_.size() >= kBatchCells) deliver();
  }
  // The peer may send the same bytes once more. Returns false if there were none.
  bool repeat(std::size_t which) {
    if (sent_.empty()) return false;
    add(sent_[which % sent_.size()]);
    return true;
  }
  void deliver() {
    if (!batch_.empty()) {
      victim_.tap.inject_batch(pair_.address(1), batch_);
      for (Cell& cell : batch_) {
        sent_.push_back(std::move(cell));
        if (sent_.size() > kKept) sent_.erase(sent_.begin());
      }
      batch_.clear();
    }
    settle();
  }
  void advance(base::Duration by) {
    deliver();
    pair_.in_process().wait(pair_.now() + by);
    settle();
  }
  base::Time now() { return pair_.now(); }
  // Ends the queue pair: all that is posted completes, which take_completions() takes. Then it and
  // its protection domain are gone.
  template <class Take>
  void end(Take&& take_completions) {
    fabric::Adapter& adapter = *victim_.adapter;
    if (qp().state() != fabric::QpState::kErr) {
      CHECK(adapter.modify_qp(qpn(), fabric::QpState::kErr, 0, {}).has_value());
    }
    victim_.drain();
    take_completions();
    adapter.destroy_qp(qpn(), now());
    adapter.free_pd(victim_.pd);
    CHECK(adapter.qp_count() == 0);
  }

  // Calls f(const TappedCell&) for each cell that end a has sent since the last call.
  template <class F>
  void take_sent(F&& f) {
    for (const fabric::testing::TappedCell& cell : victim_.tap.cells) {
      if (cell.sent) f(cell);
    }
    victim_.tap.cells.clear();
  }

 private:
  static constexpr std::size_t kKept = 16;   // cells that may be repeated
  static constexpr int kIterationsMax = 64;  // with a deadline in the past

  static fabric::testing::PairOptions options(fabric::AdapterLimits limits) {
    fabric::testing::PairOptions out;
    limits.qps = 16;
    out.limits = limits;
    out.mcp = kMcp;
    out.cq_depth = 512;
    out.hub.drops_when_full = true;
    return out;
  }
  fabric::testing::QpPair connect(const fabric::QpInit& init) {
    if (init.service != fabric::Service::kUd) return pair_.connect(init);
    return {pair_.make_ud(pair_.a(), init), pair_.make_ud(pair_.b(), init)};
  }
  // Runs end a until it waits for something. A deadline that stays in the past is a busy loop.
  void settle() {
    victim_.poll();
    for (int i = 0; victim_.adapter->deadline() <= pair_.now(); ++i) {
      CHECK(i < kIterationsMax);
      victim_.poll();
    }
  }

  fabric::testing::AdapterPair pair_;
  fabric::testing::QpPair qp_;
  fabric::testing::CellMaker maker_;
  fabric::testing::End& victim_;
  std::vector<Cell> batch_, sent_;
};

// Changes a cell as the input wants, and makes its CRC right: a number of the header is moved, a
// byte is changed, or the length.
inline void change_cell(support::Input& in, AttackedQp::Cell& cell) {
  using namespace fabric;
  const std::uint8_t kind = in.u8();
  MacHeader header = MacHeader::parse(cell.data());
  switch (kind % 8) {
    case 0:
      header.psn = header.psn + static_cast<std::uint32_t>(in.delta());
      break;
    case 1:
      header.lcn = header.lcn + static_cast<std::uint32_t>(in.delta());
      break;
    case 2:
      header.csn = static_cast<std::uint16_t>(header.csn + in.delta());
      break;
    case 3:
      header.pos = static_cast<Pos>(in.u8() % 4);
      break;
    case 4:
      header.op = static_cast<Op>(in.u8() % kOpValues);
      break;
    case 5:
      cell.resize(std::max(kCellBytesMin,
                           cell.size() + 32 - std::min<std::size_t>(in.below(64), cell.size())));
      break;
    default:
      break;
  }
  header.emit(cell.data());
  if (kind % 8 > 5) cell[in.below(cell.size() - kCrcBytes)] ^= std::byte{in.u8()};
  fabric::testing::reseal(cell);
}

// Any bytes as a cell of this queue pair, with the right CRC.
inline AttackedQp::Cell raw_cell(support::Input& in, const fabric::testing::CellMaker& maker) {
  using namespace fabric;
  const base::Bytes bytes = in.bytes(160);
  AttackedQp::Cell cell(std::max(base::round_up(bytes.size(), 4), kCellBytesMin));
  maker.header(static_cast<Op>(in.u8() % kOpValues), Pos::kOnly).emit(cell.data());
  // The first bytes stay those of the header: the choice was made there.
  const std::size_t from = std::min<std::size_t>(in.below(kMacHeaderBytes + 1), bytes.size());
  std::ranges::copy(bytes.subspan(from), cell.begin() + static_cast<std::ptrdiff_t>(from));
  fabric::testing::reseal(cell);
  return cell;
}

}  // namespace splitnic::fuzz
