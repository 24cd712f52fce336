// One host of the I/O unit: its connection, what it has set on its NIC, the frames that it has sent
// and the ring of frames for it. All of this belongs to this host alone, so a frame that it cannot
// take now waits here or is dropped and counted under its name, and no other host notices
// [S001-08].
//
// Its life is a HostState (host_state.h). It owns its connection and receives the callbacks of it,
// which it passes on to its owner with its own identity. Thread: the data thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/counters.h"
#include "base/memory_account.h"
#include "base/page_memory.h"
#include "base/random.h"
#include "base/ring.h"
#include "fabric_emul/verbs/adapter.h"
#include "iou_module/coalescer.h"
#include "iou_module/deficit_round_robin.h"
#include "iou_module/event_state.h"
#include "iou_module/host_id.h"
#include "iou_module/host_limits.h"
#include "iou_module/host_memory.h"
#include "iou_module/host_rights.h"
#include "iou_module/host_rx_batch.h"
#include "iou_module/host_state.h"
#include "iou_module/nic_stats.h"
#include "iou_module/parked_settings.h"
#include "lan_bridge/frame_port.h"
#include "messaging/connection.h"

namespace splitnic::iou {

struct AttachedHostConfig {
  messaging::PairConfig pair;
  std::size_t ring_bytes = 2 << 20;  // of frames for the host
  std::size_t frames_max = 2048;
  HostRights rights{};
  std::optional<HostId> id{};     // none: what its link shows
  std::uint32_t unit_queues = 1;  // among which its limits are divided
  // In bytes over all queues, of a host whose rights do not name it. [M-1]
  std::uint64_t memory_usual = std::uint64_t{64} << 20;
  std::shared_ptr<HostLimits> limits{};  // null: new ones
};

enum class HostCounter {
  kToHostFrames,
  kToHostBytes,
  kDropHostFull,
  kDropTooLong,
  kDropVlan,
  kDropToHostEnded,  // queued, but the connection ended before it could be pushed
  kLost,             // pushed, but the connection ended before the host had acknowledged it
  kSplit,
  kFromHostFrames,
  kFromHostBytes,
  kDropSpoof,
  kDropVnet,
  kDropStopped,
  kDropShort,
  kDropAway,
  kDropEnded,       // received, but the connection ended before the LAN port took it
  kDropStorm,       // a group frame beyond the limit of group frames
  kDropRate,        // beyond the limit of bits or frames
  kDropVlanSent,    // of a VLAN that it may not use
  kRefusedAddress,  // SET_MAC or SET_FILTER with an address that it may not have
  kRefusedPromiscuous,
  kRefusedVlan,
  kRefusedLevel,  // SET_QOS of a host whose service level its rights set
  kBusy,          // requests beyond HostLimits::kRequestsPerSecond
  kCount_
};

class AttachedHost;

class HostOwner {
 public:
  virtual ~HostOwner() = default;
  // The connection is up: frames may be pushed.
  virtual void on_host_up(AttachedHost& host) = 0;
  // The connection is down. Called once; do not destroy the host inside.
  virtual void on_host_down(AttachedHost& host, const std::string& why) = 0;
  virtual messaging::CfgReply on_cfg_request(AttachedHost& host,
                                             const messaging::CfgRequest& request) = 0;
};

class AttachedHost final : private messaging::PairOwner {
 public:
  // A longer list of multicast addresses becomes all-multicast, one of unicast addresses is
  // refused.
  static constexpr std::size_t kFilterEntries = 256;
  // A host whose link is down for longer is removed, which frees its addresses.
  static constexpr base::Duration kAwayMax = std::chrono::seconds(60);

  // `adapter`, `link`, `random` and `owner` outlive the host. `now` is when it is made.
  AttachedHost(const AttachedHostConfig& config, fabric::Adapter& adapter, fabric::Link& link,
               base::Random& random, HostOwner& owner, base::Time now);

  // -- who it is --
  const HostIdentity& identity() const { return identity_; }
  const std::string& name() const {
    return rights_.name.empty() ? pair_.peer_name() : rights_.name;
  }
  fabric::Link& link() { return link_; }
  const fabric::Link& link() const { return link_; }
  messaging::Connection& pair() { return pair_; }
  const messaging::Connection& pair() const { return pair_; }
  // False: its ring has no memory, or none of the adapter's keys, and accept() refuses the host.
  bool is_made() const { return made_.has_value(); }
  // The memory of this connection, and its limit.
  const base::MemoryAccount& memory_account() const { return memory_account_; }
  // When the object was made.
  base::Time attached_at() const { return attached_at_; }
  NicSettings& nic() { return nic_; }
  const NicSettings& nic() const { return nic_; }
  const HostRights& rights() const { return rights_; }
  fabric::PartitionKey partition() const { return partition_; }
  const VlanLimit& vlan_limit() const { return vlan_limit_; }
  // Settings that are not permitted any more stay: NicService::enforce().
  void set_rights(HostRights rights);
  // Returns true for the first refusal of promiscuous mode.
  bool is_first_sniff_refusal() { return !std::exchange(is_sniff_refused_, true); }
  // Returns true if the address was refused for the first time since another one was.
  bool is_new_refusal(const lan::MacAddress& mac) {
    return std::exchange(refused_mac_, mac) != mac;
  }

  // -- its life --
  // Attaches it, or returns the code with which to refuse; the reason in `reply` is valid as long
  // as this object.
  fabric::MgmtReject accept(fabric::ConnectionId id, const fabric::Mgmt& request,
                            fabric::Mgmt& reply);
  // Serves its connection. Returns true if it made progress.
  bool poll(base::Time now) {
    now_ = now;
    return pair_.poll(now);
  }
  void set_started(bool started) {
    if (nic_.started && !started) stopped_since_ = now_;
    nic_.started = started;
  }
  // Its NIC has not been started for this time.
  bool is_stopped_for(base::Duration time, base::Time now) const {
    return !nic_.started && now - stopped_since_ >= time;
  }
  HostState state() const { return state_; }
  bool has_ended() const { return state_ == HostState::kFailed || state_ == HostState::kClosed; }
  bool is_up() const { return !has_ended() && pair_.up(); }
  bool is_reachable() const { return is_up() && link_.up(); }
  // Frames for it can be queued.
  bool is_usable() const { return nic_.started && is_reachable(); }
  // Returns true if the other queues have to hear of it: it is usable or not since the last call,
  // or its settings may have changed.
  bool take_change() {
    const bool was_usable = std::exchange(reported_usable_, is_usable());
    return std::exchange(is_changed_, false) || was_usable != reported_usable_;
  }
  // Returns is_usable() as of the last take_change().
  bool was_usable() const { return reported_usable_; }
  void set_changed() { is_changed_ = true; }
  // It has to be removed, once no callback is running. No effect on a host that has ended.
  void fail();
  // Starts to flush the pools if nothing waits for the host any more.
  void begin_close();
  bool is_drained() const;
  // Closes the connection immediately and counts each frame that ends with it by its reason. No
  // effect on a closed host. REQUIRES has_ended().
  void close(base::Time now);
  // Observes the link. Returns true if it has been down for kAwayMax: then the host has failed.
  bool expire(base::Time now);
  // When expire() or report_lan() has something to do, or the connection has.
  base::Time deadline() const;

  // -- what it is to learn --
  // The state of the LAN has changed; report_lan() sends it when that is possible.
  void on_lan_change(const lan::PortState& lan);
  void report_lan(const lan::PortState& lan, base::Time now);
  // The host has connected again: its addresses have to be announced on the LAN, because switches
  // may know them elsewhere or no longer. request_announce() does so once the NIC is started.
  void set_announce_due() { is_announce_due_ = true; }
  void request_announce();
  EventState& events() { return events_; }

  // -- frames for it --
  // Its coalescing or its service levels in nic() are others, or may be.
  void on_delivery_settings();
  // Returns true if a frame with this destination is for this host. False while it is away: nothing
  // is queued then.
  bool wants(const lan::MacAddress& destination) const {
    return is_usable() && nic_.wants(destination);
  }
  // Returns true if the frame fits into one element and uses only offloads that the host takes.
  bool fits(base::Bytes frame) const;
  // Queues a frame that lies in this host's ring already (committed there), or drops and counts it.
  // REQUIRES that it fits and that every frame committed before it is queued or discarded: the ring
  // is released in the order of commits.
  void queue_own(base::Bytes frame);
  // The same for a frame that lies elsewhere.
  void queue_copy(base::Bytes frame);
  // Releases what has been delivered and pushes what waits. Returns true if it made progress.
  bool pump(base::Time now);
  // Nothing is pushed before `at`: another queue pushes earlier frames of the same flows.
  void hold_until(base::Time at) { held_until_ = at; }
  lan::FrameRing& ring() { return ring_; }
  bool idle() const { return pending_.empty(); }
  std::size_t waiting() const { return pending_.size(); }

  // -- frames from it --
  // Its frames are forwarded: also those that it sent before the unit began to stop.
  bool is_heard() const {
    return state_ == HostState::kClosing || (state_ == HostState::kAttached && pair_.up());
  }
  // Received frames that are not forwarded yet.
  HostRxBatch& received() { return received_; }
  const HostRxBatch& received() const { return received_; }
  bool refill() { return received_.refill(pair_); }
  // Counts the oldest received frame as forwarded or dropped, and releases it.
  void finish_received(base::Time now) {
    const messaging::ReceivedFrame& frame = received_.take();
    counters_.add(HostCounter::kFromHostFrames);
    counters_.add(HostCounter::kFromHostBytes, frame.bytes.size());
    rmon_.count_from_host(frame.bytes);
    pair_.release(frame, now);
  }
  DeficitRoundRobin::Deficit& deficit() { return deficit_; }
  HostMeter& meter() { return limits_->meter; }

  // -- counters --
  void count(HostCounter counter) { counters_.add(counter); }
  const base::Counters<HostCounter>& counters() const { return counters_; }
  const Rmon& rmon() const { return rmon_; }
  StatsBaseline& baseline() { return baseline_; }
  const StatsBaseline& baseline() const { return baseline_; }

 private:
  base::Status make_ring(const AttachedHostConfig& config);
  std::string memory_text() const;
  void enter(HostState next);
  VlanRules::Verdict vlan_verdict(base::Bytes frame) const {
    const bool is_permitted = !vlan_limit_.is_restricted() || vlan_limit_.passes(frame, 0);
    return is_permitted ? nic_.vlans.to_host(frame) : VlanRules::Verdict::kDrop;
  }
  bool may_report() const { return events_.is_due() && is_reachable(); }
  void queue_fitting(base::Bytes frame);
  void queue_split(base::Bytes frame);
  void enqueue(base::Bytes frame) {
    pending_.push(frame);
    pending_bytes_ += frame.size();
  }
  bool push(base::Bytes frame, base::Time now);
  // messaging::PairOwner
  void on_pair_up(messaging::ChannelPair& pair) override;
  void on_pair_down(messaging::ChannelPair& pair, const std::string& why) override;
  messaging::CfgReply on_cfg_request(messaging::ChannelPair& pair,
                                     const messaging::CfgRequest& request) override;

  HostOwner& owner_;
  fabric::Link& link_;
  const std::uint32_t unit_queues_;
  const std::uint64_t memory_usual_;
  const fabric::PartitionKey partition_;
  const base::Time attached_at_;
  HostRights rights_;
  base::MemoryAccount memory_account_;
  VlanLimit vlan_limit_{rights_};
  const std::shared_ptr<HostLimits> limits_;  // not null
  std::optional<lan::MacAddress> refused_mac_{};
  bool is_sniff_refused_ = false;
  const HostIdentity identity_;
  HostState state_ = HostState::kAttached;
  bool is_announce_due_ = false;
  bool is_changed_ = true;
  bool reported_usable_ = false;
  base::Time held_until_ = base::kNever;  // kNever: nothing is held
  base::Time away_since_ = base::kNever;  // since when the link is down
  base::Time now_{};                      // of the last poll()
  base::Time stopped_since_{};            // since when its NIC is not started, if it is not
  NicSettings nic_;
  EventState events_;
  HostRxBatch received_;
  DeficitRoundRobin::Deficit deficit_;  // of its frames for the LAN
  base::Counters<HostCounter> counters_;
  Rmon rmon_;
  StatsBaseline baseline_;
  base::MemoryCharge charge_;  // of the ring
  base::PageMemory memory_;
  lan::FrameRing ring_;
  base::Ring<base::Bytes> pending_;  // frames in the ring, not pushed yet
  std::size_t pending_bytes_ = 0;
  Coalescer coalescer_;
  messaging::QosQueues qos_queues_;
  messaging::Connection pair_;
  base::Status made_;    // the ring; without it the host is refused
  std::string refusal_;  // the reply points to it
};

}  // namespace splitnic::iou

template <>
struct splitnic::base::CounterNames<splitnic::iou::HostCounter> {
  static constexpr auto kNames =
      std::to_array<std::string_view>({"iou.to_host.frames",
                                       "iou.to_host.bytes",
                                       "lan.rx.drop.host_full",
                                       "lan.rx.drop.too_long",
                                       "lan.rx.drop.vlan",
                                       "lan.rx.drop.ended",
                                       "iou.to_host.lost",
                                       "iou.to_host.split",
                                       "iou.from_host.frames",
                                       "iou.from_host.bytes",
                                       "iou.from_host.drop.spoof",
                                       "iou.from_host.drop.vnet",
                                       "iou.from_host.drop.stopped",
                                       "iou.from_host.drop.short",
                                       "iou.from_host.drop.away",
                                       "iou.from_host.drop.ended",
                                       "iou.from_host.drop.storm",
                                       "iou.from_host.drop.rate",
                                       "iou.from_host.drop.vlan",
                                       "iou.from_host.refused_address",
                                       "iou.from_host.refused_promiscuous",
                                       "iou.from_host.refused_vlan",
                                       "iou.from_host.refused_level",
                                       "iou.from_host.busy"});
};
