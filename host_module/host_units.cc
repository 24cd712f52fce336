// The I/O units of a host: a link to each, kept alive, and a connection to one. The interface keeps
// its carrier while the host moves from one to the next, if that takes no longer than a connection
// may take to begin.
#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/event.h"
#include "base/log.h"
#include "control/daemon/link_end_reasons.h"
#include "host_module/host.h"

namespace splitnic::host {
namespace {

// A unit that was not heard for this many keep-alive intervals is silent: two IDLE were lost, and
// the replies to the HELLOs that followed. Its link is given up only later.
constexpr int kSilentIntervals = 3;
// With a frame in either direction less than this time ago the next one is expected.
constexpr base::Duration kTrafficFor = std::chrono::milliseconds(100);

// "4.1 s"
std::string seconds_text(base::Duration time) {
  const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

base::Time silent_at(const fabric::Link& link) {
  return link.last_heard() + kSilentIntervals * link.idle();
}

}  // namespace

void Host::add_unit(std::size_t unit, fabric::Port& port, const fabric::PeerAddress& address,
                    base::Time now) {
  CHECK(units_[unit].link == nullptr);
  units_[unit] = {&port, &port.connect(address, now)};
  units_[unit].changed_at = now;
  base::log_debug(queue_follower_.label() + "looks for the I/O unit at " +
                  units_[unit].link->peer_name());
}

void Host::note_change(const fabric::Link* link, std::string_view error) {
  const auto unit = std::ranges::find(units_, link, &Unit::link);
  if (link == nullptr || unit == units_.end()) return;
  unit->changed_at = now_;
  unit->last_error = error;
}

bool Host::is_usable(const Unit& unit, base::Time now) const {
  if (unit.link == nullptr || !unit.link->up()) return false;
  if (unit.left_at && unit.link->last_heard() <= *unit.left_at) return false;
  return units_.size() == 1 || now < silent_at(*unit.link);
}

// An additional queue uses the unit of queue 0.
void Host::choose_unit(base::Time now) {
  if (is_stopping_) return;
  if (std::exchange(may_be_double_, false)) end_double(now);
  if (queue_follower_.is_additional()) return;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    note_return(units_[i]);
    choice_.set_usable(i, is_usable(units_[i], now), now);
  }
  if (units_.size() > 1) watch_unit_in_use(now);
  const auto unit = choice_.choose(now);
  if (unit) use_unit(*unit, now);
}

// Where another path to the same unit could take over, silence of the one in use is found sooner
// than by keep-alives. Another unit takes over by keep-alives alone: one that only waits for a
// processor is not to be left for it.
void Host::watch_unit_in_use(base::Time now) {
  const auto in_use = choice_.in_use();
  if (!in_use || !choice_.is_usable(*in_use)) return watch_.restart();
  const auto successor = choice_.successor(now);
  SilenceWatch::Facts facts;
  facts.heard = units_[*in_use].link->last_heard();
  if (successor && is_of_same_unit(*in_use, *successor)) {
    facts.other_heard = units_[*successor].link->last_heard();
  }
  facts.has_traffic = has_traffic(now);
  switch (watch_.step(facts, now)) {
    case SilenceWatch::Step::kNone:
      return;
    case SilenceWatch::Step::kProbe:
      return probe(units_[*in_use]);
    case SilenceWatch::Step::kProbeBoth:
      probe(units_[*in_use]);
      if (successor) probe(units_[*successor]);
      return;
    case SilenceWatch::Step::kSilent:
      if (successor) leave(*in_use, *successor, now);
      return;
  }
}

bool Host::is_of_same_unit(std::size_t one, std::size_t other) const {
  return units_[one].link->peer_instance() == units_[other].link->peer_instance();
}

// A frame is not acknowledged, or the next one is expected.
bool Host::has_traffic(base::Time now) {
  const std::uint64_t frames =
      counters_[HostCounter::kTxFrames] + counters_[HostCounter::kRxFrames];
  if (std::exchange(frames_watched_, frames) != frames) traffic_until_ = now + kTrafficFor;
  return now < traffic_until_ || !pending_.empty() ||
         (connection_ != nullptr && connection_->pushes_in_flight() > 0);
}

void Host::probe(const Unit& unit) {
  counters_.add(HostCounter::kProbes);
  unit.port->probe(*unit.link);
}

void Host::leave(std::size_t unit, std::size_t successor, base::Time now) {
  Unit& left = units_[unit];
  left.left_at = now;
  counters_.add(HostCounter::kSilences);
  base::log_info("the I/O unit " + left.link->peer_name() + " does not reply to probes, and " +
                 units_[successor].link->peer_name() + " does");
  choice_.set_usable(unit, false, now);
}

void Host::note_return(Unit& unit) {
  if (!unit.left_at) return;
  if (unit.link != nullptr && unit.link->last_heard() <= *unit.left_at) return;
  if (unit.link != nullptr && watch_.on_return(*unit.left_at, unit.link->last_heard())) {
    counters_.add(HostCounter::kPauses);
    report_standby(*unit.link);
  }
  unit.left_at.reset();
}

void Host::use_unit(std::size_t unit, base::Time now) {
  fabric::Link* const next = units_[unit].link;
  if (next == link_) return;
  watch_.restart();
  if (link_ != nullptr && !queue_follower_.is_additional()) {
    counters_.add(HostCounter::kMoves);
    base::log_warn({base::EventKind::kMoved, next->peer_name()},
                   "moving from the I/O unit " + link_->peer_name() + " to " + next->peer_name());
  }
  if (connection_ != nullptr) {
    const bool is_up = connection_->up() || is_renewing();
    if (is_up && !has_connection_failed_) {
      counters_.add(queue_follower_.is_additional() ? HostCounter::kQueueDowns
                                                    : HostCounter::kPairDowns);
    }
    nic_.on_move();
    end_connection(now);
  }
  has_connection_failed_ = false;
  const bool is_first = link_ == nullptr;
  link_ = next;
  for (const Unit& other : units_) {
    if (is_first && other.link != nullptr && other.link != next && other.link->up()) {
      report_standby(*other.link);
    }
  }
  queues_possible_ = messaging::kQueuesMax;
  last_end_.clear();
  retry_at_ = now;
  nic_.on_link_back();
}

base::Status Host::move_to(std::size_t unit, base::Time now) {
  if (!is_usable(units_[unit], now)) return base::Error("the I/O unit does not respond");
  choice_.pin(unit);
  use_unit(unit, now);
  return {};
}

// Two addresses of one unit would take its link from each other without end: of two, the one that
// is preferred stays.
void Host::end_double(base::Time now) {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    for (std::size_t k = i + 1; k < units_.size(); ++k) {
      const fabric::Link* const first = units_[i].link;
      fabric::Link* const second = units_[k].link;
      if (first == nullptr || second == nullptr || !first->up() || !second->up()) continue;
      if (first->peer_eui64() != second->peer_eui64() ||
          first->peer_instance() != second->peer_instance()) {
        continue;
      }
      base::log_warn(queue_follower_.label() + second->peer_name() + " is the I/O unit at " +
                     first->peer_name() + ", too: not used; name each unit once");
      units_[k].port->end(*second, now);
      // With keys there are sessions over both, and each renewal of this one would end the other.
      units_[k].port->underlay().on_peer_stopped(second->address());
      units_[k].link = nullptr;
    }
  }
}

base::Time Host::units_deadline() const {
  if (units_.size() == 1 || queue_follower_.is_additional() || is_stopping_) return base::kNever;
  const bool is_silence_due = choice_.in_use() && choice_.is_usable(*choice_.in_use());
  return std::min(
      {choice_.deadline(), watch_.deadline(), is_silence_due ? silent_at(*link_) : base::kNever});
}

// The queues have one.
void Host::report_standby(const fabric::Link& link) const {
  if (queue_follower_.is_additional()) return;
  base::log_info({base::EventKind::kStandby, link.peer_name()},
                 "the I/O unit " + link.peer_name() + " is on standby");
}

void Host::on_link_up(fabric::Link& link) {
  may_be_double_ = units_.size() > 1;
  note_change(&link, "");
  const auto unit = std::ranges::find(units_, &link, &Unit::link);
  const auto lost_at =
      unit != units_.end() ? std::exchange(unit->lost_at, std::nullopt) : std::nullopt;
  if (&link != link_) {
    if (link_ != nullptr) report_standby(link);
    return;
  }
  if (lost_at) {
    base::log_info({base::EventKind::kLinkUp, link.peer_name()},
                   queue_follower_.label() + "the I/O unit " + link.peer_name() +
                       " is back after " + seconds_text(now_ - *lost_at));
  }
  queues_possible_ = messaging::kQueuesMax;  // it may be another process
  nic_.on_link_back();
}

// The pair stays for when the path is back. The interface shows that the cable is out. The flows of
// an additional queue continue over others, so what it has not delivered must not follow later.
void Host::on_link_down(fabric::Link& link, std::string_view reason) {
  const auto unit = std::ranges::find(units_, &link, &Unit::link);
  std::string why(reason);
  if (reason == control::kHeardNothing && unit != units_.end()) {
    const std::string error = send_error(static_cast<std::size_t>(unit - units_.begin()));
    if (!error.empty()) why += "; " + error;
  }
  report_link_down(link, why);
  note_change(&link, why);
  if (unit != units_.end()) unit->lost_at = now_;
  if (&link != link_) return;
  nic_.on_link_lost(now_);
  if (queue_follower_.is_additional() && connection_ != nullptr)
    on_pair_down(connection_->first(), why);
}

// A stop, of the unit or here, is no fault.
void Host::report_link_down(const fabric::Link& link, const std::string& why) const {
  const base::Topic topic{base::EventKind::kLinkDown, link.peer_name()};
  const std::string unit = queue_follower_.label() + "the I/O unit " + link.peer_name();
  if (why == control::kPeerStopped) return base::log_info(topic, unit + " stopped");
  if (why == control::kClosedHere)
    return base::log_debug("the link to " + unit + " was closed by this host");
  base::log_warn(topic, unit + " is gone: " + why);
}

std::string Host::send_error(std::size_t unit) const {
  const int error = config_.send_error ? config_.send_error(unit) : 0;
  if (error == 0) return "";
  // The kernel's word for a socket whose interface has gone.
  if (error == EDESTADDRREQ) return "the interface to it is gone";
  return "sending to it fails: " + std::generic_category().message(error);
}

}  // namespace splitnic::host
