// The receiving side of the suite's host: datagrams become events. Every cell of the target is
// checked for its sequence, whatever the case is about.
#include <algorithm>

#include "conformance/host.h"
#include "fabric_emul/wire/flit.h"
#include "messaging/wire/buffer_pool_flush.h"

namespace splitnic::conformance {
namespace {

using fabric::CellView;
using fabric::Op;
using messaging::Function;

constexpr std::size_t kEventsMax = 4096;  // more are a flood

}  // namespace

bool Host::expect(bool is_met, std::string_view expected) {
  if (!is_met) outcome_.fail(std::string(expected), last_received());
  return is_good();
}

void Host::queue(const Event& event) {
  last_ = text_of(event);
  if (events_.size() == kEventsMax) outcome_.fail("a target that does not flood", last_);
  events_.push_back(event);
}

std::size_t Host::waiting(EventKind kind) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(events_, [kind](const Event& e) { return e.kind == kind; }));
}

bool Host::has_message(messaging::TransactionContext context) const {
  return std::ranges::any_of(events_, [context](const Event& e) {
    return e.kind == EventKind::kMessage && e.message.context == context;
  });
}

bool Host::pump(base::Time until) {
  if (!is_good()) return false;
  if (now() >= until_) {
    outcome_.fail("an end of the case", "a target that sends all the time");
    return false;
  }
  auto datagram = line_.receive(until);
  if (!datagram) return false;
  kept_.push_back(*std::move(datagram));
  const std::size_t events = events_.size();
  take_datagram(kept_.back());
  if (events_.size() == events && is_good()) kept_.pop_back();  // nothing points into it
  return now() < until || !events_.empty();
}

std::optional<Event> Host::await_if(const std::function<bool(const Event&)>& suits,
                                    std::string_view expected) {
  const base::Time until = now() + config_.timeout;
  while (is_good()) {
    const auto found = std::ranges::find_if(events_, suits);
    if (found != events_.end()) {
      Event event = *found;
      events_.erase(found);
      last_ = text_of(event);
      return event;
    }
    if (now() >= until || !pump(until)) break;
  }
  if (is_good() && !expected.empty()) {
    const std::string last = last_ == "nothing" ? "nothing" : "nothing more; before: " + last_;
    outcome_.fail(std::string(expected), last);
  }
  return std::nullopt;
}

std::optional<Event> Host::await(EventKind kind, std::string_view expected) {
  return await_if([kind](const Event& e) { return e.kind == kind; }, expected);
}

std::optional<Event> Host::await_message(Function function, std::string_view expected) {
  return await_if(
      [function](const Event& e) {
        return e.kind == EventKind::kMessage && e.function() == function;
      },
      expected);
}

void Host::listen(base::Duration span) {
  const base::Time until = now() + span;
  while (now() < until && is_good()) {
    if (!pump(until) && now() < until) return;
  }
}

void Host::take_datagram(base::Bytes datagram) {
  fabric::FlitWalker walker(datagram);
  for (fabric::FlitView flit;;) {
    switch (walker.next(flit)) {
      case fabric::FlitWalker::Step::kFlit:
        take_flit(flit, datagram.size());
        break;
      case fabric::FlitWalker::Step::kBad:
        outcome_.fail("flits that are valid",
                      "a flit that is not: " + std::string(name(walker.error())));
        return;
      case fabric::FlitWalker::Step::kEnd:
      case fabric::FlitWalker::Step::kSession:
        return;
    }
  }
}

void Host::take_flit(const fabric::FlitView& flit, std::size_t datagram_bytes) {
  switch (flit.header.type) {
    case fabric::FlitType::kInit:
      return take_init(flit, datagram_bytes);
    case fabric::FlitType::kIdle:
      ++idles_;
      return;
    case fabric::FlitType::kData:
      return take_cell(flit.payload, (flit.header.ctl & fabric::kFlitCellCrcHeadOnly) != 0,
                       datagram_bytes);
    default:
      return queue({.kind = EventKind::kFlit, .datagram_bytes = datagram_bytes});
  }
}

void Host::take_init(const fabric::FlitView& flit, std::size_t datagram_bytes) {
  Event event{.kind = EventKind::kInit, .datagram_bytes = datagram_bytes};
  const fabric::InitError error = fabric::parse_init(flit.payload, event.init);
  if (error != fabric::InitError::kNone) {
    return outcome_.fail("an INIT that is valid", "one that is not: " + std::string(name(error)));
  }
  if (event.init.step == fabric::InitStep::kProbeReply) event.kind = EventKind::kProbe;
  if (event.init.step != fabric::InitStep::kProbe) return queue(event);
  if (!replies_to_probes || target_instance_ == 0) return;
  fabric::Init reply = init(fabric::InitStep::kProbeReply);
  reply.echo = event.init.nonce;
  send(reply);
}

void Host::take_cell(base::Bytes bytes, bool crc_head_only, std::size_t datagram_bytes) {
  CellView view;
  Event event{.kind = EventKind::kCell, .datagram_bytes = datagram_bytes};
  event.error = fabric::parse_cell(bytes, view, crc_head_only);
  event.header = view.header;
  if (event.error != fabric::CellError::kNone) {
    return outcome_.fail("cells that are valid",
                         "a cell that is not: " + std::string(name(event.error)));
  }
  if (view.header.op == Op::kMgmt) {
    event.kind = EventKind::kMgmt;
    const auto error = fabric::parse_mgmt(view.payload, event.mgmt);
    if (error == fabric::MgmtError::kNone) return queue(event);
    return outcome_.fail("MGMT that is valid", "MGMT that is not: " + std::string(name(error)));
  }
  const auto at = std::ranges::find_if(channels_, [&](const Channel& c) {
    return c.own == view.header.dqpn && c.peer == view.header.sqpn && c.own != fabric::Qpn();
  });
  if (at == channels_.end()) return queue(event);
  event.channel = static_cast<unsigned>(at - channels_.begin());
  switch (view.header.op) {
    case Op::kAck:
    case Op::kNak:
      event.kind = view.header.op == Op::kAck ? EventKind::kAck : EventKind::kNak;
      if (fabric::parse_ack(view, event.ack)) queue(event);
      return;
    case Op::kTerminate:
      event.kind = EventKind::kTerminate;
      return queue(event);
    case Op::kSend:
    case Op::kRdmaWrite:
      return take_request(event.channel, view);
    default:
      return queue(event);
  }
}

void Host::take_request(unsigned channel, const CellView& view) {
  Channel& c = channels_[channel];
  const fabric::MacHeader& h = view.header;
  if (c.service == fabric::Service::kRc) {
    const std::int32_t ahead = h.lcn - c.expected_lcn;
    if (ahead < 0) {
      retransmitted_.push_back(h.lcn);
      last_ = "a retransmission";
      if (acknowledges) send_ack(channel, Op::kAck, ack_of(channel), h.psn, h.csn);
      return;
    }
    if (ahead > 0) return;  // it comes once more
  }
  if (!expect(h.psn == c.expected_psn && h.csn == c.expected_csn,
              "PSN and CSN of the target's cells that continue")) {
    return;
  }
  if (h.csn == 0) {
    c.partial.clear();
    c.packet = Event{.channel = channel};
    if (view.va_mh) c.packet.target = *view.va_mh;
  }
  c.partial.insert(c.partial.end(), view.payload.begin(), view.payload.end());
  ++c.packet.cells;
  c.packet.cell_payload_max = std::max(c.packet.cell_payload_max, view.payload.size());
  ++c.expected_lcn;
  ++c.expected_csn;
  if (!fabric::is_last(h.pos)) return;
  finish_packet(channel, view);
}

void Host::finish_packet(unsigned channel, const CellView& view) {
  Channel& c = channels_[channel];
  ++c.expected_psn;
  c.expected_csn = 0;
  c.completed = (c.completed + 1) & 0xFFFFFF;
  if (acknowledges && c.service == fabric::Service::kRc) {
    send_ack(channel, Op::kAck, ack_of(channel), view.header.psn, view.header.csn);
  }
  kept_.push_back(c.partial);
  Event event = c.packet;
  event.bytes = kept_.back();
  event.header = view.header;
  event.idata = view.idata;
  if (view.header.op == Op::kRdmaWrite) {
    event.kind = EventKind::kWrite;
    return queue(event);
  }
  event.kind = EventKind::kMessage;
  const auto header = messaging::MessageHeader::parse(event.bytes);
  if (!expect(header.has_value() && header->function().has_value() && header->version == 1,
              "messages with a valid header")) {
    return;
  }
  event.message = *header;
  take_message(event);
  queue(event);
}

void Host::take_message(const Event& event) {
  switch (event.function()) {
    case Function::kBufferRecvPool: {
      const auto pools = messaging::BufferRecvPool::parse(event.bytes);
      if (!expect(pools.has_value(), "BufferRecvPool that parses")) return;
      for (std::size_t i = 0; i < pools->size(); ++i) pools_.push_back((*pools)[i]);
      return;
    }
    case Function::kCfgUtilRequest:
      if (replies_to_requests) reply_ok(event);
      return;
    case Function::kBufferPoolFlushRequest: {
      if (!replies_to_flushes) return;
      std::array<std::byte, messaging::BufferPoolFlushReply::kBytes> reply{};
      messaging::BufferPoolFlushReply{event.message.context}.emit(reply);
      return send_message(reply);
    }
    default:
      return;
  }
}

void Host::reply_ok(const Event& event) {
  const auto request = messaging::CfgUtilRequest::parse(event.bytes);
  if (!expect(request.has_value(), "CfgUtilRequest that parses")) return;
  ByteVector reply(messaging::CfgUtilReply::bytes(0));
  messaging::CfgUtilReply{request->context, request->code, messaging::CfgStatus::kOk, {}}.emit(
      reply);
  send_message(reply);
}

}  // namespace splitnic::conformance
