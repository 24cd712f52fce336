// A responder that does anything: ACKs, NAKs and responses to what was sent, to what was not, and
// to what is complete, and Sends that find no receive, so that a NAK is due meanwhile. Sends, RDMA
// writes, reads and FetchOps are posted, sinks lose their region, and time passes. Whatever comes,
// each work request completes once and in order, none successfully that was not sent, no read
// without all of its response, no byte outside an open sink changes, and what is in flight keeps to
// the window.
#include <deque>
#include <map>
#include <set>

#include "fabric_emul/wire/terminate.h"
#include "tests/fuzz/attacked_qp.h"
#include "tests/fuzz/guarded_memory.h"
#include "tests/fuzz/targets.h"

namespace splitnic::fuzz {
namespace {

using namespace fabric;
using support::Input;
using namespace std::chrono_literals;

constexpr int kRequesterStepsMax = 128;
constexpr std::size_t kSinks = 6;
constexpr std::size_t kSinkBytes = 256;
constexpr std::size_t kSourceBytes = 512;
constexpr std::uint64_t kWindowBytes = 16384;
// One cell may always be in flight, and the oldest lost one is always retransmitted.
constexpr std::uint64_t kInFlightMax = kWindowBytes + 2 * 1024;

constexpr auto kAckCodes = std::to_array<AckCode>(
    {AckCode::kSequence, AckCode::kRnr, AckCode::kInvalidRequest, AckCode::kRemoteAccess,
     AckCode::kRemoteOperational, AckCode::kInvalidRdRequest, AckCode::kSequence, AckCode::kAck});

class RequesterRun {
 public:
  explicit RequesterRun(base::Bytes bytes)
      : in_(bytes), config_(in_.u8()), qp_(init(), limits()), memory_(4096) {
    next_psn_ = qp_.attr().send_psn;
    newest_lcn_ = qp_.attr().send_lcn - 1U;
    const PdId pd = qp_.victim().pd;
    const auto region = [&](std::size_t piece, std::uint8_t rights) {
      return qp_.memory().regions().register_region(pd, memory_.piece(piece), rights).value();
    };
    source_ = region(memory_.add(kSourceBytes, std::byte{0x5A}), kLocalRead);
    for (Sink& sink : sinks_) {
      sink.piece = memory_.add(kSinkBytes, std::byte{0xEE});
      sink.handle = region(sink.piece, kLocalRead | kLocalWrite);
    }
  }
  void all() {
    for (int steps = 0; !in_.empty() && steps < kRequesterStepsMax; ++steps) {
      step();
      check();
    }
    qp_.deliver();
    check();
    end();
  }

 private:
  struct Sink {
    std::size_t piece = 0;
    MemoryHandle handle;
    bool is_busy = false;
  };
  struct Posted {
    std::uint64_t wr_id = 0;
    WrOp op = WrOp::kSend;
    std::optional<Psn> psn;  // none: it sends nothing
    std::optional<std::size_t> sink;
    std::uint32_t cells = 1;  // of its response
  };
  // A read or FetchOp whose request was sent.
  struct Read {
    Op response = Op::kRdmaReadResp;
    std::uint32_t bytes = 0;
    std::set<std::uint32_t> delivered;  // cells of its response
  };

  QpInit init() const {
    QpInit out;
    out.selective_repeat = (config_ & 1U) == 0;
    out.packet_crc = (config_ & 2U) != 0;
    out.ack_interval = (config_ & 4U) != 0 ? 1 : 8;
    out.max_outstanding = 8;
    out.rnr_retry = (config_ & 8U) != 0 ? 7 : 2;
    out.window_bytes_max = kWindowBytes;
    out.common.max_dest_rd_atomic = (config_ & 16U) != 0 ? 1 : 4;
    out.common.retry_count = 3;
    out.common.fixed_rto = 1ms;
    out.common.stall_min = 5ms;
    out.common.send_depth = out.common.receive_depth = 16;
    return out;
  }
  AdapterLimits limits() const {
    AdapterLimits out;
    out.predicts_headers = (config_ & 32U) == 0;
    return out;
  }

  void step() {
    const std::uint8_t choice = in_.u8();
    switch (choice % 8) {
      case 0:
      case 1:
        return post(choice >> 3);
      case 2:
        return add_ack(choice >> 3);
      case 3:
        return add_nak(choice >> 3);
      case 4:
      case 5:
        return add_response(choice >> 3);
      case 6:
        return pass_time(choice >> 3);
      default:
        return special(choice >> 3);
    }
  }
  // Up to a second: the link goes silent, and all tries are used up.
  void pass_time(unsigned choice) {
    qp_.advance(choice < 16 ? 50us * choice : 8ms * (1 << (choice - 16) / 2));
  }
  void special(unsigned choice) {
    if (choice < 8) {
      is_correct_ = false;
      qp_.add(raw_cell(in_, qp_.maker()));
    } else if (choice < 16) {
      qp_.repeat(choice);
    } else if (choice < 20) {
      qp_.deliver();
    } else if (choice < 22) {
      end_sink(in_.below(kSinks));
    } else if (choice < 24) {
      add_send();
    } else {
      add_terminate();
    }
  }
  // Its region is gone: nothing may write there any more.
  void end_sink(std::size_t which) {
    qp_.deliver();
    Sink& sink = sinks_[which];
    if (qp_.memory().entry(sink.handle) == nullptr) return;
    CHECK(qp_.memory().regions().deregister(sink.handle).has_value());
    memory_.close(sink.piece);
  }

  void post(unsigned choice) {
    constexpr std::array kOps{WrOp::kSend,     WrOp::kRdmaWrite, WrOp::kRdmaRead, WrOp::kFetchOp,
                              WrOp::kRdmaRead, WrOp::kDelay,     WrOp::kUnbind,   WrOp::kRdmaWrite};
    SendWr wr;
    wr.op = kOps[choice % kOps.size()];
    wr.wr_id = next_wr_id_;
    wr.is_fenced = (choice & 8U) != 0;
    wr.remote_address = VirtualAddress(0x1000);
    wr.remote_handle = MemoryHandle(0x77);
    wr.local.delay = 100us;
    Posted posted;
    posted.wr_id = wr.wr_id;
    posted.op = wr.op;
    std::array<Sge, 2> pieces;
    std::size_t count = 0;
    if (is_responded(wr.op)) {
      std::size_t which = 0;
      while (which < kSinks &&
             (sinks_[which].is_busy || qp_.memory().entry(sinks_[which].handle) == nullptr)) {
        ++which;
      }
      if (which == kSinks) return;
      posted.sink = which;
      count = gather_sink(sinks_[which], wr.op, (choice & 16U) != 0, pieces, posted);
    } else if (!is_local(wr.op)) {
      pieces[count++] = {qp_.memory().start_of(source_),
                         static_cast<std::uint32_t>(in_.below(kSourceBytes + 1)), source_};
    }
    wr.gather = std::span(pieces).first(count);
    const bool is_flushed = qp_.qp().state() == QpState::kErr;
    if (!qp_.victim().adapter->post_send(qp_.qpn(), wr)) return;
    ++next_wr_id_;
    if (!is_local(wr.op) && !is_flushed) {
      posted.psn = next_psn_;
      ++next_psn_;
    }
    if (posted.sink) {
      sinks_[*posted.sink].is_busy = true;
      memory_.open(sinks_[*posted.sink].piece);
    }
    posted_.push_back(posted);
    qp_.deliver();
  }
  std::size_t gather_sink(const Sink& sink, WrOp op, bool is_split, std::span<Sge, 2> pieces,
                          Posted& posted) {
    const VirtualAddress start = qp_.memory().start_of(sink.handle);
    const auto bytes = static_cast<std::uint32_t>(op == WrOp::kFetchOp ? sizeof(std::uint64_t)
                                                                       : in_.below(kSinkBytes + 1));
    posted.cells = static_cast<std::uint32_t>(cells_of(bytes, AttackedQp::kMcp));
    const std::uint32_t first = is_split ? bytes / 2 : bytes;
    pieces[0] = {start, first, sink.handle};
    if (!is_split) return 1;
    pieces[1] = {VirtualAddress(start.value + first), bytes - first, sink.handle};
    return 2;
  }

  // As ACK and NAK have them: some number around the newest cell that was sent.
  AckExt ack_of(unsigned choice, AckCode code) {
    AckExt ack;
    ack.code = code;
    ack.selective = choice != 31;
    ack.cumulative = newest_lcn_ + static_cast<std::uint32_t>((choice & 1U) != 0 ? in_.delta() : 0);
    ack.receive_credits = static_cast<std::uint16_t>((choice & 2U) != 0 ? in_.u8() : 16);
    ack.bitmap_words = (choice & 4U) != 0 ? static_cast<unsigned>(in_.below(3)) : 0;
    for (unsigned i = 0; i < ack.bitmap_words; ++i) ack.bitmap[i] = in_.u32();
    return ack;
  }
  void add_ack(unsigned choice) {
    add(qp_.maker().reply(Op::kAck, ack_of(choice, AckCode::kAck), next_psn_ - 1U), choice);
  }
  void add_nak(unsigned choice) {
    AckExt ack = ack_of(choice, in_.one_of(kAckCodes));
    ack.detail = in_.u8();
    const Psn psn = refused_psn(in_.u8());
    add(qp_.maker().reply(Op::kNak, ack, psn, static_cast<std::uint16_t>(in_.u8() % 4)), choice);
  }
  // Of one of the newest packets; 0, as work that sends nothing has it; or of an open read, however
  // old that is.
  Psn refused_psn(std::size_t choice) const {
    if (choice < 128) return next_psn_ - 1U - static_cast<std::uint32_t>(choice % 16);
    if (choice < 192 || reads_.empty()) return Psn();
    return Psn(
        std::next(reads_.begin(), static_cast<std::ptrdiff_t>(choice % reads_.size()))->first);
  }
  // The next request of the peer, which finds no receive: its numbers stay the next ones.
  void add_send() {
    CellHead head;
    head.header = qp_.maker().header(Op::kSend, Pos::kOnly);
    add(testing::make_cell(head, {}), in_.u8());
  }
  void add_response(unsigned choice) {
    if (reads_.empty()) return;
    const auto at =
        std::next(reads_.begin(), static_cast<std::ptrdiff_t>(in_.below(reads_.size())));
    Read& read = at->second;
    const auto cells = static_cast<std::uint32_t>(cells_of(read.bytes, AttackedQp::kMcp));
    const auto csn = static_cast<std::uint32_t>(choice % cells);
    CellHead head;
    head.header = qp_.maker().header(read.response, position_of(csn, cells));
    head.header.psn = Psn(at->first);
    head.header.csn = static_cast<std::uint16_t>(csn);
    head.header.lcn = Lcn();
    const std::vector<std::byte> payload(payload_of(read.bytes, csn, AttackedQp::kMcp),
                                         std::byte{in_.u8()});
    read.delivered.insert(csn);
    add(testing::make_cell(head, payload), choice);
  }
  void add_terminate() {
    CellHead head;
    head.header = qp_.maker().header(Op::kTerminate, Pos::kOnly);
    head.header.psn = head.header.psn + static_cast<std::uint32_t>(in_.delta());
    std::array<std::byte, kTerminateBytes> payload{};
    Terminate().emit(payload.data());
    add(testing::make_cell(head, payload), in_.u8());
  }
  void add(AttackedQp::Cell cell, unsigned choice) {
    if ((choice & 24U) == 24) {
      is_correct_ = false;
      change_cell(in_, cell);
    }
    qp_.add(std::move(cell));
    if ((choice & 8U) == 0) qp_.deliver();
  }

  void check() {
    qp_.take_sent([&](const testing::TappedCell& cell) { note_sent(cell); });
    take_completions();
    memory_.check();
    const Qp& qp = qp_.qp();
    CHECK(qp.state() == QpState::kRts || qp.state() == QpState::kErr);
    CHECK(qp.requester().queued() == posted_.size());
    CHECK(qp.requester().bytes_in_flight() <= kInFlightMax);
    if (qp.state() == QpState::kErr) {
      CHECK(posted_.empty() && qp.requester().bytes_in_flight() == 0);
    }
    CHECK(qp_.victim().received.empty());
  }
  void note_sent(const testing::TappedCell& sent) {
    CellView cell;
    CHECK(parse_cell(sent.bytes, cell) == CellError::kNone);
    const MacHeader& h = cell.header;
    if (h.op == Op::kAck || h.op == Op::kNak) return;
    if (before(newest_lcn_, h.lcn)) newest_lcn_ = h.lcn;
    if (is_last(h.pos)) sent_whole_.insert(h.psn.value);
    if (!wants_response(h.op)) return;
    Read& read = reads_[h.psn.value];  // the first request names all of it
    read.response = h.op == Op::kRdmaReadReq ? Op::kRdmaReadResp : Op::kFetchOpResp;
    read.bytes = std::max(read.bytes, cell.va_mh->length);
  }
  void take_completions() {
    for (const Wc& wc : qp_.victim().sent) {
      CHECK(!posted_.empty() && wc.wr_id == posted_.front().wr_id);
      const Posted done = posted_.front();
      posted_.pop_front();
      if (wc.status == WcStatus::kSuccess) check_success(done);
      if (!done.sink) continue;
      sinks_[*done.sink].is_busy = false;
      memory_.close(sinks_[*done.sink].piece);
    }
    qp_.victim().sent.clear();
  }
  void check_success(const Posted& done) {
    CHECK(done.psn.has_value() || is_local(done.op));
    if (!done.psn) return;
    CHECK(sent_whole_.contains(done.psn->value));
    const auto read = reads_.find(done.psn->value);
    if (read == reads_.end()) return;
    if (is_correct_) CHECK(read->second.delivered.size() == done.cells);
    reads_.erase(read);
  }
  void end() {
    qp_.end([this] {
      take_completions();
      CHECK(posted_.empty());
    });
    CHECK(qp_.memory().live_count() == 0);
    memory_.check();
  }

  Input in_;
  const std::uint8_t config_;
  AttackedQp qp_;
  GuardedMemory memory_;
  MemoryHandle source_;
  std::array<Sink, kSinks> sinks_;
  std::deque<Posted> posted_;
  std::uint64_t next_wr_id_ = 1;
  Psn next_psn_;                         // of the next work request that is sent
  Lcn newest_lcn_;                       // of all cells that were sent
  std::set<std::uint32_t> sent_whole_;   // packets whose last cell was sent
  std::map<std::uint32_t, Read> reads_;  // open ones, by PSN
  bool is_correct_ = true;               // responses came only from add_response()
};

}  // namespace

// First byte: the queue pair. Then steps of one byte and more.
void requester(base::Bytes in) { RequesterRun(in).all(); }

}  // namespace splitnic::fuzz
