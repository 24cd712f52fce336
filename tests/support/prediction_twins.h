// Two receivers that differ in one thing: one takes long RDMA writes in runs (header prediction),
// the other takes them one by one. Both get the same cells in the same batches, made by hand,
// and all that they do is compared: memory, completions, replies, counters and states.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/adapter_pair.h"
#include "tests/support/cell_maker.h"

namespace splitnic::fabric::testing {

// One of them: end a of a pair. End b only gives its name to the cells.
class PredictionTwin {
 public:
  static constexpr std::size_t kMcp = 64;
  static constexpr std::size_t kBytes = 1024;

  // Refuses what reaches into [from, kBytes) of the region.
  struct Guard final : WriteGuard {
    std::uint64_t start = 0, from = kBytes;
    bool may_write(VirtualAddress address, std::uint64_t length) const noexcept override {
      return address.value - start + length <= from;
    }
  };

  explicit PredictionTwin(bool predicts)
      : pair(options(predicts)),
        memory(pair.a().memory(kBytes)),
        other_memory(pair.a().memory(kBytes)) {
    guard.start = memory.start.value;
    table().regions().set_guard(memory.handle, guard);
    pair.a().tap.is_recording = true;
  }

  Mrwt& table() { return pair.a().adapter->memory(); }
  Qp& qp() { return pair.a().qp(pairs[0].a); }

  // Two fresh queue pairs: cells for the second come between those for the first.
  void connect(const QpInit& init) {
    for (QpPair& one : pairs) one = pair.connect_by_hand(init);
  }
  // Binds a window to the whole region, for this queue pair or, without one, for any. Returns it.
  MemoryHandle bind_window(Qpn qp = {}) {
    return table()
        .windows()
        .bind_window(pair.a().pd, memory.handle, memory.start, kBytes, kRemoteWrite, qp)
        .value();
  }
  void disconnect() {
    for (const QpPair& one : pairs) {
      pair.a().adapter->destroy_qp(one.a, pair.now());
      pair.b().adapter->destroy_qp(one.b, pair.now());
    }
    pair.a().received.clear();
    pair.a().tap.cells.clear();
  }
  void take(std::span<const std::vector<std::byte>> batch) {
    pair.a().tap.inject_batch(pair.address(1), batch);
    for (int i = 0; i < 3; ++i) pair.step();
  }
  std::uint64_t predicted() { return pair.a().count(TransportCounter::kRxPredicted); }

  // Whether a peer and the owner see the same of both.
  bool looks_like(PredictionTwin& other) {
    const End &a = pair.a(), &b = other.pair.a();
    return memory.bytes == other.memory.bytes && other_memory.bytes == other.other_memory.bytes &&
           std::ranges::equal(a.received, b.received, is_same_completion) &&
           std::ranges::equal(a.tap.cells, b.tap.cells, is_same_cell) &&
           qp().state() == other.qp().state() && counters() == other.counters() &&
           (a.received.empty() || (queue_pairs() == other.queue_pairs() &&
                                   values_of_adapter() == other.values_of_adapter()));
  }
  // Those that do not count runs.
  std::vector<std::uint64_t> counters() {
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < base::Counters<TransportCounter>::kSize; ++i) {
      const auto which = static_cast<TransportCounter>(i);
      const bool counts_runs =
          which == TransportCounter::kRxPredicted || which == TransportCounter::kTxPredicted;
      values.push_back(counts_runs ? 0 : pair.a().count(which));
    }
    for (std::size_t i = 0; i < base::Counters<LinkCounter>::kSize; ++i) {
      values.push_back(pair.a().port->counters()[static_cast<LinkCounter>(i)]);
    }
    return values;
  }
  // All that they can see, as text.
  std::string seen() {
    End& a = pair.a();
    std::string text;
    for (const QueuePairView& qp : queue_pairs()) {
      text += "qp " + std::to_string(static_cast<int>(qp.state)) + " psn " +
              std::to_string(qp.psn) + " writes " + std::to_string(qp.writes) + " posted " +
              std::to_string(qp.posted) + (qp.is_receiving ? " receiving" : "") +
              (qp.has_reply_due ? " reply due\n" : "\n");
    }
    for (const Wc& wc : a.received) {
      text += "wc " + std::to_string(wc.wr_id) + " " + std::string(name(wc.status)) + " " +
              std::to_string(wc.bytes) + " " + std::to_string(wc.idata) + " " +
              std::to_string(wc.address.value) + "\n";
    }
    for (const TappedCell& cell : a.tap.cells) {
      if (!cell.sent) continue;
      text += "sent";
      for (const std::byte b : cell.bytes) text += " " + std::to_string(static_cast<int>(b));
      text += "\n";
    }
    a.adapter->visit_counters([&](std::string_view name, std::uint64_t value) {
      if (is_of_runs(name) || value == 0) return;
      text += std::string(name) + " " + std::to_string(value) + "\n";
    });
    return text;
  }

 private:
  struct QueuePairView {
    QpState state;
    std::uint32_t psn;
    std::uint64_t writes, posted;
    bool is_receiving, has_reply_due;
    bool operator==(const QueuePairView&) const = default;
  };
  std::array<QueuePairView, 2> queue_pairs() {
    const auto view = [this](const QpPair& one) {
      const Qp& qp = pair.a().qp(one.a);
      const auto& responder = qp.responder();
      return QueuePairView{
          qp.state(),         responder.expected_psn().value, responder.writes_completed(),
          responder.posted(), responder.is_receiving(),       responder.has_reply_due()};
    };
    return {view(pairs[0]), view(pairs[1])};
  }
  static bool is_same_completion(const Wc& one, const Wc& other) {
    return one.wr_id == other.wr_id && one.status == other.status && one.bytes == other.bytes &&
           one.idata == other.idata && one.address == other.address;
  }
  static bool is_same_cell(const TappedCell& one, const TappedCell& other) {
    return one.sent == other.sent && one.bytes == other.bytes;
  }
  static bool is_of_runs(std::string_view counter) { return counter.ends_with(".predicted"); }
  // All counters, but those that count runs.
  std::vector<std::uint64_t> values_of_adapter() {
    std::vector<std::uint64_t> values;
    pair.a().adapter->visit_counters([&](std::string_view name, std::uint64_t value) {
      if (!is_of_runs(name)) values.push_back(value);
    });
    return values;
  }
  static PairOptions options(bool predicts) {
    PairOptions out;
    out.limits.predicts_headers = predicts;
    out.mcp = kMcp;
    return out;
  }

 public:
  AdapterPair pair;
  Memory& memory;
  Memory& other_memory;
  Guard guard;
  std::array<QpPair, 2> pairs;
};

class PredictionTwins {
 public:
  PredictionTwin with{true};
  PredictionTwin without{false};

  template <class Do>
  void both(Do&& action) {
    action(with);
    action(without);
  }
  void take(std::span<const std::vector<std::byte>> batch) {
    both([&](PredictionTwin& twin) { twin.take(batch); });
  }
  // Empty if nothing differs.
  std::string difference() {
    if (with.looks_like(without)) return "";
    if (with.memory.bytes != without.memory.bytes) return "the memory differs";
    if (with.other_memory.bytes != without.other_memory.bytes) return "the other memory differs";
    const std::string one = with.seen(), other = without.seen();
    return "in runs:\n" + one + "cell by cell:\n" + other;
  }
};

using Cells = std::vector<std::vector<std::byte>>;

// The cells of one RDMA write of `bytes` bytes to `offset` of the memory of `handle`.
inline Cells write_of(CellMaker& maker, VirtualAddress to, MemoryHandle handle, std::size_t bytes,
                      std::size_t seed, std::optional<std::uint32_t> idata = {}) {
  std::vector<std::byte> payload(bytes);
  for (std::size_t i = 0; i < bytes; ++i) payload[i] = pattern(seed, i);
  const auto cells = static_cast<std::uint32_t>(cells_of(bytes, PredictionTwin::kMcp));
  Cells out;
  for (std::uint32_t csn = 0; csn < cells; ++csn) {
    CellParts parts;
    const Pos pos = position_of(csn, cells);
    if (is_first(pos)) parts.va_mh = VaMh{to, handle, static_cast<std::uint32_t>(bytes)};
    if (is_last(pos)) {
      parts.idata = idata;
      parts.flags = kFlagAckRequest;
    }
    const base::Bytes rest = base::Bytes(payload).subspan(csn * PredictionTwin::kMcp);
    out.push_back(maker.next(Op::kRdmaWrite, pos,
                             rest.first(std::min(PredictionTwin::kMcp, rest.size())), parts));
  }
  return out;
}

// A header field of a cell is changed, and the CRC fits.
template <class Change>
void change(std::vector<std::byte>& cell, Change&& how) {
  MacHeader header = MacHeader::parse(cell.data());
  how(header);
  header.emit(cell.data());
  reseal(cell);
}

}  // namespace splitnic::fabric::testing
