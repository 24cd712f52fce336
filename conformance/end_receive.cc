// The receiving side of the suite's end: datagrams become events.
#include <algorithm>
#include <utility>

#include "conformance/cells.h"
#include "conformance/end.h"
#include "conformance/messages.h"
#include "fabric_emul/wire/flit.h"
#include "messaging/wire/buffer_pool_flush.h"

namespace splitnic::conformance {
namespace {

using fabric::CellView;
using fabric::Op;
using messaging::Function;

constexpr std::size_t kPacketBytesMax = 66'000;
constexpr std::size_t kTakenMax = 4096;  // more than a window holds

}  // namespace

void End::take_datagram(base::Bytes datagram) {
  fabric::FlitWalker walker(datagram);
  std::size_t flits = 0, bytes = 0;
  bool has_init = false;
  for (fabric::FlitView flit;;) {
    switch (walker.next(flit)) {
      case fabric::FlitWalker::Step::kFlit:
        has_init |= flit.header.type == fabric::FlitType::kInit;
        bytes += flit.bytes();
        if (!rule(++flits == 1 || !has_init, "an INIT alone in its datagram")) return;
        take_flit(flit, datagram.size());
        break;
      case fabric::FlitWalker::Step::kBad:
        outcome_.fail("flits that are valid",
                      "a flit that is not: " + std::string(name(walker.error())));
        return;
      case fabric::FlitWalker::Step::kEnd:
        static_cast<void>(check_rules(broken_by_filler(datagram.subspan(bytes))));
        return;
      case fabric::FlitWalker::Step::kSession:
        return;
    }
  }
}

std::optional<LinkIdentities> End::identities() const {
  if (!is_linked_) return std::nullopt;
  return LinkIdentities{.eui64 = config_.eui64,
                        .target_eui64 = target_.eui64,
                        .instance = instance_,
                        .target_instance = target_.instance,
                        .lid = lid_,
                        .target_lid = target_.lid};
}

void End::take_flit(const fabric::FlitView& flit, std::size_t datagram_bytes) {
  const bool is_init = flit.header.type == fabric::FlitType::kInit;
  if (is_full() && !is_init) return take_lane_flit(flit, datagram_bytes);
  switch (flit.header.type) {
    case fabric::FlitType::kInit:
      return take_init_flit(flit, datagram_bytes);
    case fabric::FlitType::kIdle:
      inbox_.add_idle();
      return;
    case fabric::FlitType::kData:
      if (!check_rules(broken_by_data_flit(flit.header, profile(), config_.crc_head_only)) ||
          takes_whole(flit.header, flit.payload)) {
        return;
      }
      return take_cell(flit.payload, flit.header.vl, datagram_bytes);
    default:
      outcome_.fail("flits of the profile of the link",
                    "another flit: " + std::string(name(flit.header.type)));
  }
}

void End::take_lane_flit(const fabric::FlitView& flit, std::size_t datagram_bytes) {
  Lanes::Taken taken = line_.lanes().take(now(), flit);
  if (!check_rules(taken.broken)) return;
  if (flit.header.type == fabric::FlitType::kIdle) inbox_.add_idle();
  if (!taken.cell) return;
  const base::Bytes cell = inbox_.keep(*std::move(taken.cell));
  line_.note_cell(Direction::kReceived, cell);
  take_cell(cell, flit.header.vl, datagram_bytes);
}

void End::take_init_flit(const fabric::FlitView& flit, std::size_t datagram_bytes) {
  Event event{.kind = EventKind::kInit, .datagram_bytes = datagram_bytes};
  const fabric::InitError error = fabric::parse_init(flit.payload, event.init);
  if (error != fabric::InitError::kNone) {
    return outcome_.fail("an INIT that is valid", "one that is not: " + std::string(name(error)));
  }
  if (!rule(event.init.port == config_.target_port,
            "INIT with the number of its port, 0 of an end node"))
    return;
  if (event.init.step == fabric::InitStep::kProbeReply) event.kind = EventKind::kProbe;
  if (event.init.step != fabric::InitStep::kProbe) return take_init(event);
  if (!habits.replies_to_probes || target_.instance == 0) return;
  fabric::Init reply = init(fabric::InitStep::kProbeReply);
  reply.echo = event.init.nonce;
  send(reply);
}

void End::take_cell(base::Bytes bytes, std::uint8_t vl, std::size_t datagram_bytes) {
  CellView view;
  Event event{.kind = EventKind::kCell, .datagram_bytes = datagram_bytes};
  event.error = fabric::parse_cell(bytes, view, config_.crc_head_only);
  event.header = view.header;
  if (event.error != fabric::CellError::kNone) {
    return outcome_.fail("cells that are valid",
                         "a cell that is not: " + std::string(name(event.error)));
  }
  if (!check_rules(broken_by_cell(bytes, view, identities(), config_.partition)) ||
      !rule(vl == line_.lanes().lane_of(bytes),
            "cells on the lane of their service level, MGMT on 15")) {
    return;
  }
  if (view.header.op == Op::kMgmt) {
    event.kind = EventKind::kMgmt;
    const auto error = fabric::parse_mgmt(view.payload, event.mgmt);
    if (error == fabric::MgmtError::kNone) {
      if (is_of_link_before(event.mgmt)) return;
      take_mgmt(event);
      static_cast<void>(check_rules(broken_by_mgmt(view.header, event.mgmt, identities())));
      return;
    }
    return outcome_.fail("MGMT that is valid", "MGMT that is not: " + std::string(name(error)));
  }
  const auto at = std::ranges::find_if(channels_, [&](const Channel& c) {
    return c.own == view.header.dqpn && c.peer == view.header.sqpn && c.own != fabric::Qpn();
  });
  if (at == channels_.end()) return inbox_.add(event);
  event.channel = static_cast<unsigned>(at - channels_.begin());
  switch (view.header.op) {
    case Op::kAck:
    case Op::kNak:
      event.kind = view.header.op == Op::kAck ? EventKind::kAck : EventKind::kNak;
      if (!rule(view.header.lcn == fabric::Lcn(), "LCN 0 in ACK and NAK")) return;
      if (fabric::parse_ack(view, event.ack)) inbox_.add(event);
      return;
    case Op::kTerminate:
      event.kind = EventKind::kTerminate;
      return inbox_.add(event);
    case Op::kSend:
    case Op::kRdmaWrite:
      return take_request(event.channel, view);
    default:
      return inbox_.add(event);
  }
}

void End::take_request(unsigned channel, const CellView& view) {
  Channel& c = channels_[channel];
  const fabric::MacHeader& h = view.header;
  if (c.service == fabric::Service::kRc) {
    const std::int32_t ahead = h.lcn - c.expected_lcn;
    if (ahead < 0) return take_retransmission(channel, view);
    if (ahead > 0) return;  // it comes once more
  }
  if (!rule(h.psn == c.expected_psn && h.csn == c.expected_csn,
            "PSN and CSN of the target's cells that continue") ||
      !check_rules(broken_by_request(view, c, channel, data())) ||
      !rule(c.partial.size() + view.payload.size() <= kPacketBytesMax, "packets with an end")) {
    return;
  }
  if (h.csn == 0) {
    c.partial.clear();
    c.packet_crc = {};
    c.op = h.op;
    c.packet = Event{.channel = channel};
    if (view.va_mh) c.packet.target = *view.va_mh;
  }
  c.partial.insert(c.partial.end(), view.payload.begin(), view.payload.end());
  c.packet_crc.add(view);
  if (!check_rules(broken_by_packet_crc(view, c))) return;
  ++c.packet.cells;
  c.packet.cell_payload_max = std::max(c.packet.cell_payload_max, view.payload.size());
  ++c.expected_lcn;
  c.taken.push_back(as_sent(view));
  if (c.taken.size() > kTakenMax) c.taken.pop_front();
  ++c.expected_csn;
  c.asked_for_ack = (h.flags & fabric::kFlagAckRequest) != 0;
  if (fabric::is_last(h.pos)) return finish_packet(channel, view);
  if (c.asked_for_ack && may_acknowledge(channel) && c.service == fabric::Service::kRc) {
    send_ack(*this, channel, Op::kAck, ack_of(*this, channel), h.psn, h.csn);
  }
}

void End::take_retransmission(unsigned channel, const CellView& view) {
  const Channel& c = channels_[channel];
  const fabric::MacHeader& h = view.header;
  const auto back = static_cast<std::size_t>(c.expected_lcn - h.lcn);
  if (!rule(back > c.taken.size() || c.taken.at(c.taken.size() - back) == as_sent(view),
            "a cell that comes once more as it was before")) {
    return;
  }
  inbox_.add_retransmission(channel, h.lcn);
  if (may_acknowledge(channel))
    send_ack(*this, channel, Op::kAck, ack_of(*this, channel), h.psn, h.csn);
}

void End::finish_packet(unsigned channel, const CellView& view) {
  Channel& c = channels_[channel];
  ++c.expected_psn;
  c.expected_csn = 0;
  c.completed = (c.completed + 1) & 0xFFFFFF;
  if (view.header.op == Op::kRdmaWrite &&
      !rule(c.packet.target.length == c.partial.size(), "the length of a write in its VA/MH")) {
    return;
  }
  if (may_acknowledge(channel) && c.service == fabric::Service::kRc) {
    send_ack(*this, channel, Op::kAck, ack_of(*this, channel), view.header.psn, view.header.csn);
  }
  Event event = c.packet;
  event.bytes = inbox_.keep(std::exchange(c.partial, {}));
  event.header = view.header;
  event.idata = view.idata;
  if (view.header.op == Op::kRdmaWrite) {
    event.kind = EventKind::kWrite;
    return inbox_.add(event);
  }
  event.kind = EventKind::kMessage;
  const auto header = messaging::MessageHeader::parse(event.bytes);
  if (!rule(header.has_value() && header->function().has_value() && header->version == 1,
            "messages with a valid header") ||
      !rule(event.bytes.size() % 4 == 0 && event.bytes.size() <= agreed_.message_max,
            "messages of MSG_MAX at most, a multiple of 4")) {
    return;
  }
  event.message = *header;
  if (take_message(event)) inbox_.add(event);
}

// Returns whether the message waits for the case.
bool End::take_message(const Event& event) {
  switch (event.function()) {
    case Function::kBufferRecvPool: {
      const auto pools = messaging::BufferRecvPool::parse(event.bytes);
      if (!rule(pools.has_value(), "BufferRecvPool that parses")) return false;
      for (std::size_t i = 0; i < pools->size(); ++i) agreed_.pools.push_back((*pools)[i]);
      return true;
    }
    case Function::kCfgUtilRequest:
      return take_cfg_request(event);
    case Function::kBufferPoolFlushRequest: {
      if (!habits.replies_to_flushes) return true;
      std::array<std::byte, messaging::BufferPoolFlushReply::kBytes> reply{};
      messaging::BufferPoolFlushReply{event.message.context}.emit(reply);
      send_message(*this, reply);
      return true;
    }
    default:
      return true;
  }
}

}  // namespace splitnic::conformance
