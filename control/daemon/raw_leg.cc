#include "control/daemon/raw_leg.h"

#include <array>
#include <span>
#include <string>

#include "base/check.h"
#include "base/event.h"
#include "base/log.h"

namespace splitnic::control {
namespace {

using fabric::GateCounter;
using fabric::GateSide;
using fabric::RawFilter;

// The protocols of an end node, by next header.
constexpr std::array<std::uint8_t, 3> kProtocols{6, 17, 58};  // TCP, UDP, ICMPv6
// Nobody writes or reads here by RDMA.
constexpr std::uint8_t kLegRights = fabric::kLocalRead | fabric::kLocalWrite;

// In one step, so that neither way starves the other.
constexpr std::size_t kReadsPerStep = 64;

std::vector<RawFilter> filters_of(GateSide side) {
  if (side == GateSide::kLan) return {RawFilter{}};
  std::vector<RawFilter> filters;
  filters.reserve(kProtocols.size());
  for (const std::uint8_t protocol : kProtocols) filters.push_back({.next_header = protocol});
  return filters;
}

}  // namespace

fabric::AdapterLimits RawLeg::limits() {
  return {.qps = kProtocols.size(),
          .memory_entries = 16,
          .cqs = 1,
          .ports = 1,
          .ee_contexts = 1,
          .profile = fabric::MrwtProfile::kStrictWindows};
}

RawLeg::RawLeg(fabric::Adapter& adapter, fabric::Port& port, fabric::Attachment& attachment,
               lan::DatagramPort& interface, GateSide side)
    : adapter_(adapter),
      port_(port),
      attachment_(attachment),
      interface_(interface),
      side_(side),
      gate_(attachment.network(), side) {
  if (side == GateSide::kLan) attachment.become_leg();
  adapter.connections().set_handler(*this);
}

base::Status RawLeg::open(base::Time now) {
  const std::vector<RawFilter> filters = filters_of(side_);
  const std::size_t receives = filters.size() * kReceivesOfOne;
  memory_.resize((kSends + receives) * kSlotBytes);
  pd_ = adapter_.alloc_pd();
  const auto handle = adapter_.memory().regions().register_region(pd_, memory_, kLegRights);
  if (!handle) return handle.error();
  handle_ = *handle;
  start_ = adapter_.memory().start_of(handle_);
  const auto cq = adapter_.create_cq(filters.size() * kSends + receives);
  if (!cq) return cq.error();
  cq_ = *cq;
  std::size_t next = kSends;
  for (const RawFilter& filter : filters) {
    const auto qpn = make(filter, now);
    if (!qpn) return qpn.error();
    sender_ = *qpn;  // whichever: one of them sends
    for (std::size_t i = 0; i < kReceivesOfOne; ++i) {
      if (auto posted = post_receive(*qpn, next++); !posted) return posted;
    }
  }
  return {};
}

base::Result<fabric::Qpn> RawLeg::make(const RawFilter& filter, base::Time now) {
  fabric::QpInit init;
  init.service = fabric::Service::kRaw;
  init.common.pd = pd_;
  init.common.send_cq = init.common.recv_cq = cq_;
  init.common.send_depth = kSends;
  init.common.receive_depth = kReceivesOfOne;
  const auto qpn = adapter_.create_qp(init, now);
  if (!qpn) return qpn.error();
  fabric::QpAttr attr;
  attr.mcp = fabric::DatagramGate::kDatagramBytesMax;
  for (const fabric::QpState to :
       {fabric::QpState::kInit, fabric::QpState::kRtr, fabric::QpState::kRts}) {
    const fabric::QpState from = adapter_.find_qp(*qpn)->state();
    const auto given = fabric::required_attributes(init.service, from, to);
    if (auto done = adapter_.modify_qp(*qpn, to, given, attr); !done) return done.error();
  }
  if (auto added = adapter_.add_raw_filter(*qpn, filter); !added) return added.error();
  return *qpn;
}

fabric::Sge RawLeg::slot(std::size_t number, std::size_t bytes) const {
  fabric::Sge piece;
  piece.address = fabric::VirtualAddress(start_.value + number * kSlotBytes);
  piece.length = static_cast<std::uint32_t>(bytes);
  piece.lkey = handle_;
  return piece;
}

base::Status RawLeg::post_receive(fabric::Qpn qpn, std::size_t number) {
  const std::array scatter{slot(number, kSlotBytes)};
  return adapter_.post_recv(qpn, fabric::RecvWr{number, scatter});
}

bool RawLeg::step(base::Time now) {
  bool made_progress = adapter_.receive(now);
  made_progress |= take_completions();
  made_progress |= read_interface();
  adapter_.transmit(now);
  made_progress |= take_completions();
  return made_progress;
}

void RawLeg::stop(base::Time now) {
  port_.send_bye(now);
  port_.flush(now);
}

bool RawLeg::take_completions() {
  bool made_progress = false;
  fabric::WcBatch wcs;
  while (const std::size_t count = adapter_.poll_cq(cq_, wcs)) {
    made_progress = true;
    for (const fabric::Wc& wc : std::span(wcs).first(count)) {
      if (wc.op == fabric::WcOp::kReceive) {
        on_received(wc);
        continue;
      }
      --sending_;
      if (wc.status == fabric::WcStatus::kSuccess) continue;
      const bool is_too_long = wc.status == fabric::WcStatus::kLocalLength;
      gate_.count(is_too_long ? GateCounter::kDropPathLength : GateCounter::kDropPath);
      if (adapter_.find_qp(sender_)->state() == fabric::QpState::kSqe) {
        CHECK(adapter_.modify_qp(sender_, fabric::QpState::kRts, 0, {}));
      }
    }
  }
  return made_progress;
}

void RawLeg::on_received(const fabric::Wc& wc) {
  const base::Bytes datagram = bytes_of(wc.wr_id).first(wc.bytes);
  if (gate_.may_leave(wc.source_lid, datagram)) {
    const bool is_taken = interface_.write(datagram);
    gate_.count(is_taken ? GateCounter::kToInterface : GateCounter::kDropInterface);
    if (is_taken) bytes_ += datagram.size();
  }
  CHECK(post_receive(wc.qpn, wc.wr_id));
}

bool RawLeg::read_interface() {
  std::size_t reads = 0;
  for (; reads < kReadsPerStep && wants_input(); ++reads) {
    const base::MutableBytes room = bytes_of(next_send_);
    const std::size_t bytes = interface_.read(room);
    if (bytes == 0) break;
    send(room, bytes);
  }
  return reads > 0;
}

void RawLeg::send(base::MutableBytes room, std::size_t bytes) {
  const fabric::Lid leg = link_ != nullptr ? link_->remote_lid() : fabric::Lid();
  const fabric::Lid to = gate_.destination_of(room.first(bytes), leg);
  if (to == fabric::Lid()) return;
  const fabric::Link* link = link_to(to);
  if (link == nullptr) return gate_.count(GateCounter::kDropPath);
  if (bytes > link->mcp()) return gate_.count(GateCounter::kDropPathLength);
  const std::array gather{slot(next_send_, bytes)};
  fabric::SendWr wr;
  wr.gather = gather;
  wr.destination_lid = to;
  CHECK(adapter_.post_send(sender_, wr));
  next_send_ = (next_send_ + 1) % kSends;
  ++sending_;
  bytes_ += bytes;
  gate_.count(GateCounter::kToFabric);
}

const fabric::Link* RawLeg::link_to(fabric::Lid lid) {
  const fabric::Link* link = port_.by_lid(lid);
  return link != nullptr && link->up() ? link : nullptr;
}

std::string RawLeg::address() const {
  const auto& own = attachment_.network().own();
  return own ? text_of(*own) : std::string();
}

void RawLeg::on_link_up(fabric::Link& link) {
  link_ = &link;
  base::log_info(
      {base::EventKind::kLinkUp, link.peer_name()},
      link.peer_name() + " is up; the network address here is " +
          (address().empty() ? "not known: is there a prefix in the topology file?" : address()));
}

void RawLeg::on_link_down(fabric::Link& link, std::string_view why) {
  base::log_warn({base::EventKind::kLinkDown, link.peer_name()},
                 link.peer_name() + " is down: " + std::string(why));
}

}  // namespace splitnic::control
