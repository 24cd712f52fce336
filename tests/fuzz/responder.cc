// A requester that does anything: Sends, RDMA writes, reads and FetchOps of a correct peer, and the
// same with other numbers, places and lengths, lost, late, twice and out of order. Receives are
// posted and windows end meanwhile. Whatever comes, no byte changes that the peer may not write,
// none leaves that it may not read, each receive completes once and in order, and an ended queue
// pair leaves nothing.
#include <deque>

#include "tests/fuzz/attacked_qp.h"
#include "tests/fuzz/guarded_memory.h"
#include "tests/fuzz/targets.h"

namespace splitnic::fuzz {
namespace {

using namespace fabric;
using support::Input;

constexpr int kResponderStepsMax = 128;
constexpr std::size_t kSlots = 6;
constexpr std::size_t kSlotBytes = 96;
constexpr std::byte kSecret{0xEE};  // of what the peer may not read: no cell of it has this byte
constexpr std::byte kPublic{0x11};
constexpr std::uint8_t kPeerBits = 0x3F;

constexpr auto kRequestOps =
    std::to_array<Op>({Op::kRdmaWrite, Op::kSend, Op::kRdmaWrite, Op::kSend, Op::kRdmaReadReq,
                       Op::kFetchOpReq, Op::kSendDereg, Op::kRdmaReadResp});

class ResponderRun {
 public:
  explicit ResponderRun(base::Bytes bytes)
      : in_(bytes), config_(in_.u8()), qp_(init(), limits()), memory_(4096) {
    make_memory();
    for (std::size_t i = 0; i < 2; ++i) post_receive();
  }
  void all() {
    for (int steps = 0; !in_.empty() && steps < kResponderStepsMax; ++steps) step();
    qp_.deliver();
    check();
    end();
  }

 private:
  // A place that cells name.
  struct Target {
    MemoryHandle handle;
    VirtualAddress start;
    std::size_t piece = 0;
    bool may_write = false;  // as long as the handle lives
  };
  struct Posted {
    std::uint64_t wr_id = 0;
    std::size_t slot = 0;
    std::size_t bytes = 0;
  };

  QpInit init() const {
    constexpr std::array kServices{Service::kRc, Service::kRc, Service::kUc, Service::kUd};
    QpInit out;
    out.service = kServices[config_ % kServices.size()];
    out.selective_repeat = (config_ & 4U) == 0;
    out.packet_crc = (config_ & 8U) != 0;
    out.ack_interval = (config_ & 16U) != 0 ? 1 : 8;
    out.common.takes_dereg = (config_ & 32U) != 0;
    out.common.max_dest_rd_atomic = 4;
    out.common.send_depth = out.common.receive_depth = 16;
    out.window_bytes_max = 16384;
    return out;
  }
  AdapterLimits limits() const {
    AdapterLimits out;
    out.predicts_headers = (config_ & 64U) == 0;
    if ((config_ & 128U) != 0) out.profile = MrwtProfile::kStrictWindows;
    return out;
  }

  Target window(std::size_t bytes, std::byte fill, PdId pd, std::uint8_t rights, Qpn bound_qp) {
    const std::size_t piece = memory_.add(bytes, fill);
    const MemoryHandle region =
        qp_.memory()
            .regions()
            .register_region(pd, memory_.with_gaps(piece), kLocalRead | kLocalWrite | kWindowBind)
            .value();
    const VirtualAddress start(qp_.memory().start_of(region).value + GuardedMemory::kGapBytes);
    const MemoryHandle handle =
        qp_.memory().windows().bind_window(pd, region, start, bytes, rights, bound_qp).value();
    return {handle, start, piece, false};
  }
  void make_memory() {
    const PdId pd = qp_.victim().pd;
    other_pd_ = qp_.victim().adapter->alloc_pd();
    targets_[0] = window(256, kSecret, pd, kRemoteWrite, qp_.qpn());
    targets_[1] = window(256, kPublic, pd, kRemoteRead, qp_.qpn());
    targets_[2] = window(64, kPublic, pd, kRemoteRead | kRemoteWrite, Qpn{});
    targets_[3] = window(128, kSecret, pd, kRemoteWrite, Qpn(0x777));
    targets_[4] = window(128, kSecret, other_pd_, kRemoteRead | kRemoteWrite, Qpn{});
    targets_[5] = window(128, kSecret, pd, kRemoteWrite, qp_.qpn());
    CHECK(qp_.memory().windows().unbind(targets_[5].handle).has_value());
    targets_[0].may_write = targets_[2].may_write = true;
    // A region that serves the peer itself, where the profile permits that.
    const std::size_t piece = memory_.add(128, kSecret);
    const MemoryHandle region =
        qp_.memory()
            .regions()
            .register_region(pd, memory_.piece(piece), kLocalRead | kLocalWrite | kRemoteWrite)
            .value();
    targets_[6] = {region, qp_.memory().start_of(region), piece,
                   qp_.memory().profile() == MrwtProfile::kRegionsOk};
    targets_[7] = {MemoryHandle(0x12345), VirtualAddress(0), piece, false};
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      slots_[slot] = memory_.add(kSlotBytes, kSecret);
      slot_handles_[slot] =
          qp_.memory()
              .regions()
              .register_region(pd, memory_.piece(slots_[slot]), kLocalRead | kLocalWrite)
              .value();
    }
    open_targets();
  }
  // A window that has ended, by its owner or by the peer's SEND_DEREG, is closed.
  void open_targets() {
    for (std::size_t i = 0; i < 7; ++i) {
      const Target& target = targets_[i];
      const bool lives = qp_.memory().entry(target.handle) != nullptr;
      if (target.may_write && lives) {
        memory_.open(target.piece);
      } else {
        memory_.close(target.piece);
      }
    }
  }

  void step() {
    const std::uint8_t choice = in_.u8();
    switch (choice % 8) {
      case 4:
        return post_receive();
      case 5:
        qp_.deliver();
        return check();
      case 6:
        qp_.advance(std::chrono::microseconds(25) * (choice >> 3));
        return check();
      case 7:
        return special(choice >> 3);
      default:
        return add_cell(choice >> 3);
    }
  }
  void special(unsigned choice) {
    if (choice < 8) {
      is_masked_ = false;
      qp_.add(raw_cell(in_, qp_.maker()));
    } else if (choice < 24) {
      qp_.repeat(choice);
    } else {
      end_window(choice % 7);
    }
  }
  void end_window(std::size_t which) {
    qp_.deliver();
    check();
    const MrwtEntry* entry = qp_.memory().entry(targets_[which].handle);
    if (entry == nullptr || entry->type != EntryType::kWindow) return;
    CHECK(qp_.memory().windows().unbind(targets_[which].handle).has_value());
    open_targets();
  }
  void post_receive() {
    std::size_t slot = 0;
    while (slot < kSlots && is_posted_[slot]) ++slot;
    if (slot == kSlots || qp_.qp().state() == QpState::kErr) return;
    const std::size_t bytes = kSlotBytes - 32 * in_.below(4);
    std::vector<Sge> scatter;
    if (bytes > 0) {
      scatter.push_back({qp_.memory().start_of(slot_handles_[slot]),
                         static_cast<std::uint32_t>(bytes), slot_handles_[slot]});
    }
    CHECK(qp_.victim().post_recv(qp_.qpn(), scatter, next_wr_id_).has_value());
    posted_.push_back({next_wr_id_++, slot, bytes});
    is_posted_[slot] = true;
    memory_.open(slots_[slot]);
  }

  // The next cell of a correct peer, unless bit 3 changes it or bit 4 loses it.
  void add_cell(unsigned choice) {
    testing::CellMaker& maker = qp_.maker();
    if (left_ == 0 && maker.csn == 0) begin_packet((choice & 1U) != 0);
    const bool has_data = !wants_response(op_);
    const std::size_t bytes = has_data ? std::min<std::size_t>(left_, AttackedQp::kMcp) : 0;
    const bool ends = !has_data || bytes == left_;
    Pos pos = ends ? Pos::kLast : Pos::kMiddle;
    if (maker.csn == 0) pos = ends ? Pos::kOnly : Pos::kFirst;
    CellHead head;
    head.header = maker.header(op_, pos);
    if ((choice & 4U) != 0) head.header.flags |= kFlagAckRequest;
    if (maker.csn == 0 && op_info(op_, maker.service).va_mh != VaMhRule::kNever)
      head.va_mh = range_;
    if (op_ == Op::kFetchOpReq) head.atomic = &fetch_;
    if (ends && op_ == Op::kSendDereg) head.dereg = range_.handle.value;
    if ((choice & 2U) != 0 && op_info(op_, maker.service).may_have_idata) head.idata = 0x01020304;
    payload_.assign(bytes, std::byte{static_cast<std::uint8_t>(in_.u8() & kPeerBits)});
    AttackedQp::Cell cell = testing::make_cell(head, payload_);
    if ((config_ & 8U) != 0) cover(cell, head, ends);
    left_ -= has_data ? bytes : left_;
    ++maker.lcn;
    ++maker.csn;
    if (ends) {
      maker.csn = 0;
      ++maker.psn;
    }
    if ((choice & 8U) != 0) {
      is_masked_ = false;
      change_cell(in_, cell);
    }
    if ((choice & 16U) == 0) qp_.add(std::move(cell));
  }
  void begin_packet(bool is_long) {
    const std::uint8_t choice = in_.u8();
    op_ = kRequestOps[choice % kRequestOps.size()];
    const Target& target = targets_[(choice >> 3) % targets_.size()];
    std::size_t bytes = is_long ? AttackedQp::kMcp + in_.u8() : in_.below(AttackedQp::kMcp + 1);
    std::uint64_t offset = 0;
    if (op_ == Op::kFetchOpReq) bytes = sizeof(std::uint64_t);
    if ((choice & 64U) != 0) {  // near the start, or near the end
      offset = in_.flag() ? memory_.piece(target.piece).size() - bytes : 0;
      offset += static_cast<std::uint64_t>(in_.delta());
    }
    range_ = {VirtualAddress(target.start.value + offset), target.handle,
              static_cast<std::uint32_t>(bytes)};
    if ((choice & 128U) != 0) range_.length = in_.u32();
    if (op_ == Op::kFetchOpReq) choose_fetch();
    left_ = bytes;
    crc_ = PacketCrc{};
  }
  // No result of these has a byte of kSecret.
  void choose_fetch() {
    constexpr std::uint64_t kOnes = 0x0101010101010101U;
    range_.address.value &= ~std::uint64_t{7};
    fetch_ = {static_cast<FetchOp>(1 + in_.u8() % 3), kOnes, 0};
    if (fetch_.op == FetchOp::kFetchAdd) return;
    fetch_.operand1 = in_.u64() & kOnes * kPeerBits;
    if (fetch_.op == FetchOp::kCompareSwap) fetch_.operand2 = in_.u64() & kOnes * kPeerBits;
  }
  // With the packet CRC over all cells so far, if this is the last one.
  void cover(AttackedQp::Cell& cell, const CellHead& head, bool ends) {
    CellView view;
    if (parse_cell(cell, view) != CellError::kNone) return;
    crc_.add(view);
    if (ends) cell = testing::make_cell(head, payload_, crc_.value());
  }

  void check() {
    take_completions();
    open_targets();
    memory_.check();
    const Qp& qp = qp_.qp();
    const bool may_end = qp.service() == Service::kRc;
    CHECK(qp.state() == QpState::kRts || (may_end && qp.state() == QpState::kErr));
    CHECK(qp.responder().posted() == posted_.size());
    if (qp.state() == QpState::kErr) CHECK(posted_.empty());
    CHECK(qp_.victim().sent.empty());
    qp_.take_sent([&](const testing::TappedCell& cell) { check_sent(cell); });
  }
  void take_completions() {
    for (const Wc& wc : qp_.victim().received) {
      CHECK(!posted_.empty() && wc.wr_id == posted_.front().wr_id);
      const Posted receive = posted_.front();
      posted_.pop_front();
      const bool is_send = wc.op == WcOp::kReceive && wc.status == WcStatus::kSuccess;
      if (is_send) CHECK(wc.bytes <= receive.bytes);
      memory_.close(slots_[receive.slot]);
      is_posted_[receive.slot] = false;
    }
    qp_.victim().received.clear();
  }
  void check_sent(const testing::TappedCell& sent) {
    CellView cell;
    CHECK(parse_cell(sent.bytes, cell) == CellError::kNone);
    const Op op = cell.header.op;
    CHECK(op == Op::kAck || op == Op::kNak || op == Op::kRdmaReadResp || op == Op::kFetchOpResp);
    if (op != Op::kRdmaReadResp || !is_masked_) return;
    for (const std::byte b : cell.payload) CHECK(b != kSecret);
  }
  void end() {
    qp_.end([this] {
      take_completions();
      CHECK(posted_.empty());
    });
    qp_.victim().adapter->free_pd(other_pd_);
    CHECK(qp_.memory().live_count() == 0);
    memory_.check();
  }

  Input in_;
  const std::uint8_t config_;
  AttackedQp qp_;
  GuardedMemory memory_;
  PdId other_pd_;
  std::array<Target, 8> targets_;
  std::array<std::size_t, kSlots> slots_{};  // their pieces
  std::array<MemoryHandle, kSlots> slot_handles_;
  std::array<bool, kSlots> is_posted_{};
  std::deque<Posted> posted_;
  std::uint64_t next_wr_id_ = 1;
  bool is_masked_ = true;  // all that the peer has sent is without kSecret
  // The packet whose cells are made.
  Op op_ = Op::kSend;
  VaMh range_;
  AtomicExt fetch_;
  std::size_t left_ = 0;
  PacketCrc crc_;
  std::vector<std::byte> payload_;
};

}  // namespace

// First byte: the queue pair. Then steps of one byte and more.
void responder(base::Bytes in) { ResponderRun(in).all(); }

}  // namespace splitnic::fuzz
