// A port of a switch: its link, as an output the cells that wait for room there, a queue for each
// lane, and as an input the lanes of outputs that it waits for. In the full profile an input does
// not wait: a cell that does not fit its output holds the credits of its lane, so the neighbour
// sends that much less on this lane, and as much as before on the others [S000-40] [S000-45]. It
// logs who comes, goes and is refused. Thread: the data thread.
#pragma once

#include <array>
#include <bitset>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/counters.h"
#include "base/rate_limit.h"
#include "fabric_emul/link/lane_schedule.h"
#include "fabric_emul/link/port.h"
#include "fabric_emul/link/refusal_log.h"
#include "fabric_emul/switching/cell_queue.h"
#include "fabric_emul/switching/partition_filter.h"
#include "fabric_emul/switching/switch_counters.h"
#include "fabric_emul/switching/switch_lanes.h"
#include "fabric_emul/switching/topology.h"
#include "fabric_emul/switching/wait_budget.h"

namespace splitnic::fabric {

class SwitchPort final : private LinkObserver {
 public:
  // Full profile: what each data lane of an input may hold.
  static constexpr std::uint32_t kReceiveBlocks = 1024;

  // All outlive this: the underlay, the plan, the counters of the switch, and `now`, which is its
  // current time. `config` has what is common to the ports of the switch. inputs_have_credits:
  // other ports may be of the full profile.
  SwitchPort(std::uint8_t number, const SwitchPlan& plan, Underlay& underlay, PortConfig config,
             base::Random& random, base::Counters<SwitchCounter>& counters, const base::Time& now,
             bool inputs_have_credits);
  SwitchPort(const SwitchPort&) = delete;
  SwitchPort& operator=(const SwitchPort&) = delete;

  void connect(const PeerAddress& to) { link_ = &port_.connect(to, now_); }

  std::uint8_t number() const { return number_; }
  const SwitchPlan::Port& plan() const { return plan_; }
  const PartitionFilter& partitions() const { return partitions_; }
  // Those of the plan have changed.
  void take_partitions() { partitions_ = PartitionFilter(plan_.partitions); }
  Port& port() { return port_; }
  const Port& port() const { return port_; }
  const Link* link() const { return link_; }  // null: nobody has come yet
  Link* link() { return link_; }
  bool is_up() const { return link_ != nullptr && link_->up(); }
  // Subnet management: from now on the link of a cable that comes up is held. It carries SMPs, and
  // other cells once it is activated.
  void hold_from_now_on() { holds_ = !plan_.is_node(); }
  void activate() { is_held_ = false; }
  bool is_held() const { return is_held_; }
  bool carries() const { return is_up() && !is_held_; }
  // Whether the node has taken the LIDs that the subnet manager gives it, since its link is up.
  bool has_taken_lids() const { return has_taken_lids_; }
  void set_taken_lids(bool has_taken) { has_taken_lids_ = has_taken; }
  std::uint64_t rx_cells() const { return rx_cells_; }
  std::uint64_t tx_cells() const { return tx_cells_; }
  std::uint64_t tx_bytes() const { return tx_bytes_; }

  // Output. Sends a cell that came by `from`, makes it wait or drops it, and counts which. REQUIRES
  // is_up().
  void put(SwitchPort& from, const ReceivedCell& cell, std::size_t lane);
  // Sends what waits, as far as there is room. Returns true if any was sent.
  bool drain();
  std::size_t waiting_cells() const;
  unsigned waiting_lanes() const { return waiting_; }  // bit n: lane n
  std::uint64_t tx_cells_of(std::size_t lane) const { return tx_by_lane_[lane]; }
  // Returns when to try next: nothing announces that there is room, but the credits of the full
  // profile.
  base::Time retry_at() const;

  // Input.
  void on_received(std::size_t cells) { rx_cells_ += cells; }
  void on_empty(std::uint8_t output, std::size_t lane) { waits_for_.reset(place(output, lane)); }
  bool may_read() const { return waits_for_.none(); }
  // Whether the switch itself serves another management cell of this port now.
  bool may_ask() { return may_ask_.take(now_); }
  // Full profile: whether it takes another management cell of this port now. Their lane has no
  // credits, and leaves before all others.
  bool may_manage() { return may_manage_.take(now_); }

 private:
  // Requests for the switch itself: names are resolved at the start of a link, and seldom later.
  static constexpr base::Duration kAskInterval = std::chrono::milliseconds(1);
  static constexpr std::uint32_t kAskBurst = 128;
  static constexpr base::Duration kManageInterval = std::chrono::microseconds(100);
  static constexpr std::uint32_t kManageBurst = 1024;
  static constexpr base::Duration kRetry = std::chrono::microseconds(100);
  static constexpr base::Duration kRetrySeldom = std::chrono::milliseconds(5);

  void on_link_up(Link& up) override;
  void on_link_down(Link& down, std::string_view why) override;
  void on_peer_restarted(Link& /*link*/) override {}
  void on_refused(Link& by, InitReason reason) override;
  void on_duplicate(Link& link, std::string_view from) override;
  void on_unexpected(const Init& peer, const PeerAddress& from) override;

  // An input that waits reads nothing, so it adds one batch at most to all queues of an output
  // until those that got cells of it are empty. In the full profile it adds what its credits allow,
  // on all of its data lanes to one of the output.
  static constexpr std::size_t kBatchOfInput =
      ReceivedCells::kBatchBytesMax +
      ReceivedCells::kCellsMax * (CellQueue::kHead - kFlitHeaderBytes);
  static constexpr std::size_t kCreditsOfInput =
      kDataLanes * kReceiveBlocks * (kCreditBlockBytes + CellQueue::kHead);
  static constexpr std::size_t kManagementOfInput = 64 * 1024;

  PortConfig complete(PortConfig config, const SwitchPlan& plan) const;
  bool is_full_profile() const { return port_.profile() == LinkProfile::kFull; }
  // Returns what a cell of the batch being received holds while it waits for a lane of an output.
  HeldCell hold(const ReceivedCell& cell, std::uint8_t output, std::size_t lane);
  // Whether as much as it has now, and this cell, may wait. A neighbour that keeps to its credits
  // never has more.
  bool may_hold(const ReceivedCell& cell, std::size_t lane) const {
    const std::size_t limit = lane == kManagement ? kManagementOfInput : kCreditsOfInput;
    return cell.blocks == 0 ||
           waiting_bytes_[lane == kManagement ? 1 : 0] + CellQueue::kHead + cell.bytes.size() <=
               limit;
  }
  std::uint8_t vl_of(std::size_t lane) const {
    return link_->open_lane(lane == kManagement ? kMgmtLane : static_cast<std::uint8_t>(lane));
  }
  // Lanes of the full profile wait independently, those of the other profiles for one link.
  unsigned waiting_with(std::size_t lane) const {
    return is_full_profile() ? waiting_ & 1U << lane : waiting_;
  }
  WaitBudget& budget_of(std::size_t lane) { return budgets_[is_full_profile() ? lane : 0]; }
  void pop(std::size_t lane);
  static std::size_t place(std::uint8_t output, std::size_t lane) {
    return output * kSwitchLanes + lane;
  }
  bool send(base::Bytes cell, std::size_t lane);
  unsigned send_waiting();
  void drop_queue(std::size_t lane, SwitchCounter reason);
  std::string label() const;

  const std::uint8_t number_;
  const SwitchPlan::Port& plan_;
  PartitionFilter partitions_;
  base::Counters<SwitchCounter>& counters_;
  const base::Time& now_;
  RefusalLog refused_by_peer_, refused_here_;
  Link* link_ = nullptr;
  bool holds_ = false, is_held_ = false, has_taken_lids_ = false;
  std::vector<CellQueue> queues_;  // by lane: cells that did not fit the link
  unsigned waiting_ = 0;           // bit n: queue n is not empty
  std::uint64_t tx_at_drain_ = 0;  // cells, until the last drain()
  LaneSchedule schedule_;
  std::array<WaitBudget, kSwitchLanes> budgets_;
  std::bitset<(kSwitchPortsMax + 1) * kSwitchLanes> waits_for_;
  base::RateLimit may_ask_{kAskInterval, kAskBurst};
  base::RateLimit may_manage_{kManageInterval, kManageBurst};
  std::array<std::size_t, 2> waiting_bytes_{};  // of cells with credits that came here: data, MGMT
  std::uint64_t rx_cells_ = 0, tx_cells_ = 0, tx_bytes_ = 0;
  std::array<std::uint64_t, kSwitchLanes> tx_by_lane_{};
  Port port_;
};

}  // namespace splitnic::fabric
