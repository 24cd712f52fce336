// A node with two RD queue pairs, a Raw queue pair and an end-to-end context, whose peer is the
// input: what it has, what it posts and what completes. Its memory is guarded; a queue pair of UD
// is there too, to which neither service may come. Each receive and each work request completes
// once and in order, and a Raw receive has a whole datagram that its filter selects.
#pragma once

#include <algorithm>
#include <deque>
#include <set>

#include "tests/fuzz/attacked_qp.h"
#include "tests/fuzz/guarded_memory.h"

namespace splitnic::fuzz {

class DatagramNode {
 public:
  static constexpr std::size_t kRd = 2;       // sides of RD; the last one is Raw
  static constexpr std::size_t kCounter = 2;  // a target: only FetchOps of 1 change it
  static constexpr std::uint8_t kTcp = 6, kUdp = 17;
  static constexpr std::uint16_t kUdpPort = 0x1234;
  static constexpr std::byte kTcpDestination{9};  // the last byte of the address
  static constexpr std::byte kSecret{0xEE};       // of what the peer may not read
  static constexpr std::uint32_t kPeerContext = 0x4321;
  static constexpr fabric::Psn kPeerPsn{0x100};  // the first that the peer sends
  static constexpr std::size_t kSinkBytes = 64;

  struct Receive {
    std::uint64_t wr_id = 0;
    std::size_t slot = 0;
    std::size_t bytes = 0;
  };
  struct Sent {
    std::uint64_t wr_id = 0;
    fabric::WrOp op = fabric::WrOp::kSend;
  };
  // A queue pair. It posts a read or FetchOp only when nothing else is posted: it has one sink.
  struct Side {
    fabric::Qpn qpn;
    std::size_t sink = 0;  // its piece
    fabric::MemoryHandle sink_handle;
    std::deque<Receive> receives;
    std::deque<Sent> sends;
    std::size_t successes = 0;
    std::set<std::uint32_t> taken;  // PSNs of its messages with a result of success
  };
  // A window that the peer's requests name.
  struct Target {
    fabric::MemoryHandle handle;
    fabric::VirtualAddress start;
    std::size_t piece = 0;
  };

  DatagramNode() : attacked_(init(fabric::Service::kUd), {}), memory_(4096) {
    make_memory();
    for (Side& side : sides_) make(side);
    make_context();
  }

  AttackedQp& attacked() { return attacked_; }
  fabric::Adapter& adapter() { return *attacked_.victim().adapter; }
  fabric::EeId context() const { return context_; }
  std::span<Side> sides() { return sides_; }
  std::span<const Target> targets() const { return targets_; }
  std::uint64_t counter() {
    std::uint64_t value = 0;
    std::memcpy(&value, memory_.piece(targets_[kCounter].piece).data(), sizeof(value));
    return value;
  }

  // Ends the context, and makes another one.
  void renew_context() {
    adapter().contexts().destroy(context_);
    make_context();
  }
  // The queue pair ends, and another one comes: the context repeats what the first had in flight.
  void renew(Side& side) {
    finish(side);
    side.taken.clear();
    side.successes = 0;
    make(side);
  }
  // A message of `bytes` at most kSinkBytes, if the queue pair takes it.
  void post(Side& side, fabric::WrOp op, std::uint32_t bytes) {
    using namespace fabric;
    SendWr wr;
    wr.op = op;
    wr.wr_id = next_wr_id_;
    wr.remote_address = VirtualAddress(0x1000);
    wr.remote_handle = MemoryHandle(0x77);
    wr.destination_ee = context_;
    wr.destination_qpn = Qpn(0x55);
    if (is_responded(op) && !side.sends.empty()) return;
    const MemoryHandle local = is_responded(op) ? side.sink_handle : source_;
    const Sge piece{adapter().memory().start_of(local), bytes, local};
    wr.gather = std::span(&piece, 1);
    if (!adapter().post_send(side.qpn, wr)) return;
    ++next_wr_id_;
    side.sends.push_back({wr.wr_id, op});
    if (is_responded(op)) memory_.open(side.sink);
    attacked_.deliver();
  }
  // Into a free slot, if there is one. REQUIRES bytes <= kSlotBytes.
  void post_receive(Side& side, std::size_t bytes) {
    std::size_t slot = 0;
    while (slot < kSlots && is_posted_[slot]) ++slot;
    if (slot == kSlots) return;
    const fabric::Sge piece{adapter().memory().start_of(slot_handles_[slot]),
                            static_cast<std::uint32_t>(bytes), slot_handles_[slot]};
    const std::vector<fabric::Sge> scatter(bytes > 0 ? 1 : 0, piece);
    if (!attacked_.victim().post_recv(side.qpn, scatter, next_wr_id_)) return;
    side.receives.push_back({next_wr_id_++, slot, bytes});
    is_posted_[slot] = true;
    memory_.open(slots_[slot]);
  }
  static constexpr std::size_t kSlotBytes = 96;

  void check() {
    take_completions();
    memory_.check();
    const fabric::EeContext* ee = adapter().contexts().find(context_);
    CHECK(ee != nullptr && ee->in_flight() <= fabric::kEeWindow);
    if (ee->state() == fabric::EeContext::State::kEnded) CHECK(ee->in_flight() == 0);
    for (Side& side : sides_) {
      const fabric::Qp& qp = attacked_.victim().qp(side.qpn);
      CHECK(qp.state() == fabric::QpState::kRts || qp.state() == fabric::QpState::kSqe);
      CHECK(qp.responder().posted() == side.receives.size());
      CHECK(qp.requester().queued() == side.sends.size());
    }
  }
  void end() {
    for (Side& side : sides_) finish(side);
    adapter().contexts().destroy(context_);
    CHECK(adapter().contexts().size() == 0);
    attacked_.end([this] { take_completions(); });
    adapter().free_pd(other_pd_);
    CHECK(adapter().memory().live_count() == 0);
    memory_.check();
  }

 private:
  static constexpr std::size_t kSlots = 8;
  static constexpr std::byte kPublic{0x11};

  static fabric::QpInit init(fabric::Service service) {
    fabric::QpInit out;
    out.service = service;
    out.common.send_depth = out.common.receive_depth = 8;
    out.common.max_dest_rd_atomic = service == fabric::Service::kRd ? 4 : 0;
    return out;
  }
  fabric::MemoryHandle region(fabric::PdId pd, base::MutableBytes bytes, unsigned rights) {
    fabric::RegionRegistrar& regions = adapter().memory().regions();
    return regions.register_region(pd, bytes, static_cast<std::uint8_t>(rights)).value();
  }
  Target window(std::size_t bytes, std::byte fill, unsigned rights, fabric::PdId pd) {
    using namespace fabric;
    const std::size_t piece = memory_.add(bytes, fill);
    const MemoryHandle whole =
        region(pd, memory_.with_gaps(piece), kLocalRead | kLocalWrite | kWindowBind);
    const VirtualAddress start(adapter().memory().start_of(whole).value + GuardedMemory::kGapBytes);
    const auto handle = adapter().memory().windows().bind_window(
        pd, whole, start, bytes, static_cast<std::uint8_t>(rights), Qpn{});
    return {handle.value(), start, piece};
  }
  void make_memory() {
    using namespace fabric;
    const PdId pd = attacked_.victim().pd;
    other_pd_ = adapter().alloc_pd();
    targets_[0] = window(128, kSecret, kRemoteWrite, pd);
    targets_[1] = window(128, kPublic, kRemoteRead, pd);
    targets_[kCounter] = window(8, std::byte{0}, kRemoteRead | kRemoteWrite, pd);
    targets_[3] = window(64, kSecret, kRemoteRead | kRemoteWrite, other_pd_);
    memory_.open(targets_[0].piece);
    memory_.open(targets_[kCounter].piece);
    const std::size_t source = memory_.add(kSinkBytes, std::byte{0x5A});
    source_ = region(pd, memory_.piece(source), kLocalRead);
    for (Side& side : sides_) {
      side.sink = memory_.add(kSinkBytes, kSecret);
      side.sink_handle = region(pd, memory_.piece(side.sink), kLocalRead | kLocalWrite);
    }
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      slots_[slot] = memory_.add(kSlotBytes, kSecret);
      slot_handles_[slot] = region(pd, memory_.piece(slots_[slot]), kLocalRead | kLocalWrite);
    }
  }
  void make(Side& side) {
    using namespace fabric;
    const bool is_raw = &side == &sides_[kRd];
    const Service service = is_raw ? Service::kRaw : Service::kRd;
    side.qpn = attacked_.victim().create_qp(init(service));
    QpAttr attr;
    attr.mcp = AttackedQp::kMcp;
    attr.rnr_retry = 2;
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 4;
    for (const QpState to : {QpState::kRtr, QpState::kRts}) {
      const QpState from = attacked_.victim().qp(side.qpn).state();
      const AttrMask given = required_attributes(service, from, to);
      CHECK(adapter().modify_qp(side.qpn, to, given, attr).has_value());
    }
    if (!is_raw) return;
    std::array<std::byte, 16> address{};
    address.back() = kTcpDestination;
    CHECK(adapter().add_raw_filter(side.qpn, {.next_header = kUdp, .port = kUdpPort}).has_value());
    const RawFilter tcp{.next_header = kTcp, .destination = address};
    CHECK(adapter().add_raw_filter(side.qpn, tcp).has_value());
  }
  void make_context() {
    using namespace std::chrono_literals;
    fabric::EeInit ee;
    ee.retry_count = 3;
    ee.fixed_rto = 1ms;
    ee.stall_min = 5ms;
    context_ = adapter().contexts().create(ee).value();
    fabric::MgmtPair theirs;
    theirs.service = fabric::Service::kRd;
    theirs.qpn = fabric::Qpn(kPeerContext);
    theirs.start_psn = kPeerPsn;
    fabric::Link& link = attacked_.victim().link();
    CHECK(adapter()
              .contexts()
              .connect(adapter().contexts().describe(context_, 0), theirs, link)
              .has_value());
  }
  void finish(Side& side) {
    if (attacked_.victim().qp(side.qpn).state() != fabric::QpState::kErr) {
      CHECK(adapter().modify_qp(side.qpn, fabric::QpState::kErr, 0, {}).has_value());
    }
    take_completions();
    CHECK(side.receives.empty() && side.sends.empty());
    adapter().destroy_qp(side.qpn, attacked_.now());
  }

  Side& side_of(fabric::Qpn qpn) {
    const auto at = std::ranges::find(sides_, qpn, &Side::qpn);
    CHECK(at != sides_.end());
    return *at;
  }
  void take_completions() {
    fabric::testing::End& victim = attacked_.victim();
    victim.drain();
    for (const fabric::Wc& wc : victim.received) take_received(side_of(wc.qpn), wc);
    victim.received.clear();
    for (const fabric::Wc& wc : victim.sent) {
      Side& side = side_of(wc.qpn);
      CHECK(!side.sends.empty() && side.sends.front().wr_id == wc.wr_id);
      if (is_responded(side.sends.front().op)) memory_.close(side.sink);
      side.sends.pop_front();
      if (wc.status == fabric::WcStatus::kSuccess) ++side.successes;
    }
    victim.sent.clear();
  }
  void take_received(Side& side, const fabric::Wc& wc) {
    CHECK(!side.receives.empty() && side.receives.front().wr_id == wc.wr_id);
    const Receive receive = side.receives.front();
    side.receives.pop_front();
    memory_.close(slots_[receive.slot]);
    is_posted_[receive.slot] = false;
    if (wc.status != fabric::WcStatus::kSuccess) return;
    if (wc.op == fabric::WcOp::kReceive) CHECK(wc.bytes <= receive.bytes);
    if (&side == &sides_[kRd]) check_datagram(memory_.piece(slots_[receive.slot]), wc.bytes);
  }
  static void check_datagram(base::Bytes slot, std::size_t bytes) {
    using namespace fabric;
    CHECK(bytes >= kGnhBytes && bytes <= slot.size());
    const auto gnh = Gnh::parse(slot.first(kGnhBytes));
    CHECK(gnh && gnh->length == bytes - kGnhBytes);
    if (gnh->next_header == kUdp) {
      CHECK(bytes >= kGnhBytes + 4);
      CHECK(base::load_be<std::uint16_t>(slot.data() + kGnhBytes + 2) == kUdpPort);
    } else {
      CHECK(gnh->next_header == kTcp && gnh->destination.back() == kTcpDestination);
    }
  }

  AttackedQp attacked_;
  GuardedMemory memory_;
  fabric::PdId other_pd_;
  std::array<Target, 4> targets_;
  fabric::MemoryHandle source_;
  std::array<Side, kRd + 1> sides_;
  std::array<std::size_t, kSlots> slots_{};  // their pieces
  std::array<fabric::MemoryHandle, kSlots> slot_handles_;
  std::array<bool, kSlots> is_posted_{};
  fabric::EeId context_;
  std::uint64_t next_wr_id_ = 1;
};

}  // namespace splitnic::fuzz
