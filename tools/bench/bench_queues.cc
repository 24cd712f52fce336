#include "tools/bench/bench_queues.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "tools/bench/bench_service.h"
#include "tools/bench/message_pieces.h"

namespace splitnic::bench {
namespace {

using fabric::QpState;

constexpr std::size_t kDepth = 1024;  // slots_for() is no more
// Receives of a queue pair of RD, of which each may get what a whole context has in flight.
constexpr std::size_t kReceivesOfRdMin = 64;
// Messages in the send queue of a queue pair of RD, which has one in flight.
constexpr std::size_t kPostedOfRd = 8;
// Messages in flight that nobody repeats: far fewer than half of their numbers.
constexpr std::size_t kInFlightUnrepeatedMax = 256;
// Reports that may arrive between such messages.
constexpr std::size_t kReportsMax = 16;
// Bytes that a cell takes in the receive buffer next to its payload, or more.
constexpr std::size_t kCellOverhead = 128;

std::size_t in_flight_of(const Handshake& what, std::size_t queue_pairs) {
  const std::size_t slots = slots_for(what.bytes);
  if (what.service == fabric::Service::kRd) return std::min(slots, kPostedOfRd * queue_pairs);
  return is_reliable(what.service) ? slots : std::min(slots, kInFlightUnrepeatedMax);
}

// Each queue pair has this many.
std::size_t receives_of(const Handshake& what, std::size_t queue_pairs) {
  if (what.service == fabric::Service::kRd) return std::max(kReceivesOfRdMin, kDepth / queue_pairs);
  if (what.op != Op::kSend) return kDepth;
  const std::size_t slots = slots_for(what.bytes);
  return is_reliable(what.service) ? slots : std::min(slots + kReportsMax, kDepth);
}

fabric::WrOp work_of(Op op) {
  switch (op) {
    case Op::kSend:
      return fabric::WrOp::kSend;
    case Op::kRead:
      return fabric::WrOp::kRdmaRead;
    case Op::kFetchOp:
      return fabric::WrOp::kFetchOp;
    case Op::kWrite:
    case Op::kDatagrams:
      break;
  }
  return fabric::WrOp::kRdmaWrite;
}

}  // namespace

BenchQueues::BenchQueues(fabric::Adapter& adapter)
    : adapter_(adapter),
      pd_(adapter.alloc_pd()),
      send_cq_(adapter.create_cq(2 * kDepth).value()),
      recv_cq_(adapter.create_cq(std::max(2 * kDepth, kQueuePairsMax * kReceivesOfRdMin)).value()) {
}

base::Status BenchQueues::open(const Handshake& what, std::size_t queue_pairs, std::size_t pieces,
                               base::Time now) {
  what_ = what;
  pieces_ = pieces;
  what_.queue_pairs.clear();
  in_flight_max_ = in_flight_of(what, queue_pairs);
  slots_ = slots_for(what.bytes);
  if (auto opened = open_memory(); !opened) return opened;
  for (std::size_t i = 0; i < queue_pairs; ++i) {
    if (auto opened = open_queue_pair(receives_of(what, queue_pairs), now); !opened) return opened;
  }
  if (!is_rd()) return {};
  fabric::EeInit init;
  init.message_max = std::uint32_t{kSizeMax};
  const auto ee = adapter_.contexts().create(init);
  if (!ee) return ee.error();
  ee_ = *ee;
  return {};
}

base::Status BenchQueues::open_memory() {
  memory_.assign(slots_ * slot_stride(what_.bytes), std::byte{});
  auto handle = adapter_.memory().regions().register_region(pd_, memory_, fabric::kAccessRights);
  if (!handle) return handle.error();
  handle_ = *handle;
  start_ = adapter_.memory().start_of(handle_);
  return {};
}

base::Status BenchQueues::open_queue_pair(std::size_t receives, base::Time now) {
  fabric::CommonInit common;
  common.pd = pd_;
  common.send_cq = send_cq_;
  common.recv_cq = recv_cq_;
  // One more than kDepth would take the memory of twice as many, and the cache.
  common.send_depth = is_rd() ? in_flight_max_ + 1 : kDepth;
  common.receive_depth = std::max(receives, is_rd() ? receives : kDepth);
  common.max_dest_rd_atomic = fabric::kReadsMax;
  const auto qpn = create(common, now);
  if (!qpn) return qpn.error();
  for (std::size_t i = 0; i < receives; ++i) {
    if (auto posted = post_receive(*qpn); !posted) return posted;
  }
  return {};
}

// In INIT, which is where one of STREAM begins.
base::Result<fabric::Qpn> BenchQueues::create(const fabric::CommonInit& common, base::Time now) {
  if (what_.service == fabric::Service::kStream) {
    fabric::StreamInit init;
    init.common = common;
    auto stream = adapter_.create_stream(init, now);
    if (stream) queue_pairs_.push_back(*stream);
    return stream;
  }
  fabric::QpInit init;
  init.common = common;
  init.service = what_.service;
  init.has_datagram_rdma = true;
  init.selective_repeat = !what_.goes_back_n;
  init.spans_links = what_.spans_links;
  auto qpn = adapter_.create_qp(init, now);
  if (!qpn) return qpn;
  queue_pairs_.push_back(*qpn);
  if (auto prepared = adapter_.prepare_qp(*qpn); !prepared) return prepared.error();
  return qpn;
}

void BenchQueues::close(base::Time now) {
  for (const fabric::Qpn qpn : queue_pairs_) adapter_.destroy_qp(qpn, now);
  if (ee_.value != 0) adapter_.contexts().destroy(ee_);
  if (handle_.value != 0) static_cast<void>(adapter_.memory().regions().deregister(handle_));
  queue_pairs_.clear();
  peers_.clear();
  ee_ = {};
  handle_ = {};
  next_message_ = next_slot_ = next_receive_ = 0;
}

fabric::MgmtPair BenchQueues::describe() {
  return is_rd() ? adapter_.contexts().describe(ee_, 0)
                 : adapter_.describe(queue_pairs_.front(), 0, 0);
}

Handshake BenchQueues::offer() const {
  Handshake mine = what_;
  mine.handle = handle_.value;
  mine.start = start_.value;
  if (is_rd()) mine.queue_pairs = queue_pairs_;
  return mine;
}

base::Status BenchQueues::connect(const fabric::MgmtPair& theirs, const Handshake& their_offer,
                                  fabric::Link& link) {
  if (theirs.service != what_.service || !their_offer.is_of_run(offer())) {
    return base::Error("the other end describes another measurement", EINVAL);
  }
  remote_handle_ = fabric::MemoryHandle(their_offer.handle);
  remote_start_ = fabric::VirtualAddress(their_offer.start);
  remote_lid_ = link.remote_lid();
  peers_ = is_rd() ? their_offer.queue_pairs : std::vector<fabric::Qpn>{theirs.qpn};
  if (!is_reliable(what_.service) && link.peer_receive_buffer() > 0) {
    const std::size_t cells = what_.bytes / std::max<std::size_t>(link.mcp(), 1) + 1;
    const std::size_t fit = link.peer_receive_buffer() / 2 / (what_.bytes + cells * kCellOverhead);
    in_flight_max_ = std::clamp<std::size_t>(fit, 1, in_flight_max_);
  }
  if (is_datagram(what_.service)) return connect_datagrams(theirs, link);
  return adapter_.connect_qp(describe(), theirs, link);
}

base::Status BenchQueues::connect_datagrams(const fabric::MgmtPair& theirs, fabric::Link& link) {
  if (theirs.mcp < link.mcp_min()) {
    return base::Error("the other end takes short cells only", EINVAL);
  }
  std::uint16_t mcp = std::min(link.mcp(), theirs.mcp);
  if (auto fits = check_length(what_.service, what_.op, what_.bytes, mcp); !fits) return fits;
  if (is_rd()) {
    auto connected = adapter_.contexts().connect(describe(), theirs, link);
    if (!connected) return connected;
    const fabric::EeContext& ee = *adapter_.contexts().find(ee_);
    mcp = ee.mcp();
    if (what_.op == Op::kSend && what_.bytes > ee.message_max()) {
      return base::Error("the other end takes messages of at most " +
                             std::to_string(ee.message_max()) + " bytes: give a smaller --size",
                         EMSGSIZE);
    }
  }
  for (const fabric::Qpn qpn : queue_pairs_) {
    if (auto started = start(qpn, mcp); !started) return started;
  }
  return {};
}

// From INIT to RTS. Each post names its destination.
base::Status BenchQueues::start(fabric::Qpn qpn, std::uint16_t mcp) {
  fabric::QpAttr attr = adapter_.find_qp(qpn)->attr();
  attr.mcp = mcp;
  const auto change = [&](QpState from, QpState to) {
    const fabric::AttrMask given = fabric::required_attributes(what_.service, from, to);
    return adapter_.modify_qp(qpn, to, given, attr);
  };
  if (auto receives = change(QpState::kInit, QpState::kRtr); !receives) return receives;
  return change(QpState::kRtr, QpState::kRts);
}

base::Status BenchQueues::post(const MessageMark& mark) {
  const Places places = places_of(next_message_++, queue_pairs_.size());
  return send({queue_pairs_[places.from], peers_[places.to]}, mark);
}

base::Status BenchQueues::reply(const fabric::Wc& wc, const MessageMark& mark) {
  return send({wc.qpn, wc.source_qpn}, mark);
}

base::Status BenchQueues::send(const Way& way, const MessageMark& mark) {
  std::array<fabric::Sge, fabric::kSgeMax> pieces{};
  fabric::SendWr wr;
  if (mark.word != Word::kReport) {
    wr.gather = pieces_of(next_slot_, pieces);
    wr.op = work_of(what_.op);
    if (what_.op != Op::kSend) name_remote(wr);
    next_slot_ = slot_behind(next_slot_);
  }
  if (!fabric::is_responded(wr.op)) wr.idata = mark.emit();
  wr.destination_lid = remote_lid_;
  wr.destination_ee = ee_;
  wr.destination_qpn = way.to;
  return adapter_.post_send(way.from, wr);
}

// The slot of the same number; of all FetchOps the word in the first one.
void BenchQueues::name_remote(fabric::SendWr& wr) const {
  wr.remote_handle = remote_handle_;
  wr.remote_address = remote_start_;
  if (wr.op == fabric::WrOp::kFetchOp) {
    wr.fetch_op.operand1 = 1;
  } else {
    wr.remote_address.value += next_slot_ * slot_stride(what_.bytes);
  }
}

std::uint64_t BenchQueues::fetched() const {
  const std::size_t slots = slots_for(what_.bytes);
  const std::size_t newest = (next_slot_ + slots - 1) % slots;
  std::uint64_t value = 0;
  std::memcpy(&value, memory_.data() + newest * slot_stride(what_.bytes), sizeof value);
  return value;
}

fabric::Sge BenchQueues::slot(std::size_t number) const {
  fabric::Sge piece;
  piece.address = fabric::VirtualAddress(start_.value + number * slot_stride(what_.bytes));
  piece.length = what_.bytes;
  piece.lkey = handle_;
  return piece;
}

std::span<const fabric::Sge> BenchQueues::pieces_of(std::size_t slot_number,
                                                    std::span<fabric::Sge> room) const {
  for (std::size_t i = 0; i < pieces_; ++i) {
    const MessagePiece piece = piece_of(i, pieces_, what_.bytes);
    room[i] = slot(slot_number);
    room[i].address.value += piece.in_slot;
    room[i].length = static_cast<std::uint32_t>(piece.length);
  }
  return room.first(pieces_);
}

void BenchQueues::fill() {
  for (std::size_t at = 0; at < memory_.size(); ++at) memory_[at] = pattern_at(at);
}

bool BenchQueues::are_reads_right() const {
  const std::size_t slots = std::min(next_message_, slots_for(what_.bytes));
  for (std::size_t number = 0; number < slots; ++number) {
    const std::size_t begin = number * slot_stride(what_.bytes);
    for (std::size_t i = 0; i < pieces_; ++i) {
      const MessagePiece piece = piece_of(i, pieces_, what_.bytes);
      for (std::size_t at = 0; at < piece.length; ++at) {
        const std::byte wanted = pattern_at(begin + piece.in_message + at);
        if (memory_[begin + piece.in_slot + at] != wanted) return false;
      }
    }
  }
  return true;
}

base::Status BenchQueues::post_receive(fabric::Qpn qpn) {
  if (what_.op != Op::kSend) return adapter_.post_recv(qpn, fabric::RecvWr{});
  const std::array<fabric::Sge, 1> scatter{slot(next_receive_)};
  next_receive_ = slot_behind(next_receive_);
  return adapter_.post_recv(qpn, fabric::RecvWr{0, scatter});
}

bool BenchQueues::owns(fabric::Qpn qpn) const {
  return std::ranges::find(queue_pairs_, qpn) != queue_pairs_.end();
}

bool BenchQueues::is_from_peer(const fabric::Wc& received) const {
  if (!is_datagram(what_.service)) return true;
  const bool is_of_node = is_rd() ? received.source_ee == ee_ : received.source_lid == remote_lid_;
  return is_of_node && std::ranges::find(peers_, received.source_qpn) != peers_.end();
}

}  // namespace splitnic::bench
