// Two adapters joined by one connection of the STREAM service, and cells made by hand as its end b
// would send them, or as it never would.
//
//   StreamLine harness;                                          // RDMA, connected
//   harness.b().post_write(harness.qb, {from.sge()}, to.start, to.handle, 1);
//   harness.pair.run_until([&] { return harness.b().sent.size() == 1; });
//
//   StreamMaker maker(harness);                                  // b posts nothing meanwhile
//   const auto cells = maker.write(to, 0, payload);
//   maker.inject(cells[1]);                                    // the last before the first
#pragma once

#include "tests/support/cell_maker.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing {

inline constexpr std::uint16_t kStreamMcp = 256;

class StreamHarness {
 public:
  static PairOptions options() { return options(MrwtProfile::kRegionsOk); }
  static PairOptions options(MrwtProfile profile) {
    PairOptions out;
    out.limits.profile = profile;
    return out;
  }
  explicit StreamHarness(const StreamInit& init = reads(),
                         const PairOptions& pair_options = options())
      : StreamHarness(init, init, pair_options) {}
  StreamHarness(const StreamInit& at_a, const StreamInit& at_b, const PairOptions& pair_options)
      : pair(pair_options) {
    qa = create(a(), at_a);
    qb = create(b(), at_b);
    at_a_ = a().adapter->describe(qa, 0, 0);
    at_b_ = b().adapter->describe(qb, 0, 0);
  }
  // An RDMA stream with this many reads open at a time.
  static StreamInit reads() { return reads(4); }
  static StreamInit reads(std::uint16_t depth) {
    StreamInit init;
    init.common.max_dest_rd_atomic = depth;
    init.common.mcp = kStreamMcp;
    init.common.fixed_rto = std::chrono::milliseconds(5);
    return init;
  }
  static StreamInit of_kind(StreamKind kind) {
    StreamInit init = reads(0);
    init.kind = kind;
    return init;
  }

  // Both ends, with their descriptions.
  base::Status connect() {
    const auto done = a().adapter->connect_qp(at_a_, at_b_, a().link());
    return done ? b().adapter->connect_qp(at_b_, at_a_, b().link()) : done;
  }

  End& a() { return pair.a(); }
  End& b() { return pair.b(); }
  StreamQp& sa() { return *a().adapter->streams().find(qa); }
  StreamQp& sb() { return *b().adapter->streams().find(qb); }
  std::uint64_t count_a(StreamCounter which) { return a().adapter->streams().counters()[which]; }
  std::uint64_t count_b(StreamCounter which) { return b().adapter->streams().counters()[which]; }
  void settle() { pair.run_for(std::chrono::microseconds(200)); }
  bool run_sent(std::size_t n) {
    return pair.run_until([&] { return b().sent.size() >= n; });
  }
  bool are_both_down() { return sa().state() == QpState::kErr && sb().state() == QpState::kErr; }
  // The TERMINATE that end b received. REQUIRES that its tap was recording.
  std::optional<Terminate> terminate_at_b() { return terminate_in(b()); }
  static std::optional<Terminate> terminate_in(End& end) {
    for (const TappedCell& cell : end.tap.cells) {
      if (!cell.sent && cell.header().op == Op::kTerminate) {
        return Terminate::parse(cell.view().payload);
      }
    }
    return std::nullopt;
  }
  const MgmtPair& described_by_b() const { return at_b_; }
  StreamNumber first_number_of_a() const { return StreamNumber(at_a_.start_lcn.value << 16); }

  AdapterPair pair;
  Qpn qa, qb;

 private:
  static Qpn create(End& end, StreamInit init) {
    if (init.common.pd.value == 0) init.common.pd = end.pd;
    init.common.send_cq = end.send_cq;
    init.common.recv_cq = end.recv_cq;
    return end.adapter->create_stream(init, end.now()).value();
  }
  MgmtPair at_a_, at_b_;
};

// A connected one.
struct StreamLine : StreamHarness {
  explicit StreamLine(const StreamInit& init = reads(), const PairOptions& pair_options = options())
      : StreamHarness(init, pair_options) {
    CHECK(connect().has_value());
  }
};

// Cells of end b to end a.
class StreamMaker {
 public:
  using Cell = std::vector<std::byte>;

  explicit StreamMaker(StreamHarness& harness)
      : number(harness.described_by_b().start_lcn.value << 16),
        psn(harness.described_by_b().start_psn),
        harness_(harness) {}

  CellHead head(Op op, Pos pos) const {
    Link& link = harness_.b().link();
    CellHead out;
    MacHeader& h = out.header;
    h.op = op;
    h.pos = pos;
    h.service = Service::kStream;
    h.slid = link.local_lid();
    h.dlid = link.remote_lid();
    h.sqpn = harness_.qb;
    h.dqpn = harness_.qa;
    h.psn = psn;
    out.stream_number = number.value;
    return out;
  }
  // The numbers move on.
  Cell next(const CellHead& head, base::Bytes payload = {}) {
    Cell out = make_cell(head, payload);
    number = number + static_cast<std::uint32_t>(out.size());
    if (is_last(head.header.pos)) ++psn;
    return out;
  }
  Cell send(base::Bytes payload) { return next(head(Op::kSend, Pos::kOnly), payload); }
  // An RDMA write, cell by cell.
  std::vector<Cell> write(MemoryHandle handle, VirtualAddress at, base::Bytes payload,
                          std::optional<std::uint32_t> idata = {}) {
    std::vector<Cell> out;
    const std::size_t cells =
        std::max<std::size_t>(1, (payload.size() + kStreamMcp - 1) / kStreamMcp);
    for (std::size_t i = 0; i < cells; ++i) {
      CellHead h = head(Op::kRdmaWrite, position_of(static_cast<std::uint32_t>(i),
                                                    static_cast<std::uint32_t>(cells)));
      h.header.csn = static_cast<std::uint16_t>(i);
      h.va_mh = VaMh{VirtualAddress(at.value + i * kStreamMcp), handle,
                     static_cast<std::uint32_t>(payload.size())};
      if (i + 1 == cells) h.idata = idata;
      out.push_back(
          next(h, payload.subspan(i * kStreamMcp)
                      .first(std::min<std::size_t>(kStreamMcp, payload.size() - i * kStreamMcp))));
    }
    return out;
  }
  Cell read_request(const Memory& source, std::uint32_t length, std::uint32_t msn,
                    const Memory& sink) {
    CellHead h = head(Op::kRdmaReadReq, Pos::kOnly);
    h.va_mh = VaMh{source.start, source.handle, length};
    const ReadExt ext{msn, sink.handle, sink.start.value};
    h.read = &ext;
    return next(h);
  }
  // Not of the byte stream: the numbers stay.
  Cell ack(StreamNumber acked, std::uint16_t credits = 64) const {
    const AckExt ext{.receive_credits = credits};
    CellHead h = head(Op::kAck, Pos::kOnly);
    h.stream_number = acked.value;
    h.ack = &ext;
    return make_cell(h, {});
  }
  Cell terminate(StreamNumber at, base::Bytes payload) const {
    CellHead h = head(Op::kTerminate, Pos::kOnly);
    h.stream_number = at.value;
    return make_cell(h, payload);
  }
  // End a receives it in its next iteration; nothing else happens in between.
  void inject(const Cell& cell) {
    harness_.a().tap.inject(harness_.pair.address(1), cell);
    harness_.a().poll();
  }
  void inject(const std::vector<Cell>& cells) {
    for (const Cell& cell : cells) inject(cell);
  }

  StreamNumber number;  // of the next cell
  Psn psn;

 private:
  StreamHarness& harness_;
};

inline std::vector<std::byte> some_bytes(std::size_t n, std::size_t seed = 1) {
  std::vector<std::byte> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = pattern(seed, i);
  return out;
}
inline bool holds(const Memory& memory, std::size_t offset, base::Bytes bytes) {
  return std::ranges::equal(std::span(memory.bytes).subspan(offset, bytes.size()), bytes);
}

}  // namespace splitnic::fabric::testing
