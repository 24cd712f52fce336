#include "fabric_emul/link/full_profile/full_link.h"

#include <algorithm>

#include "base/check.h"

namespace splitnic::fabric {

FullLink::FullLink(const FullLinkConfig& config, base::Counters<FullLinkCounter>& counters,
                   CellSink& sink)
    : config_(config),
      counters_(counters),
      sender_(config_, counters_),
      receiver_(config_, counters_, sink),
      keep_alive_(config.idle, config.idle_missing_max) {}

void FullLink::start(base::Time now, Lsn first_out, Lsn first_in) {
  sender_.start(first_out);
  receiver_.start(first_in);
  up_ = true;
  keep_alive_.start(now);
}

void FullLink::go_down() {
  if (!up_) return;
  up_ = false;
  counters_.add(FullLinkCounter::kDead);
}

bool FullLink::receive(base::Time now, const FlitView& flit) {
  if (!up_) return false;
  // In this profile the flit CRC is the only one that every hop checks: it must cover everything.
  if ((flit.header.ctl & kFlitHeaderCrcOnly) != 0 && !flit.payload.empty()) {
    counters_.add(FullLinkCounter::kRxDropType);
    return false;
  }
  RetrySender& retry = sender_.retry();
  const bool is_sane = flit.header.type == FlitType::kLnak ? retry.on_lnak(now, flit.header.ack)
                                                           : retry.on_ack(now, flit.header.ack);
  if (!is_sane) {  // from before this INIT
    counters_.add(FullLinkCounter::kRxDropAck);
    return false;
  }
  keep_alive_.on_heard(now);
  // A flit that was overtaken has an older limit.
  if (retry.is_newest(flit.header.ack)) {
    sender_.on_credit(flit.header.credit_vl, flit.header.credit_limit);
  }
  if (flit.header.type == FlitType::kData) receiver_.on_data(flit);
  if (retry.is_dead()) go_down();
  return true;
}

std::size_t FullLink::emit(base::Time now, base::MutableBytes out, FlitHeader header,
                           base::Bytes payload) {
  receiver_.stamp(header);
  keep_alive_.on_sent(now);
  return emit_flit(out, header, payload);
}

std::size_t FullLink::fill(base::Time now, base::MutableBytes datagram, std::uint16_t lanes) {
  CHECK(datagram.size() >= kFlitHeaderBytes + config_.flit_payload_max);
  std::size_t used = 0;
  while (up_ && datagram.size() - used >= kFlitHeaderBytes + config_.flit_payload_max) {
    const base::MutableBytes out = datagram.subspan(used);
    if (receiver_.retry().take_lnak()) {
      FlitHeader header;
      header.type = FlitType::kLnak;
      counters_.add(FullLinkCounter::kTxControl);
      used += emit(now, out, header, {});
    } else if (const auto kept = sender_.next(now, lanes)) {
      used += emit(now, out, kept->header, kept->payload);
    } else if (const std::size_t bytes = emit_control(now, out); bytes != 0) {
      used += bytes;
    } else {
      break;
    }
  }
  return used;
}

// Sends the acknowledge number and credits that no DATA flit has carried, or IDLE.
std::size_t FullLink::emit_control(base::Time now, base::MutableBytes out) {
  FlitHeader header;
  if (receiver_.credit_due())
    header.type = FlitType::kCredit;
  else if (receiver_.ack_due())
    header.type = FlitType::kLack;
  else if (now >= keep_alive_.idle_at())
    header.type = FlitType::kIdle;
  else
    return 0;
  if (header.type == FlitType::kIdle) receiver_.repeat_credits();
  counters_.add(FullLinkCounter::kTxControl);
  return emit(now, out, header, {});
}

void FullLink::on_time(base::Time now) {
  if (!up_) return;
  sender_.retry().on_time(now);
  if (sender_.retry().is_dead()) go_down();
  if (now >= keep_alive_.silent_at()) go_down();
}

base::Time FullLink::deadline() const {
  if (!up_) return base::kNever;
  return std::min({sender_.retry().deadline(), keep_alive_.idle_at(), keep_alive_.silent_at()});
}

}  // namespace splitnic::fabric
