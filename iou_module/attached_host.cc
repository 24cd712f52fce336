#include "iou_module/attached_host.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "lan_bridge/frame/checksum.h"
#include "lan_bridge/frame/flow.h"
#include "lan_bridge/frame/segment.h"
#include "lan_bridge/frame/traffic_class.h"
#include "lan_bridge/frame/vnet_header.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::iou {
namespace {

// For the object itself, its queues and tables of fixed length.
constexpr std::uint64_t kObjectBytes = 256 << 10;

messaging::PairConfig charged_to(base::MemoryAccount& account, messaging::PairConfig config) {
  config.memory = &account;
  return config;
}

}  // namespace

AttachedHost::AttachedHost(const AttachedHostConfig& config, fabric::Adapter& adapter,
                           fabric::Link& link, base::Random& random, HostOwner& owner,
                           base::Time now)
    : owner_(owner),
      link_(link),
      unit_queues_(config.unit_queues),
      memory_usual_(config.memory_usual),
      partition_(config.pair.partition),
      attached_at_(now),
      rights_(config.rights),
      memory_account_(memory_of_queue(rights_, memory_usual_, unit_queues_)),
      limits_(config.limits != nullptr ? config.limits
                                       : std::make_shared<HostLimits>(rights_, unit_queues_)),
      identity_{config.id.value_or(host_id_of(link)), link.peer_instance()},
      now_(now),
      stopped_since_(now),
      charge_(&memory_account_),
      pending_(config.frames_max),
      pair_(adapter, charged_to(memory_account_, config.pair), random, *this),
      made_(make_ring(config)) {}

base::Status AttachedHost::make_ring(const AttachedHostConfig& config) {
  if (!charge_.add(kObjectBytes + config.ring_bytes)) return base::account_error();
  auto memory = base::PageMemory::make(config.ring_bytes, base::PageMemory::Pages::kHuge);
  if (!memory) return memory.error();
  memory_ = *std::move(memory);
  ring_ = lan::FrameRing(memory_.span(), config.frames_max);
  return pair_.register_frames(memory_.span());
}

fabric::MgmtReject AttachedHost::accept(fabric::ConnectionId id, const fabric::Mgmt& request,
                                        fabric::Mgmt& reply) {
  if (made_) {
    const auto code = pair_.accept(id, link_, request, reply, now_);
    if (code != fabric::MgmtReject::kNoResources) return code;
  }
  refusal_ = memory_text();
  reply.private_data = base::as_bytes(refusal_);
  return fabric::MgmtReject::kNoResources;
}

std::string AttachedHost::memory_text() const {
  if (memory_account_.refusals() == 0)
    return "the I/O unit is short of memory, or of table entries";
  return "this host may use " + std::to_string(memory_account_.limit() >> 10) +
         " KiB of the I/O unit's memory for a queue, which a connection exceeds: raise memory in "
         "its hosts file, or use fewer queues";
}

void AttachedHost::set_rights(HostRights rights) {
  rights_ = std::move(rights);
  memory_account_.set_limit(memory_of_queue(rights_, memory_usual_, unit_queues_));
  vlan_limit_ = VlanLimit(rights_);
  limits_->meter.set_rights(rights_, unit_queues_);
  is_changed_ = true;
}

void AttachedHost::enter(HostState next) {
  CHECK(is_host_edge(state_, next));
  state_ = next;
}

void AttachedHost::fail() {
  if (!has_ended()) enter(HostState::kFailed);
}

void AttachedHost::begin_close() {
  if (state_ != HostState::kAttached || !pair_.up() || !idle()) return;
  enter(HostState::kClosing);
  pair_.begin_close();
}

// A host that is away or not up yet is not waited for.
bool AttachedHost::is_drained() const {
  if (has_ended() || !link_.up()) return true;
  return !pair_.up() && pair_.is_drained() && received_.empty();
}

void AttachedHost::close(base::Time now) {
  if (state_ == HostState::kClosed) return;
  enter(HostState::kClosed);
  const std::size_t arrived = pair_.unreceived() + received_.size();
  counters_.add(HostCounter::kFromHostFrames, arrived);
  counters_.add(HostCounter::kFromHostBytes, received_.bytes());
  // Frames that are not for the LAN are counted already; they wait only for those before them.
  counters_.add(HostCounter::kDropEnded, arrived - received_.not_for_lan());
  counters_.add(HostCounter::kDropToHostEnded, waiting());
  counters_.add(HostCounter::kLost, pair_.pushes_in_flight());
  pair_.close(now);
}

bool AttachedHost::expire(base::Time now) {
  if (link_.up()) {
    away_since_ = base::kNever;
    return false;
  }
  if (away_since_ == base::kNever) away_since_ = now;
  if (now - away_since_ < kAwayMax || has_ended()) return false;
  fail();
  return true;
}

base::Time AttachedHost::deadline() const {
  base::Time at = std::min({pair_.deadline(), held_until_, coalescer_.deadline()});
  if (may_report()) at = std::min(at, events_.not_before());
  if (away_since_ != base::kNever) at = std::min(at, away_since_ + kAwayMax);
  return at;
}

void AttachedHost::on_lan_change(const lan::PortState& lan) {
  nic_.mtu = std::min(nic_.mtu_wanted != 0 ? nic_.mtu_wanted : nic_.mtu, lan.mtu);
  is_changed_ = true;
  events_.on_change();
}

void AttachedHost::report_lan(const lan::PortState& lan, base::Time now) {
  if (!may_report() || now < events_.not_before()) return;
  messaging::cfg::EventRequest event;
  event.set_generation(events_.newest());
  event.mutable_link()->set_up(lan.link_up);
  event.mutable_link()->set_speed_mbps(lan.speed_mbps);
  event.mutable_link()->set_full_duplex(lan.full_duplex);
  event.set_mtu(lan.mtu);
  const auto sent = pair_.request(messaging::CfgCode::kEvent, event.SerializeAsString(),
                                  [this, number = events_.newest()](const auto& reply) {
                                    events_.on_end(number, reply.replied);
                                  });
  events_.on_attempt(sent.has_value(), now);
}

void AttachedHost::request_announce() {
  if (!is_announce_due_ || !nic_.started || state_ != HostState::kAttached || !pair_.up()) return;
  is_announce_due_ =
      !pair_.request(messaging::CfgCode::kAnnounce, {}, [](const auto&) {}).has_value();
}

void AttachedHost::on_pair_up(messaging::ChannelPair&) {
  on_delivery_settings();
  owner_.on_host_up(*this);
}

void AttachedHost::on_pair_down(messaging::ChannelPair&, const std::string& why) {
  owner_.on_host_down(*this, why);
}

messaging::CfgReply AttachedHost::on_cfg_request(messaging::ChannelPair&,
                                                 const messaging::CfgRequest& request) {
  if (request.code != messaging::CfgCode::kEcho && !limits_->requests.take(now_)) {
    counters_.add(HostCounter::kBusy);
    return {messaging::CfgStatus::kBusy, {}};
  }
  return owner_.on_cfg_request(*this, request);
}

bool AttachedHost::fits(base::Bytes frame) const {
  const auto header = lan::VnetHeader::parse(frame);
  return frame.size() <= pair_.frame_bytes_max() &&
         (lan::offloads_used(header) & ~nic_.features) == 0;
}

void AttachedHost::queue_own(base::Bytes frame) {
  switch (vlan_verdict(frame)) {
    case VlanRules::Verdict::kPass:
      return queue_fitting(frame);
    case VlanRules::Verdict::kPassUntagged: {
      const auto at = static_cast<std::size_t>(frame.data() - memory_.get());
      return queue_fitting(take_tag_out({memory_.get() + at, frame.size()}));
    }
    case VlanRules::Verdict::kDrop:
      break;
  }
  counters_.add(HostCounter::kDropVlan);
  ring_.discard(frame.data() + frame.size());
}

void AttachedHost::queue_fitting(base::Bytes frame) {
  const bool is_fitting = fits(frame);
  if (is_fitting && !pending_.full()) return enqueue(frame);
  if (is_fitting)
    counters_.add(HostCounter::kDropHostFull);
  else
    queue_split(frame);
  ring_.discard(frame.data() + frame.size());
}

void AttachedHost::queue_copy(base::Bytes frame) {
  const VlanRules::Verdict verdict = vlan_verdict(frame);
  if (verdict == VlanRules::Verdict::kDrop) return counters_.add(HostCounter::kDropVlan);
  const bool loses_tag = verdict == VlanRules::Verdict::kPassUntagged;
  if (!loses_tag && !fits(frame)) return queue_split(frame);
  const base::MutableBytes room =
      pending_.full() ? base::MutableBytes{} : ring_.reserve(frame.size());
  if (room.empty()) return counters_.add(HostCounter::kDropHostFull);
  std::memcpy(room.data(), frame.data(), frame.size());
  ring_.commit(room.data() + frame.size());
  if (loses_tag) return queue_fitting(take_tag_out(room.first(frame.size())));
  enqueue(room.first(frame.size()));
}

// A frame that is too long for an element becomes smaller super-frames; one with an offload that
// the host does not take becomes finished frames, a single one where only its checksum was left.
void AttachedHost::queue_split(base::Bytes frame) {
  const auto header = lan::VnetHeader::parse(frame);
  if (header.gso() == lan::GsoType::kNone && frame.size() <= pair_.frame_bytes_max()) {
    const base::MutableBytes room =
        pending_.full() ? base::MutableBytes{} : ring_.reserve(frame.size());
    if (room.empty()) return counters_.add(HostCounter::kDropHostFull);
    std::memcpy(room.data(), frame.data(), frame.size());
    const base::MutableBytes finished = room.first(frame.size());
    if (!lan::finish_checksum(finished)) return counters_.add(HostCounter::kDropTooLong);
    ring_.commit(finished.data() + finished.size());
    return enqueue(finished);
  }
  const bool takes_supers = (lan::offloads_used(header) & ~nic_.features) == 0;
  auto segments = lan::Segmenter::of(
      frame, takes_supers ? lan::Segmenter::Mode::kSuper : lan::Segmenter::Mode::kFinished,
      pair_.frame_bytes_max());
  if (!segments) return counters_.add(HostCounter::kDropTooLong);
  lan::Piece piece;
  std::uint64_t pieces = 0;
  while (segments->next(piece)) {
    ++pieces;
    const base::MutableBytes room =
        pending_.full() ? base::MutableBytes{} : ring_.reserve(piece.size());
    if (room.empty()) {
      counters_.add(HostCounter::kDropHostFull);
      continue;
    }
    const base::MutableBytes written = piece.copy_to(room);
    ring_.commit(written.data() + written.size());
    enqueue(written);
  }
  if (pieces > 1) counters_.add(HostCounter::kSplit, pieces - 1);
}

bool AttachedHost::push(base::Bytes frame, base::Time now) {
  if (pair_.queues() == 1) return pair_.push(frame, 0, now);
  if (!qos_queues_.is_on()) return pair_.push(frame, lan::flow_of(frame), now);
  const lan::TrafficClass found = lan::class_of(frame);
  return pair_.push_on(qos_queues_.queue_of(found.priority, found.code_point), frame, now);
}

// A connection knows the levels of its queues once it is up.
void AttachedHost::on_delivery_settings() {
  coalescer_.set(nic_.coalescing);
  qos_queues_ = messaging::QosQueues(nic_.qos, pair_.levels());
}

bool AttachedHost::pump(base::Time now) {
  bool made_progress = false;
  for (std::size_t done = pair_.take_completed(); done > 0; --done) {
    ring_.release();
    made_progress = true;
  }
  if (held_until_ != base::kNever) {
    if (now < held_until_) return made_progress;
    held_until_ = base::kNever;
  }
  if (coalescer_.is_on() && coalescer_.holds(pending_.size(), pending_bytes_, now)) {
    return made_progress;
  }
  while (!pending_.empty() && push(pending_.front(), now)) {
    counters_.add(HostCounter::kToHostFrames);
    counters_.add(HostCounter::kToHostBytes, pending_.front().size());
    rmon_.count_to_host(pending_.front());
    pending_bytes_ -= pending_.front().size();
    pending_.pop();
    made_progress = true;
  }
  return made_progress;
}

}  // namespace splitnic::iou
