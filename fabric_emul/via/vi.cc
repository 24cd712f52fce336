#include "fabric_emul/via/vi.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace splitnic::fabric {
namespace {

std::uint32_t op_bits(ViQueue queue, ViOp op) {
  if (queue == ViQueue::kReceive) return kViOpReceive;
  if (op == ViOp::kRdmaWrite) return kViOpRdmaWrite;
  return op == ViOp::kRdmaRead ? kViOpRdmaRead : kViOpSend;
}

constexpr WrOp wr_op(ViOp op) {
  if (op == ViOp::kRdmaWrite) return WrOp::kRdmaWrite;
  return op == ViOp::kRdmaRead ? WrOp::kRdmaRead : WrOp::kSend;
}

// The error bit of a completion; 0 for success.
std::uint32_t error_of(const Wc& wc) {
  switch (wc.status) {
    case WcStatus::kSuccess:
      return 0;
    case WcStatus::kLocalLength:
      return kViLengthError;
    case WcStatus::kLocalProtection:
      return kViProtectionError;
    case WcStatus::kFlushed:
      return kViFlushed;
    case WcStatus::kRemoteInvalid:  // a receive that is too short, or RDMA that is not enabled
      return wc.op == WcOp::kSend ? kViRemoteDescriptorError : kViRdmaProtectionError;
    case WcStatus::kRemoteAccess:
      return kViRdmaProtectionError;
    case WcStatus::kRemoteOperational:
    case WcStatus::kRnrRetryExceeded:
      return kViRemoteDescriptorError;
    case WcStatus::kRetryExceeded:
    case WcStatus::kBadResponse:
    case WcStatus::kBind:  // these: of what a VI never posts
    case WcStatus::kRegisterEntry:
    case WcStatus::kRegisterInstance:
    case WcStatus::kRegisterSpace:
    case WcStatus::kCount_:
      break;
  }
  return kViTransportError;
}

}  // namespace

void ViCq::poll() {
  Wc wc;
  while (adapter_.poll_cq(cq_, {&wc, 1}) == 1) {
    const auto user = users_.find(wc.qpn);
    if (user != users_.end()) user->second->on_completion(wc);
  }
}

std::optional<ViCompletion> ViCq::done() {
  if (entries_.empty()) poll();
  if (entries_.empty()) return std::nullopt;
  const Entry entry = entries_.front();
  entries_.pop();
  return entry.vi->take_done(entry.queue);
}

void Vi::bind(Qpn qpn) {
  qpn_ = qpn;
  state_ = ViState::kIdle;
  for (Queue& queue : queues_) {
    queue.cq.attach(qpn, *this);
    queue.is_broken = false;
  }
}

void Vi::unbind() {
  for (const Queue& queue : queues_) queue.cq.detach(qpn_);
}

void Vi::on_connected(std::uint32_t peer_transfer_max) {
  transfer_max_ = std::min(attributes_.transfer_max, peer_transfer_max);
  state_ = ViState::kConnected;
}

ViCompletion Vi::take_done(ViQueue which) {
  Queue& queue = queues_[index(which)];
  CHECK(queue.done > 0);
  const Posted posted = queue.ring.front();
  queue.ring.pop();
  --queue.done;
  --queue.rung;
  return {this, which, posted.at, posted.status};
}

bool Vi::copy_in(ViDescriptorRef at, base::MutableBytes out) const {
  const Sge piece{at.address, static_cast<std::uint32_t>(out.size()), at.handle};
  return gather(adapter_.memory(), attributes_.pd, {&piece, 1}, 0, out).ok();
}

bool Vi::write_back(ViDescriptorRef at, std::size_t offset, base::Bytes bytes) const {
  const Sge piece{VirtualAddress(at.address.value + offset),
                  static_cast<std::uint32_t>(bytes.size()), at.handle};
  return scatter(adapter_.memory(), attributes_.pd, {&piece, 1}, 0, bytes).ok();
}

bool Vi::write_word(ViDescriptorRef at, std::size_t offset, std::uint32_t word) const {
  return write_back(at, offset, std::as_bytes(std::span(&word, 1)));
}

base::Status Vi::post(ViQueue which, ViDescriptorRef at) {
  Queue& queue = queues_[index(which)];
  if (queue.ring.full()) return base::Error("the queue of the VI is full", ENOMEM);
  if (at.address.value % kViAlignment != 0) {
    return base::Error("the address of a descriptor is a multiple of 64", EINVAL);
  }
  std::array<std::byte, kViControlBytes> control;
  if (!copy_in(at, control) || !write_word(at, kViStatusAt, 0)) {
    return base::Error("the descriptor is not in registered memory of this VI", EFAULT);
  }
  std::array<std::byte, sizeof(std::uint64_t) + sizeof(std::uint32_t)> link{};
  write_back(at, kViNextAt, link);
  if (queue.ring.size() > queue.done) {  // the one before is not the consumer's yet
    std::memcpy(link.data(), &at.address.value, sizeof(at.address.value));
    std::memcpy(link.data() + sizeof(at.address.value), &at.handle.value, sizeof(at.handle.value));
    write_back(queue.ring.back().at, kViNextAt, link);
  }
  queue.ring.push(Posted{at});
  return {};
}

void Vi::ring(ViQueue which) {
  Queue& queue = queues_[index(which)];
  for (; queue.rung < queue.ring.size(); ++queue.rung) {
    Posted& posted = queue.ring[queue.rung];
    posted.status = start(which, posted);
    if (posted.status != 0 && posted.status != kViFlushed && is_reliable()) queue.is_broken = true;
  }
  retire(which);
}

// Reads the descriptor as it is in memory now. Returns 0, or the bit of the error.
std::uint32_t Vi::read(ViQueue which, Posted& posted, ViDescriptor& out) const {
  std::array<std::byte, kViDescriptorBytesMax> storage;
  const base::MutableBytes room(storage);
  if (!copy_in(posted.at, room.first(kViControlBytes))) return kViProtectionError;
  std::size_t bytes = vi_descriptor_bytes(room);
  if (bytes > room.size()) bytes = kViControlBytes;  // too many segments: the parser refuses it
  if (!copy_in(posted.at, room.first(bytes))) return kViProtectionError;
  const std::uint32_t error = parse_vi_descriptor(room.first(bytes), which, out);
  posted.op = op_bits(which, out.op);
  return error;
}

std::uint32_t Vi::start(ViQueue which, Posted& posted) {
  ViDescriptor d;
  const std::uint32_t error = read(which, posted, d);
  const bool may_start =
      which == ViQueue::kSend ? state_ == ViState::kConnected : state_ != ViState::kError;
  if (!may_start || queues_[index(which)].is_broken) return kViFlushed;
  if (error != 0) return error;
  return give(which, d);
}

// To the queue pair, if its memory may be accessed so.
std::uint32_t Vi::give(ViQueue which, const ViDescriptor& d) {
  const bool writes = which == ViQueue::kReceive || d.op == ViOp::kRdmaRead;
  const AccessKind kind = writes ? AccessKind::kLocalWrite : AccessKind::kLocalRead;
  const bool is_ours = std::ranges::all_of(d.data.span(), [&](const Sge& piece) {
    return piece.length == 0 ||
           adapter_.memory()
               .access(piece.lkey, piece.address, piece.length, kind, attributes_.pd, qpn_)
               .ok();
  });
  if (!is_ours) return kViProtectionError;
  if (which == ViQueue::kReceive) {
    return adapter_.post_recv(qpn_, RecvWr{0, d.data.span()}) ? kViNoError : kViFormatError;
  }
  if (d.length > transfer_max_) return kViLengthError;
  SendWr wr;
  wr.op = wr_op(d.op);
  wr.gather = d.data.span();
  wr.remote_address = d.remote_address;
  wr.remote_handle = d.remote_handle;
  wr.idata = d.idata;
  wr.is_fenced = d.is_fenced;
  const auto posted = adapter_.post_send(qpn_, wr);
  if (posted) return 0;
  return posted.error().errno_value() == EMSGSIZE ? kViLengthError : kViFormatError;
}

// Of the oldest that is with the queue pair: what is wrong in front of it was retired before.
void Vi::on_completion(const Wc& wc) {
  const bool is_receive = wc.op == WcOp::kReceive || wc.op == WcOp::kReceiveRdmaIdata;
  const ViQueue which = is_receive ? ViQueue::kReceive : ViQueue::kSend;
  Queue& queue = queues_[index(which)];
  CHECK(queue.done < queue.rung);
  Posted& posted = queue.ring[queue.done];
  std::uint32_t status = error_of(wc);
  if (status == 0 && is_receive) {
    if (wc.op == WcOp::kReceiveRdmaIdata) posted.op = kViOpRemoteRdmaWrite;
    write_word(posted.at, kViLengthAt, wc.bytes);
    if (wc.has_idata) {
      write_word(posted.at, kViIdataAt, wc.idata);
      status |= kViHasIdata;
    }
  }
  if (status == kViProtectionError && !is_receive && !is_reliable()) {
    agent_.on_send_stopped(*this);
  }
  finish(which, status);
  retire(which);
}

// The oldest that is not done is done.
void Vi::finish(ViQueue which, std::uint32_t status) {
  Queue& queue = queues_[index(which)];
  Posted& posted = queue.ring[queue.done];
  posted.status = status | posted.op | kViDone;
  write_word(posted.at, kViStatusAt, posted.status);
  ++queue.done;
  queue.cq.push(*this, which);
  // A Send on a VI that is not connected is flushed, and no more.
  const bool is_harmless = (status & kViFlushed) != 0 && state_ != ViState::kConnected;
  if ((status & kViErrors) != 0 && is_reliable() && !is_harmless) {
    agent_.on_failed(*this, "a descriptor completed with an error");
  }
}

// Retires those whose status was known at the doorbell, in queue order.
void Vi::retire(ViQueue which) {
  Queue& queue = queues_[index(which)];
  while (queue.done < queue.rung && queue.ring[queue.done].status != 0) {
    finish(which, queue.ring[queue.done].status);
  }
}

}  // namespace splitnic::fabric
