// Life, timers and flushing of a link. INIT: port_link_init.cc.
#include "fabric_emul/link/port_link.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "fabric_emul/link/link_ends.h"

namespace splitnic::fabric {
namespace {

// Cells that came in the batch before the step of INIT that ends their link.
void drop_received(PortContext& context) {
  context.counters.add(LinkCounter::kRxDropState, context.received.cells().size());
  context.received.clear();
}

}  // namespace

bool PortLink::may_be_forgotten(base::Time now) const {
  if (is_client()) return false;
  const bool has_process_ended = peer_user_ && !context_.underlay.user_of(address());
  if (has_process_ended) return true;
  if (up()) return false;
  return handshake_.has_received_bye() || !has_address() ||
         now - last_heard() >= context_.config.forget_after;
}

void PortLink::forget() {
  end_old_instance();
  handshake_.forget();
  path_.forget();
  batch_.set_address(PeerAddress{});
  peer_user_.reset();
}

void PortLink::end_old_instance() {
  handshake_.apply(LinkEvent::kEnded);
  path_health_ = {};
  drop_batch();
  drop_received(context_);  // cells that came in the same batch were the old instance's
  context_.counters.add(LinkCounter::kPeerRestart);
  context_.observer.on_peer_restarted(*this);
}

void PortLink::lose_address(base::Time now) {
  drop_received(context_);  // the rest of the batch is for another link
  batch_.set_address(PeerAddress{});
  if (up()) take_down(now, LinkEvent::kEnded, "address now used by another peer");
}

void PortLink::bring_up(base::Time now, LinkEvent event) {
  keep_alive_.on_heard(now);
  handshake_.on_alive();
  if (!handshake_.apply(event)) return;
  keep_alive_.on_sent(now);
  doubt_path(now);  // it may be another path, or one that is narrower than the interface
  context_.call_at(deadline());
  context_.counters.add(LinkCounter::kUp);
  context_.observer.on_link_up(*this);
}

void PortLink::take_down(base::Time now, LinkEvent event, std::string_view why) {
  handshake_.apply(event);
  drop_batch();
  handshake_.restart(now, context_.config.hello_min);
  context_.call_at(deadline());
  context_.counters.add(LinkCounter::kDown);
  context_.observer.on_link_down(*this, why);
}

void PortLink::drop_batch() {
  batch_.drop();
  fragments_.drop();
  received_fragments_.drop();
  lanes_.clear_starved();
}

void PortLink::flush(base::Time now) {
  is_queued_ = false;
  if (!send_batch(now)) queue();
  if (lanes_.is_open()) context_.call_at(deadline());
  const SendBatch::Outcome outcome = batch_.take_outcome();
  if (outcome.is_sent) keep_alive_.on_sent(now);
  if (context_.profile() != LinkProfile::kShm) path_.on_sent(outcome.longest, now);
  context_.call_at(probes_at());
  if (outcome.is_too_long) on_too_long(now);
}

bool PortLink::send_batch(base::Time now) {
  if (!lanes_.is_open()) return send_fragments();
  while (up()) {
    if (batch_.empty()) {
      const std::uint8_t first = lanes_.next_lane();
      const std::uint16_t lanes = lanes_with_dscp_of(context_.config, first);
      batch_.gather(first,
                    [&](base::MutableBytes datagram) { return lanes_.fill(now, datagram, lanes); });
    }
    if (batch_.empty()) break;
    if (!batch_.flush()) return false;
  }
  lanes_.find_room();
  return true;
}

// The batch, and those that the rest of a cell needs which was blocked.
bool PortLink::send_fragments() {
  while (batch_.flush()) {
    if (fragments_.empty()) return true;
    if (!fragments_.drain(batch_)) return false;
  }
  return false;
}

void PortLink::doubt_path(base::Time now) {
  if (context_.profile() == LinkProfile::kShm) return;
  path_.probe_now(now);
  context_.call_at(probes_at());
}

// An interface that has become narrower is a fact. Any other cause of a refusal is a reason to
// probe, and no more. [H-6]
void PortLink::on_too_long(base::Time now) {
  on_narrowed();
  doubt_path(now);
}

// The interface is narrower, or probes found that the path is.
void PortLink::on_narrowed() {
  path_bytes_until_ = {};
  const std::size_t bytes = path_bytes();
  if (lanes_.is_open()) {
    // Cells of any size pass in the full profile: they are cut into flits.
    const std::size_t before = batch_.stride();
    set_full_stride(bytes);
    if (batch_.stride() < before) context_.counters.add(LinkCounter::kNarrowed);
    return;
  }
  const std::uint16_t mcp = mcp_of(bytes);
  if (mcp >= path_.mcp()) return;
  context_.counters.add(LinkCounter::kNarrowed);
  set_mcp(mcp);
  context_.observer.on_path_narrowed(*this);
}

void PortLink::set_full_stride(std::size_t datagram_bytes_max) {
  const std::size_t stride =
      path_.full_stride(datagram_bytes_max, batch_.capacity(), lanes_.config().flit_payload_max);
  CHECK(stride <= batch_.capacity());
  batch_.set_stride(stride);
  path_.set_probed(stride);
}

void PortLink::on_full_flit(base::Time now, const FlitView& flit) {
  if (lanes_.receive(now, flit)) {
    if (flit.header.type == FlitType::kIdle) context_.counters.add(LinkCounter::kRxIdle);
    on_heard(now);
  }
  if (!lanes_.is_up()) take_down(now, LinkEvent::kEnded, "too many link retries");
  queue();  // acknowledgements and credits leave with the next flush
}

void PortLink::on_time(base::Time now) {
  if (up()) {
    if (lanes_.is_open())
      on_full_time(now);
    else
      on_speed_time(now);
  }
  if (now >= handshake_.next_hello()) send_hello(now);
  if (up() && now >= probes_at()) send_probes(now);
}

void PortLink::on_speed_time(base::Time now) {
  if (context_.lid_terms.have_changed(lids(), address())) {
    take_down(now, LinkEvent::kEnded, "the LIDs of the link have changed");
  } else if (now >= keep_alive_.silent_at()) {
    take_down(now, LinkEvent::kSilence, kHeardNothing);
  } else if (is_client() && !handshake_.is_hello_pending() && now >= keep_alive_.doubt_at()) {
    handshake_.restart(now, context_.config.hello_min);
    send_hello(now);
    keep_alive_.on_sent(now);
  } else if (now >= keep_alive_.idle_at()) {
    send_idle(now);
  }
}

// Retry, IDLE and silence are the FullLink's. Flits do not state the instance of the peer, so only
// a new INIT follows.
void PortLink::on_full_time(base::Time now) {
  // Nothing can be sent, so nothing has failed.
  if (batch_.is_blocked() && now < blocked_until()) return;
  lanes_.on_time(now);
  if (!lanes_.is_up()) {
    return take_down(now, LinkEvent::kEnded, "flit ACK timeout");
  }
  queue();
}

base::Time PortLink::deadline() const {
  const base::Time hello = handshake_.next_hello();
  if (!up()) return hello;
  if (lanes_.is_open()) {
    return std::min(
        {batch_.is_blocked() ? blocked_until() : lanes_.deadline(), hello, probes_at()});
  }
  const bool may_doubt = is_client() && !handshake_.is_hello_pending();
  return std::min({keep_alive_.idle_at(), keep_alive_.silent_at(),
                   may_doubt ? keep_alive_.doubt_at() : base::kNever, hello, probes_at()});
}

void PortLink::send_idle(base::Time now) {
  std::array<std::byte, kFlitHeaderBytes> flit{};
  FlitHeader header;
  header.type = FlitType::kIdle;
  header.vl = kMgmtLane;
  header.ctl = kFlitHeaderCrcOnly;
  emit_flit(flit, header);
  keep_alive_.on_sent(now);
  abort_claim();
  const bool is_sent = context_.send_control(address(), flit);
  context_.counters.add(is_sent ? LinkCounter::kTxIdle : LinkCounter::kTxDropControl);
}

}  // namespace splitnic::fabric
