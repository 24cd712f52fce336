#include "fabric_emul/switching/switch_port.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "fabric_emul/switching/hop_refusal.h"

namespace splitnic::fabric {
namespace {

// The inputs of an output: all other ports of the plan.
std::size_t inputs_of_one(const SwitchPlan& plan) {
  const auto used = std::ranges::count_if(
      plan.ports, [](const SwitchPlan::Port& port) { return !port.peer.empty(); });
  return std::max<std::size_t>(static_cast<std::size_t>(used), 2) - 1;
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
                       base::Counters<SwitchCounter>& counters, const base::Time& now)
    : number_(number),
      plan_(plan.ports.at(number)),
      counters_(counters),
      now_(now),
      queue_(inputs_of_one(plan) * kQueueBytesOfInput),
      port_(underlay, complete(std::move(config), plan), random, *this) {}

// Who comes states the number of its port, and a switch its LID. Payload CRC: from end to end, so
// on every hop.
PortConfig SwitchPort::complete(PortConfig config, const SwitchPlan& plan) const {
  CHECK(config.profile != LinkProfile::kFull);
  config.number = number_;
  config.links_max = 1;
  config.payload_crc = PayloadCrcMode::kOn;
  config.lids = [lids = LinkLids{plan.lid, plan_.lid}](const PeerAddress&) { return lids; };
  config.is_expected = [this](const Init& peer) {
    const bool has_lid = plan_.is_node() || peer.lid == Lid() || peer.lid == plan_.lid;
    return peer.port == plan_.peer_port && has_lid;
  };
  return config;
}

bool SwitchPort::put(const ReceivedCell& cell) {
  if (cell.bytes.size() > link_->cell_bytes_max()) {
    counters_.add(SwitchCounter::kDropTooLong);
    return false;
  }
  if (queue_.empty() && send(cell.bytes, cell.vl)) return false;
  if (budget_.is_spent()) {
    counters_.add(SwitchCounter::kDropStalled);
    return false;
  }
  if (queue_.empty()) budget_.start(now_);
  queue_.push(cell.bytes, cell.vl);
  counters_.add(SwitchCounter::kWait);
  return true;
}

bool SwitchPort::send(base::Bytes cell, std::uint8_t vl) {
  const base::MutableBytes room = link_->reserve(cell.size(), vl);
  if (room.empty()) return false;
  std::memcpy(room.data(), cell.data(), cell.size());
  link_->commit(cell.size());
  counters_.add(SwitchCounter::kTxCell);
  ++tx_cells_;
  tx_bytes_ += cell.size();
  budget_.on_taken(cell.size());
  return true;
}

bool SwitchPort::drain() {
  port_.flush(now_);
  if (queue_.empty()) return false;
  if (!link_->up()) {
    drop_queue(SwitchCounter::kDropDown);
    return false;
  }
  bool made_progress = false;
  while (!queue_.empty() && send(queue_.front(), queue_.front_vl())) {
    queue_.pop();
    made_progress = true;
  }
  if (made_progress) {
    budget_.start(now_);
    return true;
  }
  budget_.on_wait(now_);
  if (budget_.is_spent()) drop_queue(SwitchCounter::kDropStalled);
  return false;
}

void SwitchPort::drop_queue(SwitchCounter reason) {
  counters_.add(reason, queue_.cells());
  queue_.clear();
}

base::Time SwitchPort::retry_at() const {
  if (queue_.empty() && !port_.wants_write()) return base::kNever;
  return now_ + (budget_.is_spent() ? kRetrySpent : kRetry);
}

std::string SwitchPort::label() const {
  return "port " + std::to_string(number_) + " (" + plan_.peer + ")";
}

void SwitchPort::on_link_up(Link& up) {
  link_ = &up;
  budget_ = {};
  refused_by_peer_ = refused_here_ = {};
  base::log_info(label() + ": " + up.peer_name() + " is up");
}

void SwitchPort::on_link_down(Link& down, std::string_view why) {
  base::log_warn(label() + ": " + down.peer_name() + " is down: " + std::string(why));
}

void SwitchPort::on_refused(Link& by, InitReason reason) {
  if (!refused_by_peer_.note(reason, now_)) return;
  base::log_warn(label() + ": " + hop_refusal(by.peer_name(), reason));
}

void SwitchPort::on_duplicate(Link& link, std::string_view from) {
  if (!refused_here_.note(InitReason::kDuplicate, now_)) return;
  base::log_warn(label() + ": " + std::string(from) + " is refused: it has the identity of " +
                 link.peer_name() + ", which is up: give one of them another --name");
}

void SwitchPort::on_unexpected(const Init& peer, const PeerAddress& from) {
  if (!refused_here_.note(InitReason::kIdentity, now_)) return;
  base::log_warn(label() + ": " + port_.underlay().name_of(from) + " is refused: it is " +
                 text_of(peer) + ", and the topology has " + text_of(plan_) +
                 " here: check the addresses and the topology file at both ends");
}

}  // namespace splitnic::fabric
