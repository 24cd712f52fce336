// One host of the I/O unit: its connection, its settings on the NIC and the parts that serve it
// alone, so a frame that it cannot take now waits here or is dropped and counted under its name,
// and no other host notices [S001-08]:
//
//   HostIdentity   its process and its name     HostTx         frames for it
//   HostAllowance  what it may do and use       HostRx         frames from it
//   HostLife       from CONNECT_REQ to the end  HostNotifier   EVENT and ANNOUNCE
//   HostStats      its counters                 HostNewsState  what the other queues hear of it
//
// It owns its connection and receives the callbacks of it, which it passes on to its owner. What
// needs several parts is here, the rest is reached through the part. Thread: the data thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/memory_account.h"
#include "base/random.h"
#include "fabric_emul/verbs/adapter.h"
#include "iou_module/hosts/host_allowance.h"
#include "iou_module/hosts/host_id.h"
#include "iou_module/hosts/host_identity.h"
#include "iou_module/hosts/host_life.h"
#include "iou_module/hosts/host_limits.h"
#include "iou_module/hosts/host_news_state.h"
#include "iou_module/hosts/host_notifier.h"
#include "iou_module/hosts/host_rights.h"
#include "iou_module/hosts/host_rx.h"
#include "iou_module/hosts/host_stats.h"
#include "iou_module/hosts/host_tx.h"
#include "iou_module/hosts/nic_settings.h"
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
  bool asks_any_nic = false;      // in CONNECT_REQ: it has come to look
  // In bytes over all queues, of a host whose rights do not name it. [M-1]
  std::uint64_t memory_usual = std::uint64_t{64} << 20;
  std::shared_ptr<HostLimits> limits{};  // null: new ones
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
  // `adapter`, `link`, `random` and `owner` outlive the host. `now` is when it is made.
  AttachedHost(const AttachedHostConfig& config, fabric::Adapter& adapter, fabric::Link& link,
               base::Random& random, HostOwner& owner, base::Time now);

  // -- parts --
  HostIdentity& identity() { return identity_; }
  const HostIdentity& identity() const { return identity_; }
  HostAllowance& allowance() { return allowance_; }
  const HostAllowance& allowance() const { return allowance_; }
  const HostRights& rights() const { return allowance_.rights(); }
  NicSettings& nic() { return nic_; }
  const NicSettings& nic() const { return nic_; }
  HostStats& stats() { return stats_; }
  const HostStats& stats() const { return stats_; }
  HostTx& tx() { return tx_; }
  const HostTx& tx() const { return tx_; }
  HostRx& rx() { return rx_; }
  const HostRx& rx() const { return rx_; }
  HostNotifier& notifier() { return notifier_; }
  HostNewsState& news() { return news_; }
  const HostLife& life() const { return life_; }
  messaging::Connection& connection() { return connection_; }
  const messaging::Connection& connection() const { return connection_; }
  fabric::Link& link() const { return link_; }
  fabric::PartitionKey partition() const { return partition_; }
  bool asks_any_nic() const { return asks_any_nic_; }

  // -- life --
  // Attaches it, or returns the code with which to refuse: kNoResources also if its ring has no
  // memory, or none of the adapter's keys. The reason in `reply` is valid as long as this object.
  fabric::MgmtReject accept(fabric::ConnectionId id, const fabric::Mgmt& request,
                            fabric::Mgmt& reply);
  // Serves its connection. Returns true if it made progress.
  bool poll(base::Time now) {
    now_ = now;
    return connection_.poll(now);
  }
  // It has to be removed, once no callback is running. No effect on a host that has ended.
  void fail() { life_.fail(); }
  // Starts to flush the pools if nothing waits for the host any more.
  void begin_close();
  bool is_drained() const;
  // Closes the connection immediately and counts each frame that ends with it by its reason. No
  // effect on a closed host. REQUIRES has_ended().
  void close(base::Time now);
  // Returns true once if its connection has been up: who calls it counts the end of that.
  bool take_was_up() { return std::exchange(was_up_, false); }
  // Observes the link. Returns true if it has been down for HostLife::kAwayMax: then the host has
  // failed.
  bool expire(base::Time now) { return life_.expire(link_.up(), now); }
  // Returns when expire(), notify() or the connection has something to do.
  base::Time deadline() const;

  // -- state --
  bool has_ended() const { return life_.has_ended(); }
  bool is_up() const { return !has_ended() && connection_.up(); }
  bool is_reachable() const { return is_up() && link_.up(); }
  // Frames for it can be queued.
  bool is_usable() const { return nic_.started && is_reachable(); }
  // Returns true if a frame with this destination is for this host. False while it is away: nothing
  // is queued then.
  bool wants(const lan::MacAddress& destination) const {
    return is_usable() && nic_.wants(destination);
  }
  void set_started(bool started) {
    if (nic_.started && !started) stopped_since_ = now_;
    nic_.started = started;
  }
  // Its NIC has not been started for this time.
  bool is_stopped_for(base::Duration time, base::Time now) const {
    return !nic_.started && now - stopped_since_ >= time;
  }

  // -- rights and the LAN --
  // Settings that are not permitted any more stay: NicService::enforce().
  void set_rights(HostRights rights);
  // The state of the LAN has changed; notify() reports it when that is possible.
  void on_lan_change(const lan::PortState& lan);
  // Makes the requests that are due and possible: EVENT with this state, and ANNOUNCE once its NIC
  // is started.
  void notify(const lan::PortState& lan, base::Time now);

 private:
  base::Status make_ring(const AttachedHostConfig& config);
  // messaging::PairOwner
  void on_pair_up(messaging::ChannelPair& pair) override;
  void on_pair_down(messaging::ChannelPair& pair, const std::string& why) override;
  messaging::CfgReply on_cfg_request(messaging::ChannelPair& pair,
                                     const messaging::CfgRequest& request) override;

  HostOwner& owner_;
  fabric::Link& link_;
  const fabric::PartitionKey partition_;
  const bool asks_any_nic_;
  bool was_up_ = false;  // and its end is not counted yet
  HostAllowance allowance_;
  HostLife life_;
  HostNewsState news_;
  base::Time now_;            // of the last poll()
  base::Time stopped_since_;  // since when its NIC is not started, if it is not
  NicSettings nic_;
  HostStats stats_;
  base::MemoryCharge charge_;  // of the object and of the frames for it
  // These are made before the connection: it reads frames of tx_ and holds requests of notifier_.
  HostTx tx_;
  HostRx rx_;
  HostNotifier notifier_;
  messaging::Connection connection_;
  HostIdentity identity_;  // the connection has the stated name
  base::Status made_;      // the ring; without it the host is refused
  std::string refusal_;    // the reply points to it
};

}  // namespace splitnic::iou
