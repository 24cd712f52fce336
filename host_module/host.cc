#include "host_module/host.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "base/event.h"
#include "base/log.h"

namespace splitnic::host {
namespace {

using namespace std::chrono_literals;
constexpr base::Duration kRetryMin = 100ms;  // after a connection failed or was refused; doubled
constexpr base::Duration kRetryMax = 1s;
// A connection that is renewed delivers what is on the way for this long at most.
constexpr base::Duration kRenewWithin = 1s;
// By then both ends know that the path is narrower.
constexpr base::Duration kShortenAfter = 2s;
// Below this rate a NIC is idle. Some elements of each pool keep their memory, so that a broadcast
// does not take it back.
constexpr std::uint64_t kIdleFramesPerSecond = 10;
constexpr std::uint32_t kIdleElements = 8;
// As fabric::ConnectionManager reports it: the unit has ended the connection, which is no fault.
constexpr std::string_view kPeerDisconnected = "the peer disconnected";

}  // namespace

Host::Host(const HostConfig& config, fabric::Adapter& adapter, lan::FramePort& tap,
           base::Random& random)
    : config_(config),
      adapter_(adapter),
      tap_(tap),
      random_(random),
      tx_memory_(config.tx_ring_bytes, base::PageMemory::Pages::kHuge),
      pending_(kFramesPerBatch),
      units_(config.units),
      choice_(config.units, config.failback),
      queue_follower_(config.queue),
      retry_wait_(kRetryMin),
      nic_(tap, {config.pair.node_name, config.takes_lan_mac, config.mtu, config.queue > 0,
                 config.lists, config.keeps_carrier}) {
  rx_.reserve(kFramesPerBatch);
  adapter_.connections().set_handler(*this);
}

Host::~Host() = default;

bool Host::step(base::Time now, bool tap_readable) {
  now_ = now;
  bool made_progress = adapter_.receive(now);
  tap_.flush();  // also of a connection that is gone
  choose_unit(now);
  keep_connected(now);
  attach_queue(now);
  watch_idle(now);
  if (connection_ != nullptr) made_progress |= move_frames(now, tap_readable);
  nic_.pump(now);
  adapter_.transmit(now);
  return made_progress;
}

void Host::keep_connected(base::Time now) {
  if (now >= shorten_at_) shorten_cells();
  if (is_renewing() && (is_drained() || now >= renew_by_)) end_renewed();
  if (has_connection_failed_) {
    has_connection_failed_ = false;
    end_connection(now);
    retry_at_ = now + retry_wait_;
    retry_wait_ = std::clamp(2 * retry_wait_, kRetryMin, kRetryMax);
  }
  if (connection_ != nullptr || !may_connect(now)) return;
  make_connection();
  base::log_debug(queue_follower_.label() + "requests a connection of " + link_->peer_name());
  if (auto begun = connection_->connect(*link_, now); !begun) {
    base::log_warn(queue_follower_.label() + begun.error().within("connecting").text());
    connection_.reset();
    nic_.on_pair_down(now);
    retry_at_ = now + kRetryMax;
  }
}

bool Host::may_connect(base::Time now) const {
  if (link_ == nullptr || !link_->up() || is_stopping_ || now < retry_at_) return false;
  return queue_follower_.may_connect(*link_);
}

QueueZero Host::queue_zero() const {
  if (link_ == nullptr || !nic_up()) return {};
  return {true, nic_.sync().queues_used(), link_->peer_eui64(), link_->peer_instance(),
          *choice_.in_use()};
}

// A connection that is up stays while queue 0 has none: what is on the way is still delivered.
void Host::follow(const QueueZero& state) {
  queue_follower_.follow(state);
  if (state.is_configured && units_[state.unit_number].link != nullptr) {
    choice_.pin(state.unit_number);
    use_unit(state.unit_number, now_);
  }
  if (state.is_configured && connection_ != nullptr && config_.queue >= state.queues) {
    return renew_connection("queue 0 uses " + std::to_string(state.queues) + " queues");
  }
  if (!state.is_configured || link_ == nullptr || !link_->up() ||
      queue_follower_.is_unit_of_queue_zero(*link_)) {
    return;
  }
  if (connection_ != nullptr) {
    on_pair_down(connection_->first(), "queue 0 is connected to another process");
  } else {
    base::log_warn(queue_follower_.label() + link_->peer_name() +
                   " is not the I/O unit of queue 0: not used; does another program listen there?");
  }
}

// The connection delivers what is on the way before it ends. The interface keeps its carrier.
void Host::renew_connection(const std::string& why) {
  if (connection_ == nullptr || has_connection_failed_ || is_renewing()) return;
  base::log_info(queue_follower_.label() + "the connection to the I/O unit ends: " + why);
  renew_by_ = now_ + kRenewWithin;
}

void Host::end_renewed() {
  renew_by_ = base::kNever;
  if (was_connection_up_) {
    counters_.add(queue_follower_.is_additional() ? HostCounter::kQueueDowns
                                                  : HostCounter::kPairDowns);
  }
  nic_.on_move();
  has_connection_failed_ = true;
  retry_wait_ = base::Duration{0};
}

// Each has a queue of the connection, as far as the peer grants queues.
std::vector<std::uint8_t> Host::levels_to_use() const {
  std::vector<std::uint8_t> levels = nic_.sync().user.qos.value().levels();
  const bool has_queues = config_.pair.mode == messaging::Mode::kRdma;
  levels.resize(has_queues ? std::min<std::size_t>(levels.size(), queues_possible_ - 1) : 0);
  return levels;
}

void Host::use_service_levels() {
  if (connection_ == nullptr || !connection_->up()) return;
  if (connection_->levels() != levels_to_use()) {
    return renew_connection("the service levels were changed");
  }
  qos_queues_ = messaging::QosQueues(nic_.sync().user.qos.value(), connection_->levels());
}

void Host::attach_queue(base::Time now) {
  const bool is_wanted = nic_up() && link_ != nullptr && link_->up() && !is_stopping_;
  queue_follower_.attach(is_wanted, tap_, now);
}

// Counts every frame in flight by its drop reason, then closes.
void Host::end_connection(base::Time now) {
  connection_->collect_arrived(now);
  counters_.add(HostCounter::kTxLost, connection_->pushes_in_flight());
  counters_.add(HostCounter::kTxDropEnded, pending_.size());
  counters_.add(HostCounter::kRxDropEnded, rx_.size() - rx_done_ + connection_->unreceived());
  connection_->close(now);
  connection_.reset();
  renew_by_ = base::kNever;
  pending_.clear();
  unannounced_.clear();
  rx_.clear();
  rx_done_ = 0;
  rx_blocked_ = false;
}

void Host::make_connection() {
  was_connection_up_ = false;
  const base::MutableBytes arena = tx_memory_.span();
  tx_ring_ = std::make_unique<lan::FrameRing>(arena, config_.tx_frames_max);
  messaging::PairConfig pair = config_.pair;
  pair.levels = levels_to_use();
  pair.queues = std::max(std::min(config_.pair.queues, queues_possible_),
                         static_cast<std::uint32_t>(1 + pair.levels.size()));
  connection_ = std::make_unique<messaging::Connection>(adapter_, pair, random_, *this);
  const auto registered = connection_->register_frames(arena);
  CHECK(registered.has_value());
}

// Releases memory at the end of each idle period again: the little traffic has touched other
// elements.
void Host::watch_idle(base::Time now) {
  if (config_.idle_release <= base::Duration{0} ||
      (idle_check_at_ != base::kNever && now < idle_check_at_))
    return;
  const std::uint64_t frames =
      counters_[HostCounter::kTxFrames] + counters_[HostCounter::kRxFrames];
  const std::chrono::duration<double> seconds = config_.idle_release;
  const auto limit = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(seconds.count() * kIdleFramesPerSecond));
  const bool has_watched = idle_check_at_ != base::kNever;
  if (has_watched && frames - frames_then_ < limit && connection_up()) {
    std::size_t given = connection_->release_idle(kIdleElements);
    if (tx_ring_->frames() == 0) given += tx_memory_.release(0, tx_memory_.size());
    counters_.add(HostCounter::kReleased, given);
  }
  frames_then_ = frames;
  idle_check_at_ = now + config_.idle_release;
}

// The time that counts begins now.
void Host::set_idle_release(base::Duration after) {
  if (std::exchange(config_.idle_release, after) != after) idle_check_at_ = base::kNever;
}

base::Time Host::deadline() const {
  base::Time at = std::min({adapter_.deadline(), idle_check_at_, queue_follower_.deadline(),
                            nic_.deadline(), shorten_at_, renew_by_});
  if (connection_ != nullptr)
    at = std::min(at, connection_->deadline());
  else if (may_connect(base::kNever))
    at = std::min(at, retry_at_);
  return std::min(at, units_deadline());
}

void Host::on_tap_event(base::Time now) { nic_.on_tap_state(now); }

bool Host::is_drained() const {
  const bool has_arrived =
      connection_ == nullptr || (connection_->is_drained() && connection_->unreceived() == 0);
  return !connection_up() && has_arrived && rx_done_ == rx_.size() && !tap_.write_pending();
}

void Host::stop(base::Time now) {
  nic_.on_pair_down(now);
  if (connection_ != nullptr) end_connection(now);
  link_ = nullptr;
  adapter_.poll(now);
  for (const auto& port : adapter_.ports()) {
    port->send_bye(now);
    port->flush(now);
  }
}

void Host::abandon(base::Time now) {
  if (connection_ != nullptr) connection_->close(now);
  connection_.reset();
}

// Cells of the old size no longer pass whole. In fragments they do; without these the connection
// ends at once, and frames in flight are lost and counted. The next one uses smaller cells.
void Host::on_path_narrowed(fabric::Link& link) {
  if (!has_longer_cells(link)) return;
  const std::string found =
      "the path carries cells of " + std::to_string(link.mcp()) + " bytes now";
  if (!link.uses_fragments()) {
    return on_pair_down(connection_->first(), found + ": reconnecting with that size");
  }
  base::log_info(queue_follower_.label() + found + ": longer ones are sent in fragments");
  shorten_at_ = now_ + kShortenAfter;
}

bool Host::has_longer_cells(const fabric::Link& link) const {
  return &link == link_ && connection_ != nullptr &&
         connection_->first().cell_payload_max() > link.mcp();
}

// A lost datagram costs a whole cell, and the last fragment of a cell may be short.
void Host::shorten_cells() {
  shorten_at_ = base::kNever;
  if (link_ == nullptr || !has_longer_cells(*link_)) return;
  renew_connection("a new one has cells of " + std::to_string(link_->mcp()) +
                   " bytes, which the path carries");
}

void Host::on_pair_up(messaging::ChannelPair& pair) {
  counters_.add(queue_follower_.is_additional() ? HostCounter::kQueueUps : HostCounter::kPairUps);
  retry_wait_ = kRetryMin;
  was_connection_up_ = true;
  note_change(link_, "");
  last_end_.clear();
  base::log_info({base::EventKind::kConnected, link_->peer_name()},
                 queue_follower_.label() + "connected to the I/O unit " + pair.peer_name() +
                     " at " + link_->peer_name());
  qos_queues_ = messaging::QosQueues(nic_.sync().user.qos.value(), connection_->levels());
  nic_.on_pair_up(pair, now_);
  if (link_->uses_fragments()) on_path_narrowed(*link_);  // it may have been while they connected
}

void Host::on_pair_down(messaging::ChannelPair&, const std::string& why) {
  if (has_connection_failed_) return;  // it ends for another reason already
  counters_.add(queue_follower_.is_additional() ? HostCounter::kQueueDowns
                                                : HostCounter::kPairDowns);
  if (why != last_end_) {
    const base::Topic topic{base::EventKind::kDisconnected, link_->peer_name()};
    const std::string line =
        queue_follower_.label() + "the connection to the I/O unit ended: " + why;
    why == kPeerDisconnected ? base::log_info(topic, line) : base::log_warn(topic, line);
  }
  last_end_ = why;
  note_change(link_, why);
  why == kPeerDisconnected ? nic_.on_unit_stopped(now_) : nic_.on_pair_down(now_);
  if (connection_->possible() < connection_->queues()) queues_possible_ = connection_->possible();
  if (!was_connection_up_) choice_.pass_over(now_);
  renew_by_ = base::kNever;
  has_connection_failed_ = true;
}

messaging::CfgReply Host::on_cfg_request(messaging::ChannelPair&,
                                         const messaging::CfgRequest& request) {
  return nic_.on_request(request, now_);
}

void Host::visit_counters(const base::CounterVisitor& visitor) const {
  counters_.visit(visitor);
  adapter_.visit_counters(visitor);
  if (connection_ != nullptr) connection_->visit_counters(visitor);
  tap_.visit_counters([&](std::string_view name, std::uint64_t value) {
    visitor("tap." + std::string(name), value);
  });
}

}  // namespace splitnic::host
