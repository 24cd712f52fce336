// Set-up, timers and flushing of a port. Receiving: port_receive.cc; INIT: port_init.cc.
#include "fabric_emul/link/port.h"

#include <array>

namespace splitnic::fabric {
namespace {

// The smallest legal cell in a flit: so many fit in the largest UDP datagram or GRO batch.
constexpr std::size_t kBatchBytesMax = 65536;
constexpr std::size_t kCellsPerBatchMax = kBatchBytesMax / (kFlitHeaderBytes + kCellBytesMin) + 1;

}  // namespace

Port::Port(Underlay& underlay, const PortConfig& config, base::Random& random,
           LinkObserver& observer)
    : underlay_(underlay),
      config_(config),
      random_(random),
      observer_(observer),
      challenge_(random) {
  CHECK(config.instance != 0);
  links_.reserve(config.links_max);
  queued_.reserve(config.links_max);
  flushing_.reserve(config.links_max);
  cells_.reserve(kCellsPerBatchMax);
  // What a batch completes: its own bytes, and what came before of one cell a lane.
  if (profile() == LinkProfile::kFull) {
    store_.resize(kBatchBytesMax + kLaneCount * full_cell_bytes_max());
  }
}

std::size_t Port::full_cell_bytes_max() const {
  const std::size_t mcp = config_.mcp_wanted == 0 ? kDefaultMcpFull : config_.mcp_wanted;
  return std::max(mcp, kMgmtPayloadMax) + kCellOverheadMax;
}

Link& Port::connect(const PeerAddress& address, base::Time now) {
  Link* link = free_slot(now);
  CHECK(link != nullptr);
  link->is_client_ = true;
  link->set_address(address);
  link->state_ = LinkState::kConnecting;
  link->hello_wait_ = config_.hello_min;
  send_hello(now, *link);
  deadline_ = std::min(deadline_, link_deadline(*link));
  return *link;
}

Link* Port::by_lid(Lid lid) {
  for (auto& link : links_) {
    if (link->state_ != LinkState::kFree && link->remote_lid_ == lid) return link.get();
  }
  return nullptr;
}

void Port::queue(Link& link) {
  link.queued_ = true;
  queued_.push_back(&link);
}

bool Port::wants_write() const {
  for (const Link* link : queued_) {
    if (link->blocked_) return true;
  }
  return false;
}

void Port::flush(base::Time now) {
  if (queued_.empty()) return;
  flush_queued(now);
  // What observers wrote when told of a narrowed path.
  if (!queued_.empty() && !wants_write()) flush_queued(now);
}

void Port::flush_queued(base::Time now) {
  std::swap(queued_, flushing_);
  for (Link* link : flushing_) {
    link->queued_ = false;
    const bool done = link->full_ != nullptr ? link->flush_lanes(now) : link->flush();
    if (!done) queue(*link);
    if (link->full_ != nullptr) deadline_ = std::min(deadline_, link_deadline(*link));
    if (link->sent_) link->last_sent_ = now;
    link->sent_ = false;
    if (link->sent_full_ && profile() == LinkProfile::kSpeed) {
      link->probe_.on_full_sent(now);
      deadline_ = std::min(deadline_, link->probe_.deadline());
    }
    link->sent_full_ = false;
    if (link->narrowed_) on_narrowed(*link);
  }
  flushing_.clear();
}

void Port::on_narrowed(Link& link) {
  link.narrowed_ = false;
  // Cells of any size go through in the full profile: they are cut into flits.
  if (link.full_ != nullptr) return link.set_full_stride();
  const std::uint16_t mcp = own_mcp(link.address_, link);
  if (mcp >= link.mcp_) return;
  counters_.add(LinkCounter::kNarrowed);
  link.set_mcp(mcp);
  observer_.on_path_narrowed(link);
}

void Port::on_black_hole(base::Time now, std::size_t stride, Link& link) {
  link.path_stride_ = stride;
  link.path_known_at_ = now;
  on_narrowed(link);
}

void Port::bring_up(base::Time now, Link& link) {
  link.last_heard_ = now;
  link.said_bye_ = false;
  // Flits do not say which instance they are of: a HELLO that was begun is repeated until READY.
  if (link.hello_nonce_ == 0) link.next_hello_ = base::kNever;
  if (link.state_ == LinkState::kUp) return;
  link.state_ = LinkState::kUp;
  link.refusal_ = InitReason::kNone;
  link.last_sent_ = now;
  deadline_ = std::min(deadline_, link_deadline(link));
  counters_.add(LinkCounter::kUp);
  observer_.on_link_up(link);
}

void Port::take_down(base::Time now, Link& link, LinkState to, std::string_view why) {
  link.state_ = to;
  link.drop_batch();
  link.hello_wait_ = config_.hello_min;
  link.next_hello_ = link.is_client_ ? now : base::kNever;
  deadline_ = std::min(deadline_, link_deadline(link));
  counters_.add(LinkCounter::kDown);
  observer_.on_link_down(link, why);
}

void Port::send_idle(base::Time now, Link& link) {
  std::array<std::byte, kFlitHeaderBytes> flit{};
  FlitHeader header;
  header.type = FlitType::kIdle;
  header.vl = kMgmtLane;
  header.ctl = kFlitHeaderCrcOnly;
  emit_flit(flit, header);
  link.last_sent_ = now;
  const bool sent = send_control(link.address_, flit);
  counters_.add(sent ? LinkCounter::kTxIdle : LinkCounter::kTxDropControl);
}

base::Time Port::link_deadline(const Link& link) const {
  if (link.state_ != LinkState::kUp) return link.next_hello_;
  if (link.full_ != nullptr && link.blocked_)
    return std::min(link.last_heard_ + silence_max(), link.next_hello_);
  if (link.full_ != nullptr) return std::min(link.full_->deadline(), link.next_hello_);
  const bool may_doubt = link.is_client_ && link.hello_nonce_ == 0;
  return std::min({link.last_sent_ + config_.idle, link.last_heard_ + silence_max(),
                   may_doubt ? doubt_at(link) : base::kNever, link.next_hello_,
                   link.probe_.deadline()});
}

// Retry, IDLE and silence are the FullLink's. It cannot say that a peer is another instance now, so
// nothing but a new INIT follows.
void Port::on_full_time(base::Time now, Link& link) {
  // Nothing can be sent, so nothing has failed.
  if (link.blocked_ && now - link.last_heard_ < silence_max()) return;
  link.full_->on_time(now);
  if (!link.full_->up()) {
    if (link.full_->is_fruitless()) link.is_wide_ = !link.is_wide_;
    return take_down(now, link, LinkState::kConnecting, "no answer to flits");
  }
  if (!link.queued_) queue(link);
}

bool Port::take_room() {
  bool found = false;
  for (auto& link : links_) {
    found |= link->has_room_again_;
    link->has_room_again_ = false;
  }
  return found;
}

void Port::visit_counters(const base::CounterVisitor& visitor) const {
  counters_.visit(visitor);
  if (profile() == LinkProfile::kFull) full_counters_.visit(visitor);
}

void Port::on_link_time(base::Time now, Link& link) {
  if (link.state_ == LinkState::kUp && link.full_ != nullptr) {
    on_full_time(now, link);
  } else if (link.state_ == LinkState::kUp) {
    if (now - link.last_heard_ >= silence_max()) {
      take_down(now, link, LinkState::kSilent, "nothing heard from the peer");
    } else if (link.is_client_ && link.hello_nonce_ == 0 && now >= doubt_at(link)) {
      link.hello_wait_ = config_.hello_min;
      send_hello(now, link);
      link.last_sent_ = now;
    } else if (now - link.last_sent_ >= config_.idle) {
      send_idle(now, link);
    }
  }
  if (now >= link.next_hello_) send_hello(now, link);
  if (link.up() && now >= link.probe_.deadline()) send_probes(now, link);
}

void Port::on_time(base::Time now) {
  if (now < deadline_) return;
  for (auto& link : links_) on_link_time(now, *link);
  deadline_ = base::kNever;
  for (auto& link : links_) deadline_ = std::min(deadline_, link_deadline(*link));
}

// deadline_ is never late. Of a full link it is often early: each flit that leaves moves its
// timers.
base::Time Port::deadline() const {
  base::Time at = underlay_.deadline();
  if (profile() != LinkProfile::kFull) return std::min(at, deadline_);
  for (const auto& link : links_) at = std::min(at, link_deadline(*link));
  return at;
}

void Port::say_bye(base::Time now) {
  flush(now);
  for (auto& link : links_) {
    if (link->state_ == LinkState::kUp) {
      send_init(link->address_, make_init(InitStep::kBye, link->mcp_, link.get()));
      take_down(now, *link, LinkState::kConnecting, "closed here");
    }
    link->next_hello_ = base::kNever;
  }
}

}  // namespace splitnic::fabric
