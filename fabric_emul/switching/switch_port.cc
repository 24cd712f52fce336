#include "fabric_emul/switching/switch_port.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/event.h"
#include "base/log.h"
#include "fabric_emul/link/link_refusal.h"

namespace splitnic::fabric {
namespace {

// The inputs of an output: all other ports of the plan, those of other subnets, and in a router the
// output's own, whose cells may leave where they came.
std::size_t inputs_of_one(const SwitchPlan& plan) {
  const std::size_t own = plan.network ? 0 : 1;
  return std::max<std::size_t>(plan.used_ports(), 2) - own + plan.ports_beyond;
}

std::string lid_text(Lid lid) { return " (LID " + std::to_string(lid.value) + ")"; }

std::string text_of(const SwitchPlan::Port& planned) {
  if (planned.is_node()) return "node " + planned.peer;
  return "port " + std::to_string(planned.peer_port) + " of switch " + planned.peer +
         lid_text(planned.lid);
}

std::string text_of(const Init& peer) {
  if (peer.port == 0) return "no port of a switch";
  return "port " + std::to_string(peer.port) + " of a switch" +
         (peer.lid == Lid() ? "" : lid_text(peer.lid));
}

}  // namespace

SwitchPort::SwitchPort(std::uint8_t number, const SwitchPlan& plan, Underlay& underlay,
                       PortConfig config, base::Random& random,
                       base::Counters<SwitchCounter>& counters, const base::Time& now,
                       bool inputs_have_credits)
    : number_(number),
      plan_(plan.ports.at(number)),
      partitions_(plan.has_policy || !plan_.is_node() ? PartitionFilter(plan_.partitions)
                                                      : PartitionFilter::of_nobody()),
      counters_(counters),
      now_(now),
      port_(underlay, complete(std::move(config), plan), random, *this) {
  for (std::size_t lane = 0; lane < kSwitchLanes; ++lane) {
    const std::size_t of_input = !inputs_have_credits  ? kBatchOfInput
                                 : lane == kManagement ? kManagementOfInput
                                                       : kCreditsOfInput;
    queues_.emplace_back(inputs_of_one(plan) * of_input);
  }
}

// The end that comes states the number of its port, and a switch its LID. Payload CRC: from end to
// end, so on every hop.
PortConfig SwitchPort::complete(PortConfig config, const SwitchPlan& plan) const {
  config.full.receive_blocks = kReceiveBlocks;
  config.number = number_;
  config.links_max = 1;
  config.uses_fragments = false;
  config.payload_crc = PayloadCrcMode::kOn;
  const bool offers = plan.lids_from == GivenBy::kFile || !plan_.is_node();
  config.lids = [lids = LinkLids{plan.lid, offers ? plan_.lid : Lid()}](const PeerAddress&) {
    return lids;
  };
  config.is_expected = [this](const Init& peer) {
    const bool has_lid = plan_.is_node() || peer.lid == Lid() || peer.lid == plan_.lid;
    return peer.port == plan_.peer_port && has_lid;
  };
  return config;
}

HeldCell SwitchPort::hold(const ReceivedCell& cell, std::uint8_t output, std::size_t lane) {
  if (is_full_profile()) {
    std::size_t& waiting = waiting_bytes_[lane == kManagement ? 1 : 0];
    waiting += CellQueue::kHead + cell.bytes.size();
    return {link_, &waiting, link_->hold(cell)};
  }
  waits_for_.set(place(output, lane));
  return {};
}

void SwitchPort::put(SwitchPort& from, const ReceivedCell& cell, std::size_t lane) {
  if (cell.bytes.size() > link_->cell_bytes_max()) {
    return counters_.add(SwitchCounter::kDropTooLong);
  }
  const bool is_first = waiting_with(lane) == 0;
  if (is_first && send(cell.bytes, lane)) return;
  if (budget_of(lane).is_spent() || !from.may_hold(cell, lane) ||
      !queues_[lane].has_room(cell.bytes.size())) {
    return counters_.add(SwitchCounter::kDropStalled);
  }
  if (is_first) budget_of(lane).start(now_);
  queues_[lane].push(cell.bytes, from.hold(cell, number_, lane));
  waiting_ |= 1U << lane;
  counters_.add(SwitchCounter::kWait);
}

bool SwitchPort::send(base::Bytes cell, std::size_t lane) {
  const base::MutableBytes room = link_->reserve(cell.size(), vl_of(lane));
  if (room.empty()) return false;
  std::memcpy(room.data(), cell.data(), cell.size());
  link_->commit(cell.size());
  counters_.add(SwitchCounter::kTxCell);
  ++tx_cells_;
  ++tx_by_lane_[lane];
  tx_bytes_ += cell.size();
  budget_of(lane).on_taken(cell.size());
  return true;
}

// In the full profile a lane that has credits waits for other lanes, as long as these pass.
bool SwitchPort::drain() {
  port_.flush(now_);
  if (waiting_ == 0) return false;
  const bool is_passing = carries();
  const unsigned sent = is_passing ? send_waiting() : 0;
  const bool have_passed = std::exchange(tx_at_drain_, tx_cells_) != tx_cells_;
  for (std::size_t lane = 0; lane < kSwitchLanes; ++lane) {
    if ((waiting_ >> lane & 1U) == 0) continue;
    WaitBudget& budget = budget_of(lane);
    const bool has_moved =
        is_full_profile()
            ? (sent >> lane & 1U) != 0 || (have_passed && !link_->lacks_credits(vl_of(lane)))
            : sent != 0;
    if (!is_passing) {
      drop_queue(lane, SwitchCounter::kDropDown);
    } else if (has_moved) {
      budget.start(now_);
    } else {
      budget.on_wait(now_);
      if (budget.is_spent()) drop_queue(lane, SwitchCounter::kDropStalled);
    }
  }
  return sent != 0;
}

// Returns the lanes of which a cell was sent, as bits.
unsigned SwitchPort::send_waiting() {
  unsigned sent = 0;
  for (unsigned ready = waiting_; ready != 0;) {
    const std::size_t lane = schedule_.next(ready);
    const std::size_t bytes = queues_[lane].front().size();
    if (!send(queues_[lane].front(), lane)) {
      ready = is_full_profile() ? ready & ~(1U << lane) : 0;
      continue;
    }
    schedule_.on_sent(lane, bytes);
    sent |= 1U << lane;
    pop(lane);
    ready &= ~(1U << lane) | waiting_;
  }
  return sent;
}

// The neighbour that sent the cell may send as much more.
void SwitchPort::pop(std::size_t lane) {
  CellQueue& queue = queues_[lane];
  const HeldCell held = queue.front_held();
  if (held.link != nullptr) {
    *held.waiting -= CellQueue::kHead + queue.front().size();
    held.link->release(held.credit);
  }
  queue.pop();
  if (queue.empty()) waiting_ &= ~(1U << lane);
}

void SwitchPort::drop_queue(std::size_t lane, SwitchCounter reason) {
  counters_.add(reason, queues_[lane].cells());
  while (!queues_[lane].empty()) pop(lane);
}

std::size_t SwitchPort::waiting_cells() const {
  std::size_t cells = 0;
  for (const CellQueue& queue : queues_) cells += queue.cells();
  return cells;
}

base::Time SwitchPort::retry_at() const {
  if (waiting_ == 0 && !port_.wants_write()) return base::kNever;
  const bool is_heard_of = is_full_profile() && !port_.wants_write();
  return now_ + (is_heard_of || budgets_[0].is_spent() ? kRetrySeldom : kRetry);
}

std::string SwitchPort::label() const {
  return "port " + std::to_string(number_) + " (" + plan_.peer + ")";
}

void SwitchPort::on_link_up(Link& up) {
  link_ = &up;
  is_held_ = holds_;
  has_taken_lids_ = false;
  counters_.add(plan_.is_node() ? SwitchCounter::kNodeUp : SwitchCounter::kLinkChange);
  budgets_.fill({});
  refused_by_peer_ = refused_here_ = {};
  base::log_info({base::EventKind::kLinkUp, up.peer_name()},
                 label() + ": " + up.peer_name() + " is up");
}

void SwitchPort::on_link_down(Link& down, std::string_view why) {
  if (!plan_.is_node()) counters_.add(SwitchCounter::kLinkChange);
  base::log_warn({base::EventKind::kLinkDown, down.peer_name()},
                 label() + ": " + down.peer_name() + " is down: " + std::string(why));
}

void SwitchPort::on_refused(Link& by, InitReason reason) {
  if (!refused_by_peer_.note(reason, now_)) return;
  base::log_warn({base::EventKind::kRefused, by.peer_name()},
                 label() + ": " + by.peer_name() +
                     " refuses the link: " + link_refusal(reason, LinkEnds::kSwitch));
}

void SwitchPort::on_duplicate(Link& link, std::string_view from) {
  if (!refused_here_.note(InitReason::kDuplicate, now_)) return;
  base::log_warn({base::EventKind::kRefused, std::string(from)},
                 label() + ": " + std::string(from) + " is refused: it has the identity of " +
                     link.peer_name() + ", which is up: give one of them another --name");
}

void SwitchPort::on_unexpected(const Init& peer, const PeerAddress& from) {
  if (!refused_here_.note(InitReason::kIdentity, now_)) return;
  base::log_warn({base::EventKind::kRefused, port_.underlay().name_of(from)},
                 label() + ": " + port_.underlay().name_of(from) + " is refused: it is " +
                     text_of(peer) + ", and the topology has " + text_of(plan_) +
                     " here: check the addresses and the topology file at both ends");
}

}  // namespace splitnic::fabric
