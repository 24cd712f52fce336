#include "fabric_emul/via/kernel_agent.h"

#include <cerrno>
#include <utility>

#include "base/endian.h"

namespace splitnic::fabric {
namespace {

constexpr std::uint16_t kReadsMax = 16;

QpInit qp_init(const ViAttributes& attributes) {
  QpInit init;
  init.service = attributes.reliability == ViReliability::kUnreliable ? Service::kUc : Service::kRc;
  init.common.pd = attributes.pd;
  init.common.send_depth = attributes.send_depth;
  init.common.receive_depth = attributes.receive_depth;
  init.rnr_retry = 0;  // a send that meets no descriptor is an error, not a wait
  if (init.service == Service::kRc && attributes.enable_rdma_read)
    init.common.max_dest_rd_atomic = kReadsMax;
  return init;
}

}  // namespace

// The private data of CONNECT_REQ: discriminator (32), reliability level (32).
struct KernelAgent::Hello {
  static constexpr std::size_t kBytes = 8;
  std::uint32_t discriminator = 0;
  std::uint32_t level = 0;

  static std::optional<Hello> parse(base::Bytes in) {
    if (in.size() != kBytes) return std::nullopt;
    return Hello{base::load_be<std::uint32_t>(in.data()),
                 base::load_be<std::uint32_t>(in.data() + 4)};
  }
  std::array<std::byte, kBytes> bytes() const {
    std::array<std::byte, kBytes> out;
    base::store_be(out.data(), discriminator);
    base::store_be(out.data() + 4, level);
    return out;
  }
};

KernelAgent::KernelAgent(Adapter& adapter, base::Clock& clock) : adapter_(adapter), clock_(clock) {
  adapter_.connections().set_handler(*this);
}

base::Result<MemoryHandle> KernelAgent::register_memory(PdId pd, base::MutableBytes memory,
                                                        std::uint8_t rights) {
  ++entries_;
  return adapter_.memory().regions().register_region(pd, memory, rights);
}

base::Status KernelAgent::deregister_memory(MemoryHandle handle) {
  ++entries_;
  return adapter_.memory().regions().deregister(handle);
}

base::Result<ViCq*> KernelAgent::create_cq(std::size_t depth) {
  ++entries_;
  const auto cq = adapter_.create_cq(depth);
  if (!cq) return cq.error().within("creating a completion queue of VIs");
  cqs_.push_back(std::make_unique<ViCq>(adapter_, *cq, depth));
  return cqs_.back().get();
}

base::Status KernelAgent::destroy_cq(ViCq& cq) {
  ++entries_;
  if (cq.is_in_use()) return base::Error("a VI uses the completion queue", EBUSY);
  adapter_.destroy_cq(cq.id());
  std::erase_if(cqs_, [&](const auto& one) { return one.get() == &cq; });
  return {};
}

base::Result<Vi*> KernelAgent::create_vi(const ViAttributes& attributes, ViCq& send_cq,
                                         ViCq& receive_cq) {
  ++entries_;
  if (attributes.send_depth == 0 || attributes.receive_depth == 0) {
    return base::Error("a VI needs at least one descriptor in each queue", EINVAL);
  }
  const std::size_t both = &send_cq == &receive_cq ? attributes.receive_depth : 0;
  if (!send_cq.has_room(attributes.send_depth + both) ||
      !receive_cq.has_room(attributes.receive_depth)) {
    return base::Error("the completion queue is too small for the queues of the VI", ENOMEM);
  }
  ViAgent& self = *this;
  auto vi = std::make_unique<Vi>(self, adapter_, attributes, send_cq, receive_cq);
  if (const auto made = make_qp(*vi); !made) return made.error().within("creating a VI");
  send_cq.reserve(attributes.send_depth);
  receive_cq.reserve(attributes.receive_depth);
  vis_.push_back(std::move(vi));
  return vis_.back().get();
}

base::Status KernelAgent::destroy_vi(Vi& vi) {
  ++entries_;
  if (vi.state() == ViState::kConnected || vi.state() == ViState::kConnectPending) {
    return base::Error("the VI is connected: disconnect it first", EBUSY);
  }
  if (vi.held(ViQueue::kSend) + vi.held(ViQueue::kReceive) != 0) {
    return base::Error("the VI holds descriptors: disconnect it and take them", EBUSY);
  }
  end_qp(vi);
  vi.cq(ViQueue::kSend).release(vi.attributes().send_depth);
  vi.cq(ViQueue::kReceive).release(vi.attributes().receive_depth);
  std::erase_if(vis_, [&](const auto& one) { return one.get() == &vi; });
  return {};
}

base::Status KernelAgent::make_qp(Vi& vi) {
  QpInit init = qp_init(vi.attributes());
  init.common.send_cq = vi.cq(ViQueue::kSend).id();
  init.common.recv_cq = vi.cq(ViQueue::kReceive).id();
  const auto qpn = adapter_.create_qp(init, clock_.now());
  if (!qpn) return qpn.error();
  QpAttr attr;
  attr.rights = 0;
  if (vi.attributes().enable_rdma_write) attr.rights |= kRemoteWrite;
  if (vi.attributes().enable_rdma_read) attr.rights |= kRemoteRead;
  const auto given = required_attributes(init.service, QpState::kReset, QpState::kInit);
  const auto ready = adapter_.modify_qp(*qpn, QpState::kInit, given, attr);
  CHECK(ready.has_value());
  vi.bind(*qpn);
  return {};
}

void KernelAgent::end_qp(Vi& vi) {
  vi.unbind();
  adapter_.destroy_qp(vi.qpn(), clock_.now());
}

base::Status KernelAgent::wait(Vi& vi, std::uint32_t discriminator) {
  ++entries_;
  if (vi.state() != ViState::kIdle) return base::Error("the VI is not idle", EISCONN);
  if (!waiting_.emplace(discriminator, &vi).second) {
    return base::Error("another VI waits with this discriminator", EADDRINUSE);
  }
  vi.set_state(ViState::kConnectPending);
  return {};
}

base::Status KernelAgent::connect(Vi& vi, Link& link, std::uint32_t discriminator) {
  ++entries_;
  if (vi.state() != ViState::kIdle) return base::Error("the VI is not idle", EISCONN);
  const auto level = static_cast<std::uint32_t>(vi.attributes().reliability);
  const MgmtPair mine = adapter_.describe(vi.qpn(), 0, vi.attributes().transfer_max);
  const auto hello = Hello{discriminator, level}.bytes();
  const ConnectionId id = adapter_.connections().connect(link, {&mine, 1}, hello, clock_.now());
  connecting_[id] = &vi;
  vi.set_state(ViState::kConnectPending);
  return {};
}

base::Status KernelAgent::disconnect(Vi& vi) {
  ++entries_;
  leave(vi);
  vi.set_state(ViState::kError);
  const QpAttr none;
  static_cast<void>(adapter_.modify_qp(vi.qpn(), QpState::kErr, 0, none));
  for (const ViQueue queue : {ViQueue::kSend, ViQueue::kReceive}) vi.ring(queue);
  for (const ViQueue queue : {ViQueue::kSend, ViQueue::kReceive}) vi.cq(queue).poll();
  end_qp(vi);
  if (const auto made = make_qp(vi); !made) return made.error().within("disconnecting a VI");
  return {};
}

void KernelAgent::notify(ViCq& cq, std::function<void()> handler) {
  ++entries_;
  cq.notify(std::move(handler));
}

void KernelAgent::set_error_handler(ErrorHandler handler) {
  ++entries_;
  on_error_ = std::move(handler);
}

// To the error state: the queue pair's work requests come back as flushed, and the peer is
// notified.
void KernelAgent::on_failed(Vi& vi, std::string_view why) {
  ++entries_;
  if (vi.state() == ViState::kError) return;
  vi.set_state(ViState::kError);
  const QpAttr none;
  const auto stopped = adapter_.modify_qp(vi.qpn(), QpState::kErr, 0, none);
  CHECK(stopped.has_value());
  leave(vi);
  if (on_error_) on_error_(vi, why);
}

// The memory of a send went between doorbell and wire. An unreliable VI goes on behind it.
void KernelAgent::on_send_stopped(Vi& vi) {
  ++entries_;
  if (vi.state() != ViState::kConnected) return;
  const QpAttr none;
  const auto again = adapter_.modify_qp(vi.qpn(), QpState::kRts, 0, none);
  if (!again) on_failed(vi, again.error().text());
}

MgmtReject KernelAgent::on_connect_request(ConnectionId id, Link& link, const Mgmt& request,
                                           Mgmt& reply) {
  ++entries_;
  const auto hello = Hello::parse(request.private_data);
  if (!hello || request.pair_count != 1) return MgmtReject::kBadParameter;
  const auto at = waiting_.find(hello->discriminator);
  if (at == waiting_.end()) return MgmtReject::kRefused;
  Vi& vi = *at->second;
  if (hello->level != static_cast<std::uint32_t>(vi.attributes().reliability)) {
    return MgmtReject::kBadParameter;
  }
  reply.pair_count = 1;
  reply.pairs[0] = adapter_.describe(vi.qpn(), 0, vi.attributes().transfer_max);
  reply.pairs[0].peer_qpn = request.pairs[0].qpn;
  if (!join(vi, reply.pairs[0], request.pairs[0], link)) return MgmtReject::kBadParameter;
  waiting_.erase(at);
  accepted_[id] = &vi;
  return MgmtReject::kNone;
}

bool KernelAgent::on_connected(ConnectionId id, Link& link, const Mgmt& reply) {
  ++entries_;
  const auto at = connecting_.find(id);
  if (at == connecting_.end() || reply.pair_count != 1) return false;
  Vi& vi = *at->second;
  if (join(vi, adapter_.describe(vi.qpn(), 0, 0), reply.pairs[0], link)) return true;
  refuse(id, "the peer's VI does not fit");
  return false;
}

bool KernelAgent::join(Vi& vi, const MgmtPair& mine, const MgmtPair& theirs, Link& link) {
  if (!adapter_.connect_qp(mine, theirs, link)) return false;
  vi.on_connected(theirs.msg_max);
  return true;
}

void KernelAgent::on_rejected(ConnectionId id, MgmtReject code, base::Bytes) {
  ++entries_;
  refuse(id, name(code));
}

void KernelAgent::refuse(ConnectionId id, std::string_view why) {
  const auto at = connecting_.find(id);
  if (at == connecting_.end()) return;
  Vi& vi = *at->second;
  connecting_.erase(at);
  vi.set_state(ViState::kIdle);
  if (on_error_) on_error_(vi, why);
}

// A side that has disconnected is in neither table any more.
void KernelAgent::on_disconnected(ConnectionId id, std::string_view why) {
  Connections& table = accepted_.contains(id) ? accepted_ : connecting_;
  const auto at = table.find(id);
  if (at == table.end()) return;
  Vi& vi = *at->second;
  table.erase(at);
  on_failed(vi, why);
}

// Ends what it waits for or is connected by.
void KernelAgent::leave(Vi& vi) {
  std::erase_if(waiting_, [&](const auto& one) { return one.second == &vi; });
  for (Connections* table : {&connecting_, &accepted_}) {
    std::erase_if(*table, [&](const auto& one) {
      if (one.second != &vi) return false;
      adapter_.connections().disconnect(one.first, clock_.now());
      return true;
    });
  }
}

}  // namespace splitnic::fabric
